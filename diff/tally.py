"""What a comparison of random programs counts, and how it words a disagreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .program_types import BITS
from .programs import Program, Record, stored


@dataclass(frozen=True)
class Disagreement:
    """Two runs of one program that differ.

    Args:
        domain: what differs from the torch domain, e.g. "z3".
        label: the op with its types.
        operands: bit patterns of its operands, by element type.
        got, want: the pattern there and the torch domain's.
        where: program, lane and iteration in words.
    """

    domain: str
    label: str
    operands: tuple[str, ...]
    got: str
    want: str
    where: str = ""

    def __str__(self) -> str:
        """Return the one line that names op and operands."""
        of = f"({', '.join(self.operands)})" if self.operands else ""
        return f"{self.domain}: {self.label}{of} gives {self.got}, the torch domain {self.want}" + (
            f" at {self.where}" if self.where else ""
        )


KINDS = ("compared", "open", "refused", "faulty", "payload")


@dataclass
class Tally:
    """Counts over many programs.

    Args:
        programs: label -> programs that hold it.
        compared: domain -> label -> values that were compared and agreed.
        open: domain -> label -> values that the domain leaves open (a NaN's payload, an
            uninterpreted function), or that depend on an op which is not exact there.
        refused: domain -> reason -> programs that it did not run.
        faulty: domain -> label -> values that differ by a known fault of that domain.
        payload: domain -> label -> values that are a NaN in both runs, with other bits.
        ran: programs that each domain ran.
    """

    programs: Counter[str] = field(default_factory=Counter)
    compared: dict[str, Counter[str]] = field(default_factory=dict)
    open: dict[str, Counter[str]] = field(default_factory=dict)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    faulty: dict[str, Counter[str]] = field(default_factory=dict)
    payload: dict[str, Counter[str]] = field(default_factory=dict)
    ran: Counter[str] = field(default_factory=Counter)

    def holds(self, program: Program) -> None:
        """Count a program for every op that it holds."""
        self.ran["torch"] += 1
        self.programs.update({record.label for record in program.records})

    def add(self, kind: str, domain: str, label: str, count: int = 1) -> None:
        """Count values: `kind` is a name of `KINDS`."""
        counters: dict[str, Counter[str]] = getattr(self, kind)
        counters.setdefault(domain, Counter())[label] += count

    def merge(self, other: Tally) -> None:
        """Add another tally's counts."""
        self.programs.update(other.programs)
        self.ran.update(other.ran)
        for kind in KINDS:
            for domain, counts in getattr(other, kind).items():
                getattr(self, kind).setdefault(domain, Counter()).update(counts)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        return {
            "programs": dict(self.programs),
            "ran": dict(self.ran),
            **{
                kind: {domain: dict(found) for domain, found in getattr(self, kind).items()}
                for kind in KINDS
            },
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Tally:
        """Rebuild a tally from `to_json`'s form."""
        made = Tally(Counter(data["programs"]))
        made.ran = Counter(data["ran"])
        for kind in KINDS:
            setattr(made, kind, {d: Counter(found) for d, found in data[kind].items()})
        return made


def pattern(elem: str, bits: int) -> str:
    """Return a bit pattern as it is shown."""
    if elem.startswith("i"):
        w = BITS[elem]
        bits &= (1 << w) - 1
        return f"{elem} {bits - (1 << w) if w > 1 and bits >> (w - 1) else bits}"
    return f"{elem} 0x{bits:0{BITS[elem] // 4}X}"


def operands(
    program: Program, memory: Mapping[str, bytes], record: Record, place: int
) -> tuple[str, ...]:
    """Return the operands of the value at a place of a record, as they are shown."""
    found: list[str] = []
    for index in record.operands:
        bits = operand(program, memory, record, place, program.records[index])
        if bits is not None:
            found.append(pattern(program.records[index].elem, bits))
    return tuple(found)


def operand(
    program: Program, memory: Mapping[str, bytes], record: Record, place: int, of: Record
) -> int | None:
    """Return one operand's bits for the value at a place of a record; None when not stored."""
    if of.first < 0:
        return None
    trip, at = divmod(place, program.places(record))
    if of.scalar and not record.scalar:
        at //= program.width
    offset = (trip if of.trips > 1 else 0) * program.places(of) + at
    values = stored(program, memory, of)
    return values[offset] if offset < len(values) else None


def where(program: Program, record: Record, place: int) -> str:
    """Return program, lane and iteration of a place."""
    trip, at = divmod(place, program.places(record))
    number, lane = (at, None) if record.scalar else divmod(at, program.width)
    words = [f"program {number}"]
    if lane is not None:
        words.append(f"lane {lane}")
    if record.trips > 1:
        words.append(f"iteration {trip}")
    return ", ".join(words)


def is_nan(elem: str, bits: int) -> bool:
    """Tell whether a pattern of a float format is a NaN."""
    width, fraction = {
        "bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (11, 52),
        "f8E4M3FN": (4, 3), "f8E5M2": (5, 2),
    }.get(elem, (0, 0))  # fmt: skip
    if not width:
        return False
    magnitude = bits & ((1 << (width + fraction)) - 1)
    if elem == "f8E4M3FN":
        return magnitude == 0x7F
    return magnitude > ((1 << width) - 1) << fraction
