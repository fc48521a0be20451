"""From differing bytes to invariants: which promise each difference breaks, the gravest first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..spec.rules import Segment
from .api import Mismatch
from .arena import POISON, Arena, Region
from .form import UNSIGNED, Array
from .telling import Memory, StoreRecord, changed_input, event_mismatches, told
from .values import misplaced

#: From a store that must not be to bits that must be others.
GRAVITY = ("W6", "W12", "W7", "W4", "W13", "W1", "W8", "W9", "W10", "W2")
#: An address wrap, in elements or in bytes.
_WRAP = 1 << 32


@dataclass(frozen=True)
class _Element:
    """Where an element belongs: row and column of a segment at a place."""

    row: int
    segment: str
    column: int


def classify(arena: Arena, memory: Memory) -> tuple[Mismatch, ...]:
    """Return one mismatch for each invariant and tensor that differs; empty when none does."""
    found: list[Mismatch] = []
    seen: set[str] = set()
    for arg in arena.form.caches:
        region = arena.regions[arg]
        if arg in arena.sparse:
            found += _Cache(arena, region, memory).differences(*_sparse(arena, arg, memory))
            continue
        if region.storage in seen:
            continue
        seen.add(region.storage)
        found += _Cache(arena, region, memory).differences(*_dense(arena, region, memory))
    for name, data in memory.storages.items():
        if name not in seen and not np.array_equal(data, arena.after[name]):
            found.append(changed_input(arena, name, data))
    found += event_mismatches(memory)
    if memory.conflicts and not arena_has_duplicates(arena):
        text = f"{memory.conflicts} bytes are stored more than once"
        found.append(Mismatch(invariant="W13", tensor="", text=text, count=memory.conflicts))
    return tuple(sorted(found, key=lambda item: GRAVITY.index(item.invariant)))


def arena_has_duplicates(arena: Arena) -> bool:
    """Tell whether two rows that must be stored share a place."""
    places = arena.rows.places[arena.rows.keep]
    return np.unique(places).size < places.size


def _dense(arena: Arena, region: Region, memory: Memory) -> tuple[Array, Array, Array, Array]:
    """Return offsets from the tensor's start, stored, wanted and earlier bits that differ."""
    kind = UNSIGNED[region.form.fmt.size]
    after = memory.storages[region.storage].view(kind)
    wanted = arena.after[region.storage].view(kind)
    at = (after != wanted).nonzero()[0]
    before = arena.before[region.storage].view(kind)
    base = region.start // region.form.fmt.size
    return at - base, after[at], wanted[at], before[at]


def _sparse(arena: Arena, arg: str, memory: Memory) -> tuple[Array, Array, Array, Array]:
    """Return the same for a sparse cache; an element without a store holds all ones there."""
    kind = UNSIGNED[arena.regions[arg].form.fmt.size]
    untouched = int(np.iinfo(kind).max)
    stored = dict(zip(*(part.tolist() for part in memory.sparse[arg]), strict=True))
    wanted: dict[int, int] = {}
    for name, offsets, bits in arena.wanted:
        if name == arg:
            wanted.update(zip(offsets.reshape(-1).tolist(), bits.reshape(-1).tolist(), strict=True))
    at = [o for o in sorted(stored.keys() | wanted.keys()) if stored.get(o) != wanted.get(o)]
    return (
        np.array(at, dtype=np.int64),
        np.array([stored.get(o, untouched) for o in at], dtype=kind),
        np.array([wanted.get(o, untouched) for o in at], dtype=kind),
        np.full(len(at), untouched, dtype=kind),
    )


