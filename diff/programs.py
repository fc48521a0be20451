"""Small random Triton programs as data: IR, source, inputs, and a record of every value.

Hypothesis draws a list of small numbers (`program_strategy`), which `program_steps.build` reads as
a program, so a failing one shrinks to few ops with small operands. Every value is stored, which is
how a disagreement names the op and the operands that show it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .program_types import BITS

#: Lanes of a program, one or two dimensions.
SHAPES = ((8,), (16,), (4, 4), (2, 8), (1,), (32,))
GRIDS = ((1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 1, 2))

#: kind, variant, three picks.
Step = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Record:
    """One value of a program.

    Args:
        name: name of the op, e.g. "arith.addi".
        label: the op with its types.
        elem: element type of the value.
        operands: indices of the records of its operands.
        controls: indices of the conditions that it runs under.
        scalar: whether there is one value for each program instead of one for each lane.
        first: where it is stored, in elements of its width; -1 when it is not.
        trips: how many times it is stored, once for each iteration of a loop.
        exact: whether hardware must give the same bits.
    """

    name: str
    label: str
    elem: str
    operands: tuple[int, ...] = ()
    controls: tuple[int, ...] = ()
    scalar: bool = False
    first: int = -1
    trips: int = 1
    exact: bool = True


@dataclass(frozen=True, kw_only=True)
class Program:
    """One random program with its inputs.

    Args:
        ttir, source: the same kernel as IR text and as Triton source; both are named `kernel`.
        grid: programs per axis.
        lanes: the shape of every tensor.
        records: every value, in the order in which it is made.
        inputs: argument -> (element type, contents as hexadecimal bytes).
        outputs: argument -> (element type, number of elements); filled with `FILL` before.
        steps, seed, gpu: what it was built from.
    """

    ttir: str
    source: str
    grid: tuple[int, int, int]
    lanes: tuple[int, ...]
    records: tuple[Record, ...]
    inputs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    outputs: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    seed: int = 0
    gpu: bool = False

    @property
    def programs(self) -> int:
        """Programs of the launch."""
        x, y, z = self.grid
        return x * y * z

    @property
    def width(self) -> int:
        """Lanes of one program."""
        count = 1
        for size in self.lanes:
            count *= size
        return count

    def places(self, record: Record) -> int:
        """Return how many elements a record stores in one iteration."""
        return self.programs * (1 if record.scalar else self.width)

    def to_json(self) -> dict[str, Any]:
        """Return what another process needs to run it, JSON-able."""
        return {
            "ttir": self.ttir,
            "source": self.source,
            "grid": self.grid,
            "inputs": self.inputs,
            "outputs": self.outputs,
        }


#: Every byte of an output before the launch.
FILL = 0xC3


def memory_of(program: Program) -> dict[str, bytes]:
    """Return the contents of all buffers before the launch."""
    made = {name: bytes.fromhex(text) for name, (_, text) in program.inputs.items()}
    for name, (elem, count) in program.outputs.items():
        made[name] = bytes([FILL]) * (count * BITS[elem] // 8)
    return made


def stored(program: Program, memory: Mapping[str, bytes], record: Record) -> list[int]:
    """Return the bit patterns that a record's places hold, iteration by iteration."""
    size = max(BITS[record.elem], 8) // 8
    data = memory[f"o{8 * size}"]
    count = program.places(record) * record.trips
    return [
        int.from_bytes(data[at * size : (at + 1) * size], "little")
        for at in range(record.first, record.first + count)
    ]


def edges(elem: str) -> tuple[int, ...]:
    """Return bit patterns of an element type where arithmetic changes its ways."""
    w = BITS[elem]
    top = 1 << (w - 1)
    if elem.startswith("i"):
        small = (0, 1, 2, 3, 7, w - 1, w, -1, -2, -3, -7, -w)
        return (*(x & (2 * top - 1) for x in small), top, top - 1, top + 1, top >> 1, 0x55 % top)
    one = {"bf16": 0x3F80, "f16": 0x3C00, "f32": 0x3F800000, "f64": 0x3FF << 52,
           "f8E4M3FN": 0x38, "f8E5M2": 0x3C}[elem]  # fmt: skip
    infinity = {"bf16": 0x7F80, "f16": 0x7C00, "f32": 0x7F800000, "f64": 0x7FF << 52,
                "f8E4M3FN": 0x7E, "f8E5M2": 0x7C}[elem]  # fmt: skip
    positive = (0, 1, 2, one, one + 1, one - 1, infinity, infinity - 1, infinity + 1, top - 1)
    return (*positive, *(x | top for x in positive))


def fill(elem: str, count: int, source: random.Random) -> bytes:
    """Return the contents of an input: edge values and random patterns of all magnitudes."""
    w = BITS[elem]
    known = edges(elem)
    made = bytearray()
    for _ in range(count):
        kind = source.random()
        if kind < 0.45:
            bits = source.choice(known)
        elif kind < 0.7 and elem.startswith("i"):
            bits = source.randrange(-20, 21) & ((1 << w) - 1)
        else:
            bits = source.getrandbits(w)
        made += bits.to_bytes(w // 8, "little")
    return bytes(made)
