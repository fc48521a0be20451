"""A concrete case: shapes, strides, slots and contents, small enough to print and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Case:
    """One concrete call of a writer; its repr rebuilds it.

    Args:
        dims: every dimension of the contract as a number, with WORLD and RANK.
        pool: places of the cache on this rank.
        slots: one slot per row.
        seed: seed of the fingerprint pattern that fills cache and sources.
        payload: bit patterns that replace the fingerprint, keyed (source, row, column).
        slot_stride: stride of the slot table in elements.
        scalars: values of further scalar arguments, by name.
    """

    dims: Mapping[str, int]
    pool: int
    slots: tuple[int, ...]
    seed: int = 0
    payload: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    slot_stride: int = 1
    scalars: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows of the call."""
        return len(self.slots)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        data = asdict(self)
        data["payload"] = [[*key, bits] for key, bits in self.payload.items()]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Case:
        """Rebuild a case from `to_json`'s form."""
        fields = dict(data)
        fields["slots"] = tuple(fields["slots"])
        fields["payload"] = {(str(s), int(r), int(c)): int(b) for s, r, c, b in data["payload"]}
        return Case(**fields)


def fingerprint(seed: int, stream: int, index: int, bits: int) -> int:
    """Return a well-mixed, never zero pattern of `bits` bits for one element.

    Args:
        seed: the case's seed.
        stream: the tensor, counted in elements of `WriterContract.arguments()`.
        index: the element, counted from the tensor's first one.
        bits: width of the pattern in bits, 1 to 64.

    Source: the finaliser of MurmurHash3 (public domain), which sends neighbours far apart.
    """
    x = (index * 0x9E3779B97F4A7C15 + stream * 0xD1B54A32D192ED03 + seed + 1) & (1 << 64) - 1
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & (1 << 64) - 1
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & (1 << 64) - 1
    x ^= x >> 33
    pattern = x & ((1 << bits) - 1)
    return pattern or 1