class _Cache:
    """The differences of one cache's storage."""

    def __init__(self, arena: Arena, region: Region, memory: Memory) -> None:
        self.arena, self.region, self.memory = arena, region, memory
        self.arg = region.form.arg
        self.bits = region.form.fmt.bits

    def differences(
        self, offsets: Array, stored: Array, wanted: Array, before: Array
    ) -> list[Mismatch]:
        """Sort the differing elements by invariant."""
        if not offsets.size:
            return []
        kept = self._elements(self.arena.rows.keep, self.arena.rows.places)
        dropped = self._dropped()
        groups: dict[str, list[int]] = {}
        missing: list[int] = []
        wrong: list[int] = []
        extra: list[int] = []
        for k, offset in enumerate(offsets.tolist()):
            if offset in kept:
                (missing if stored[k] == before[k] else wrong).append(k)
            else:
                extra.append(k)
        bits = {int(offsets[k]): int(wanted[k]) for k in missing}
        lost = {
            unit: {offset % unit: offset for offset in bits}
            for unit in (_WRAP, _WRAP // (self.bits // 8))
        }
        for k in extra:
            offset = int(offsets[k])
            meant, name = self._wrapped(offset, lost), "W1"
            if offset in dropped:
                name, _ = dropped[offset]
                # A wrap may end in a skipped slot; the bits tell whose they are.
                meant = None if meant is None or bits[meant] != int(stored[k]) else meant
            groups.setdefault(name if meant is None else "W4", []).append(k)
        if wrong:
            for k in wrong:
                poison = int.from_bytes(bytes([POISON]) * (self.bits // 8), "little")
                if int(stored[k]) == poison and int(wanted[k]) != poison:
                    groups.setdefault("W8", []).append(k)
            rest = [k for k in wrong if k not in set(groups.get("W8", ()))]
            if rest:
                elements = [kept[int(offsets[k])] for k in rest]
                pairs = [(int(stored[k]), int(wanted[k])) for k in rest]
                places = [(e.segment, e.row, e.column) for e in elements]
                groups["W9" if misplaced(self.arena, self.arg, places, pairs) else "W10"] = rest
        if missing:
            groups["W2"] = missing
        known = {**{o: e for o, (_, e) in dropped.items()}, **kept}
        return [
            self._mismatch(name, ks, offsets, stored, wanted, known, lost)
            for name, ks in groups.items()
        ]

    def _elements(self, rows: Array, places: Array) -> dict[int, _Element]:
        """Return the elements of rows at their places by offset; of two rows the later."""
        found: dict[int, _Element] = {}
        for segment in self._segments():
            if not self.arena.form.widths[segment.name] or not len(rows):
                continue
            offsets = self.arena.form.targets(segment, places[rows]) + self._shift(segment)
            for row, line in zip(rows.tolist(), offsets.tolist(), strict=True):
                for column, offset in enumerate(line):
                    found[offset] = _Element(row, segment.name, column)
        return found

    def _segments(self) -> list[Segment]:
        storage = self.region.storage
        return [
            segment
            for segment in self.arena.form.instance.contract.segments
            if self.arena.regions[segment.into].storage == storage
        ]

    def _shift(self, segment: Segment) -> int:
        other = self.arena.regions[segment.into]
        return (other.start - self.region.start) // self.region.form.fmt.size

    def _dropped(self) -> dict[int, tuple[str, _Element]]:
        """Return where rows that must not be stored would land, with the invariant that says so."""
        rows, found = self.arena.rows, {}
        trap = np.array([self.arena.trap()])
        if trap[0] not in rows.slots:
            owner = self.arena.form.instance.contract.owner
            env = {**self.arena.form.dims, "slot": trap}
            place = np.asarray(owner.place.evaluate(env))
            for offset, element in self._elements(np.zeros(1, np.int64), place).items():
                found[offset] = ("W7", replace(element, row=self.arena.trial.case.rows))
        # A writer that ignores the sharding aims at the slot's own number, with all rows.
        for offset, element in self._elements(rows.keep, rows.slots).items():
            found[offset] = ("W1", element)
        for places in (rows.slots, rows.places):
            for which, name in ((~rows.mine, "W12"), (~rows.legal, "W1"), (rows.skip, "W6")):
                chosen = which.nonzero()[0]
                for offset, element in self._elements(chosen, places).items():
                    found[offset] = (name, element)
        return found

    def _wrapped(self, offset: int, lost: dict[int, dict[int, int]]) -> int | None:
        """Return the missing element that lies a whole number of wraps away from an offset.

        What wraps ends where 32 bits reach, and a row's columns further; a store beyond is another
        fault, though it may lie as far from the right place.
        """
        slack = self.region.strides[0]
        for unit, missing in lost.items():
            if -unit // 2 <= offset < unit + slack and offset % unit in missing:
                return missing[offset % unit]
        return None

    def _mismatch(
        self,
        name: str,
        ks: list[int],
        offsets: Array,
        stored: Array,
        wanted: Array,
        known: dict[int, _Element],
        lost: dict[int, dict[int, int]],
    ) -> Mismatch:
        first = min(ks, key=lambda k: int(offsets[k]))
        offset = int(offsets[first])
        meant = self._wrapped(offset, lost) if name == "W4" else None
        element = known.get(offset if meant is None else meant)
        row = element.row if element else None
        case = self.arena.trial.case
        slot = case.slots[row] if row is not None and row < case.rows else None
        place = None if row is None or row >= case.rows else int(self.arena.rows.places[row])
        old = (
            None
            if self.arg in self.arena.sparse and name not in ("W9", "W10", "W8", "W2")
            else (int(wanted[first]))
        )
        new = None if self.arg in self.arena.sparse and name == "W2" else int(stored[first])
        made = Mismatch(
            invariant=name,
            tensor=self.arg,
            text="",
            count=len(ks),
            index=offset,
            slot=slot,
            place=place,
            row=row,
            column=element.column if element else None,
            segment=element.segment if element else "",
            stored=new,
            expected=old,
            bits=self.bits,
            line=self._line(offset),
            where=meant,
        )
        return replace(made, text=told(made))

    def _line(self, offset: int) -> str:
        mine = [record for record in self.memory.stores if record.arg == self.arg]
        for record in reversed(mine):
            if (record.offsets == offset).any():
                return record.line
        lines = {record.line for record in mine}
        return lines.pop() if len(lines) == 1 else ""


__all__ = ["GRAVITY", "Memory", "StoreRecord", "arena_has_duplicates", "classify"]
