"""Relations between calls that hold without a second implementation.

Each relation runs a writer more than once and compares all bytes of the caches. A relation that
does not hold gives a mismatch; one that a trial cannot show (too few rows) gives none. A repeated
real slot makes the order of rows count: such trials are not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ..spec.contract import Instance
from ..spec.errors import KvproofError
from .api import Layout, Mismatch, Prepared, Trial
from .arena import Arena
from .classify import arena_has_duplicates
from .form import UNSIGNED, Array

#: Bytes of a cache up to which relations are asked.
MOST_DENSE = 64 << 20

#: Row counts at which released writers change their path.
THRESHOLDS = (768,)


class Stepping(Protocol):
    """What runs one call from given bytes: the evaluator and every callable's runner."""

    def step(
        self, prepared: Prepared, arena: Arena, storages: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Return all bytes after the call."""
        ...


def twice(runner: Stepping, prepared: Prepared, trial: Trial) -> Mismatch | None:
    """Running a call twice equals running it once (W13)."""
    arena = _arena(prepared, trial)
    once = runner.step(prepared, arena, arena.before)
    again = runner.step(prepared, arena, once)
    return _compare(arena, once, again, "W13", "a second equal call changes the cache")


def permuted(
    runner: Stepping, prepared: Prepared, trial: Trial, order: Sequence[int] | None = None
) -> Mismatch | None:
    """The order of rows does not count (W13).

    Args:
        runner: what runs.
        prepared: the call.
        trial: the trial.
        order: the rows in their new order; reversed when None.
    """
    arena = _arena(prepared, trial)
    rows = list(order) if order is not None else list(range(trial.case.rows))[::-1]
    if len(rows) < 2 or arena_has_duplicates(arena):
        return None
    plain = runner.step(prepared, arena, arena.before)
    slots = tuple(trial.case.slots[row] for row in rows)
    other = _arena(prepared, replace(trial, case=replace(trial.case, slots=slots)))
    begin = _rows_from(arena, other, rows)
    moved = runner.step(prepared, other, begin)
    return _compare(arena, plain, moved, "W13", "the order of the rows changes the cache")


def split(
    runner: Stepping, prepared: Prepared, trial: Trial, at: int | None = None
) -> Mismatch | None:
    """Two calls with a part of the rows each equal one call with all (W14).

    Args:
        runner: what runs.
        prepared: the call.
        trial: the trial.
        at: rows of the first call; half when None.
    """
    case = trial.case
    cut = case.rows // 2 if at is None else at
    if not 0 < cut < case.rows:
        return None
    arena = _arena(prepared, trial)
    whole = runner.step(prepared, arena, arena.before)
    held = arena.before
    for rows in (range(cut), range(cut, case.rows)):
        slots = tuple(case.slots[row] for row in rows)
        part = _arena(prepared, replace(trial, case=replace(case, slots=slots)))
        begin = _rows_from(arena, part, list(rows))
        begin.update({name: held[name] for name in _cache_storages(arena)})
        held = runner.step(prepared, part, begin)
    text = f"{cut} rows and then {case.rows - cut} leave another cache than all at once"
    return _compare(arena, whole, held, "W14", text)


def at_thresholds(
    runner: Stepping, prepared: Prepared, trial: Trial, thresholds: Sequence[int] = THRESHOLDS
) -> Mismatch | None:
    """Every path of the dispatch stores the same: calls on both sides of each threshold (W14).

    The trial's rows are extended with free slots to one row past each threshold; a call of that
    many rows is compared with calls below it.
    """
    for threshold in thresholds:
        many = _extended(prepared.job.instance, trial, threshold + 1)
        for cut in (threshold - 1, threshold, 2):
            found = split(runner, prepared, many, cut)
            if found is not None:
                return found
    return None


def strided(runner: Stepping, prepared: Prepared, other: Prepared, trial: Trial) -> Mismatch | None:
    """Sources of another stride with the same rows leave the same cache (W8).

    Args:
        runner: what runs.
        prepared: the call at the trial's dimensions.
        other: the same job at dimensions that differ in the strides of sources alone, e.g. rows
            without a gap.
        trial: the trial.

    Raises:
        KvproofError: the two jobs differ in more.
    """
    arena = _arena(prepared, trial)
    plain = runner.step(prepared, arena, arena.before)
    case = replace(trial.case, dims=other.job.instance.numbers())
    moved = _arena(other, Trial(case=case, layout=replace(trial.layout, split=False)))
    if [n for n in _cache_storages(arena) if arena.before[n].size != moved.before[n].size]:
        raise KvproofError("the two configurations differ in more than the strides of sources")
    begin = _rows_from(arena, moved, list(range(trial.case.rows)))
    after = runner.step(other, moved, begin)
    return _compare(arena, plain, after, "W8", "sources of another stride leave another cache")


def union(
    runner: Stepping, ranks: Sequence[Prepared], whole: Prepared, trial: Trial
) -> Mismatch | None:
    """All ranks together hold what one unsharded pool would (W12).

    Args:
        runner: what runs.
        ranks: the job of each rank, in order, at equal dimensions.
        whole: the unsharded job at these dimensions.
        trial: of rank 0; its slots are virtual.
    """
    world, pool = len(ranks), trial.case.pool
    plain = Layout(guard=trial.layout.guard)
    dims = whole.job.instance.numbers()
    all_in_one = Trial(
        case=replace(trial.case, dims={**trial.case.dims, **dims}, pool=pool * world), layout=plain
    )
    arena = _arena(whole, all_in_one)
    single = runner.step(whole, arena, arena.before)
    for rank, prepared in enumerate(ranks):
        case = replace(trial.case, dims=prepared.job.instance.numbers())
        mine = _arena(prepared, Trial(case=case, layout=plain))
        after = runner.step(prepared, mine, mine.before)
        for arg in arena.form.caches:
            one, part = arena.regions[arg], mine.regions[arg]
            step, size = one.strides[0], one.form.fmt.size
            kind, width = UNSIGNED[size], arena.form.tensors[arg].width
            whole_rows = _rows(single[one.storage], one.start, step, pool * world, kind, width)
            part_rows = _rows(after[part.storage], part.start, step, pool, kind, width)
            untouched = _rows(mine.before[part.storage], part.start, step, pool, kind, width)
            for slot in sorted({slot for slot in trial.case.slots if slot >= 0}):
                stored = not _same(
                    whole_rows[slot],
                    _rows(arena.before[one.storage], one.start, step, pool * world, kind, width)[
                        slot
                    ],
                )
                here = slot % world == rank and stored
                place = slot // world
                wanted = whole_rows[slot] if here else None
                if wanted is not None and not _same(part_rows[place], wanted):
                    text = f"slot {slot} on rank {rank} differs from the unsharded row"
                    return _told("W12", arg, text, int((part_rows[place] != wanted).sum()), slot)
            owned = {s // world for s in trial.case.slots if s >= 0 and s % world == rank}
            for place in range(pool):
                if place not in owned and not _same(part_rows[place], untouched[place]):
                    text = f"place {place} of rank {rank} is stored, and no row of its own is there"
                    return _told("W12", arg, text, width, None)
    return None


def _rows(data: Array, start: int, step: int, rows: int, kind: type, width: int) -> Array:
    typed = data.view(kind)[start // np.dtype(kind).itemsize :]
    index = np.arange(rows)[:, None] * step + np.arange(width)[None, :]
    return typed[index]


def _same(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b))


def _arena(prepared: Prepared, trial: Trial) -> Arena:
    arena = Arena(prepared, trial, dense=MOST_DENSE)
    if arena.sparse:
        raise KvproofError(
            f"the cache {arena.sparse[0]} is too large to be compared", mend="use a smaller pool"
        )
    return arena


def _cache_storages(arena: Arena) -> list[str]:
    return list(dict.fromkeys(arena.regions[arg].storage for arg in arena.form.caches))


def _rows_from(arena: Arena, other: Arena, rows: list[int]) -> dict[str, Array]:
    """Return the other arena's bytes with its sources' rows taken from rows of the first."""
    made = {name: data.copy() for name, data in other.before.items()}
    if not rows:
        return made
    for arg in arena.form.sources:
        here, there = arena.regions[arg], other.regions[arg]
        size = here.form.fmt.size
        kind, columns = UNSIGNED[size], np.arange(here.form.width)[None, :]
        origin = np.array(rows)[:, None] * here.strides[0] + columns + here.start // size
        goal = np.arange(len(rows))[:, None] * there.strides[0] + columns + there.start // size
        made[there.storage].view(kind)[goal] = arena.before[here.storage].view(kind)[origin]
    return made


def _extended(instance: Instance, trial: Trial, rows: int) -> Trial:
    world, rank = instance.world_rank
    used = set(trial.case.slots)
    slots = list(trial.case.slots)[:rows]
    place = 1
    while len(slots) < rows:
        slot = place * world + rank
        if slot not in used:
            slots.append(slot)
        place += 1
    pool = max(trial.case.pool, max(slots) // world + 1)
    return replace(trial, case=replace(trial.case, slots=tuple(slots), pool=pool))


def _compare(
    arena: Arena, one: Mapping[str, Array], two: Mapping[str, Array], invariant: str, text: str
) -> Mismatch | None:
    for arg in arena.form.caches:
        region = arena.regions[arg]
        kind = UNSIGNED[region.form.fmt.size]
        a, b = one[region.storage].view(kind), two[region.storage].view(kind)
        if not _same(a, b):
            first = int((a != b).nonzero()[0][0])
            index = first - region.start // region.form.fmt.size
            told = f"{text}: {arg}[{index}] is 0x{int(b[first]):X} instead of 0x{int(a[first]):X}"
            made = _told(invariant, arg, told, int((a != b).sum()), None)
            return replace(
                made,
                index=index,
                stored=int(b[first]),
                expected=int(a[first]),
                bits=region.form.fmt.bits,
            )
    return None


def _told(invariant: str, arg: str, text: str, count: int, slot: int | None) -> Mismatch:
    text = f"{text}; {count} element{'s' if count > 1 else ''}"
    return Mismatch(invariant=invariant, tensor=arg, text=text, count=count, slot=slot)
