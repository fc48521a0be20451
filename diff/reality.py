"""Comparing a run of a random program, on an interpreter or a GPU, with the torch domain's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .program_rules import BITS
from .programs import Program, Record, memory_of, stored
from .tally import Disagreement, Tally, is_nan, operands, pattern, where

#: Ops whose bits Triton's interpreter gets wrong, with the reason. What depends on one is not
#: compared; a value that differs right at one is counted.
INTERPRETER_FAULTS: dict[str, str] = {}


def run_torch(program: Program) -> dict[str, bytes]:
    """Run a program in the torch domain and return its final memory.

    Raises AssertionError when an operation was undefined, which no drawn program is.
    """
    import torch

    from ..checkers.evaluator import Buffer, evaluate
    from ..checkers.ttir_parser import parse_ttir

    memory = {name: bytearray(data) for name, data in memory_of(program).items()}
    buffers: dict[str, Any] = {
        name: Buffer(torch.frombuffer(data, dtype=torch.uint8)) for name, data in memory.items()
    }
    made = evaluate(parse_ttir(program.ttir), program.grid, buffers)
    assert not made.events, made.events
    return {name: bytes(data) for name, data in memory.items()}


def compare(
    program: Program,
    want: Mapping[str, bytes],
    got: Mapping[str, bytes],
    domain: str,
    tally: Tally,
    *,
    faults: Mapping[str, str] | None = None,
    nan_free: bool = False,
) -> list[Disagreement]:
    """Compare two runs value by value; return the first disagreement, or none.

    Args:
        program: what ran.
        want: the torch domain's final memory.
        got: the other run's.
        domain: name of the other.
        tally: counts what was compared.
        faults: labels whose bits the other is known to get wrong, with the reason.
        nan_free: NaNs may have another payload there.
    """
    known = faults or {}
    wrong: list[bool] = []
    for record in program.records:
        before = any(wrong[k] for k in (*record.operands, *record.controls))
        wrong.append(before or record.label in known or not record.exact)
        if record.first < 0:
            continue
        a, b = stored(program, want, record), stored(program, got, record)
        differing = [k for k in range(len(a)) if a[k] != b[k]]
        if nan_free and any(_both_nan(record, a[k], b[k]) for k in differing):
            # Only the payload differs; what is made from it is not compared.
            differing = [k for k in differing if not _both_nan(record, a[k], b[k])]
            wrong[-1] = True
        if not before and differing and record.exact and record.label not in known:
            place = differing[0]
            return [
                Disagreement(
                    domain,
                    record.label,
                    operands(program, want, record, place),
                    pattern(record.elem, b[place]),
                    pattern(record.elem, a[place]),
                    where(program, record, place),
                )
            ]
        if before:
            tally.add("open", domain, record.label, len(a))
            continue
        if not record.exact:
            differing = [k for k in differing if not near(record, a[k], b[k])]
        if differing:
            tally.add("faulty", domain, record.label, len(differing))
        tally.add("compared", domain, record.label, len(a) - len(differing))
    if not any(wrong):
        _frame(program, want, got)
    return []


def _both_nan(record: Record, a: int, b: int) -> bool:
    return is_nan(record.elem, a) and is_nan(record.elem, b)


def _frame(program: Program, want: Mapping[str, bytes], got: Mapping[str, bytes]) -> None:
    """Inputs are only read."""
    for name in program.inputs:
        assert want[name] == got[name], f"{name} was stored"


def near(record: Record, a: int, b: int) -> bool:
    """Tell whether two patterns of an approximate op are within eight units in the last place."""
    if is_nan(record.elem, a) or is_nan(record.elem, b):
        return is_nan(record.elem, a) and is_nan(record.elem, b)
    top = 1 << (BITS[record.elem] - 1)

    def line(bits: int) -> int:
        return -(bits - top) if bits & top else bits

    return abs(line(a) - line(b)) <= 8
