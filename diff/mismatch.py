"""One difference between memory and the contract, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """All elements of one tensor that differ for one reason, told by the first of them.

    Args:
        invariant: "W1", "W2", "W4", "W6", "W7", "W8", "W9", "W10", "W12" or "W13".
        tensor: the contract's argument; "" for an event that concerns none.
        text: the mismatch in one line.
        count: elements that differ (programs' accesses for an event).
        index: element offset of the first from the tensor's first element; None for an event.
        slot, place, row, column, segment: where that element belongs; None or "" where unknown.
        stored: bit pattern found; None where it does not apply.
        expected: bit pattern that the contract says (what was there before, for a stray store).
        bits: width of an element.
        line: file:line of the kernel's store or load, "" where the runner knows none.
        where: element offset of the place a stray store was meant for (W4), else None.
    """

    invariant: str
    tensor: str
    text: str
    count: int
    index: int | None = None
    slot: int | None = None
    place: int | None = None
    row: int | None = None
    column: int | None = None
    segment: str = ""
    stored: int | None = None
    expected: int | None = None
    bits: int = 8
    line: str = ""
    where: int | None = None

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}" + (f" ({self.line})" if self.line else "")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Mismatch:
        """Rebuild a mismatch; keys that this version does not know are ignored."""
        known = {item.name for item in fields(Mismatch)}
        return Mismatch(**{key: value for key, value in data.items() if key in known})
