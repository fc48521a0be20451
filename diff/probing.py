"""Trials that a person would try first, and simpler versions of a failing one.

Both come from the contract alone. Hypothesis draws what nobody thought of; these make sure that
what everybody thinks of is tried at once, and that a finding reads as if it were written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..spec.case import Case
from ..spec.job import Job
from ..spec.recipe import place_stride
from ..spec.reference import accepted
from .api import Layout, Trial
from .cases import Legal, legal, palette
from .palette import specials, target_of

#: Rows of a failing trial that are tried alone, and in pairs.
_ALONE, _PAIRS = 24, 5
#: Places of a small pool.
_POOL = 4


def probes(job: Job) -> Iterator[Trial]:
    """Yield legal trials of no row or one row at the smallest dimensions.

    No row; each kind of slot: skipped, owned by each rank, the last, the first past an address
    wrap; and each special value of the formats at each end of each source's row.
    """
    dims, rules = palette(job)[0], legal(job)
    world, few = dims["WORLD"], min(_POOL, job.instance.pool.most)
    small = [*rules.reserved, *range(2 * world + 2), few * world - 1]
    cases = [Case(dims=dims, pool=few, slots=())]
    cases += [Case(dims=dims, pool=few, slots=(slot,)) for slot in dict.fromkeys(small)]
    stride = max(_stride(job, dims))
    for power in (31, 32, 33):
        pool = (1 << power) // stride + 3
        if pool <= job.instance.pool.most:
            cases += [
                Case(dims=dims, pool=pool, slots=(slot,))
                for slot in range((pool - 1) * world, pool * world)
            ]
    for case in cases:
        if _legal_slots(job, case, rules):
            yield Trial(case=case)
    at = _plain_slot(job, dims, few)
    if at is None:
        return
    for segment in job.instance.contract.segments:
        width = int(segment.width.evaluate(dims))
        for _, bits in specials(job.instance.dtypes[segment.source], target_of(job)):
            for column in sorted({0, width - 1}) if width else ():
                payload = {(segment.source, 0, column): bits}
                yield Trial(case=Case(dims=dims, pool=few, slots=(at,), payload=payload))


def simpler(job: Job, trial: Trial) -> Iterator[Trial]:
    """Yield legal trials that are simpler than a trial in one respect, the boldest first."""
    rules = legal(job)
    for candidate in _simpler(job, trial):
        if candidate != trial and _legal_slots(job, candidate.case, rules):
            yield candidate


def _simpler(job: Job, trial: Trial) -> Iterator[Trial]:
    case = trial.case
    for dims in palette(job)[:3]:
        if sum(dims.values()) < sum(case.dims.values()):
            narrow = replace(case, dims=dims, payload=_narrowed(job, case, dims))
            yield replace(trial, case=narrow)
            yield from (replace(trial, case=one) for one in _with_value(job, narrow))
    rows = range(min(case.rows, _ALONE))
    if case.rows > 1:
        yield from (replace(trial, case=_rows(case, (row,))) for row in rows)
    if case.rows > 2:
        near = rows[:_PAIRS]
        yield from (replace(trial, case=_rows(case, (a, b))) for a in near for b in near if a < b)
    yield replace(trial, layout=Layout())
    yield replace(trial, case=replace(case, slot_stride=1))
    yield replace(trial, case=replace(case, payload={}))
    yield replace(trial, case=replace(case, seed=0))
    world = case.dims["WORLD"]
    few = min(_POOL, job.instance.pool.most)
    fit = max([few, *(slot // world + 1 for slot in case.slots)])
    yield replace(trial, case=replace(case, pool=fit))
    for row, slot in enumerate(case.slots[:2]):
        for small in range(min(slot, 2 * world + 2)):
            slots = (*case.slots[:row], small, *case.slots[row + 1 :])
            yield replace(trial, case=replace(case, slots=slots, pool=few))
            yield replace(trial, case=replace(case, slots=slots))
    yield from (replace(trial, case=one) for one in _with_value(job, case))


def _rows(case: Case, rows: tuple[int, ...]) -> Case:
    """Return a case of some of its rows, with their payload."""
    order = {row: number for number, row in enumerate(rows)}
    payload = {
        (source, order[row], column): bits
        for (source, row, column), bits in case.payload.items()
        if row in order
    }
    return replace(case, slots=tuple(case.slots[row] for row in rows), payload=payload)


def _narrowed(job: Job, case: Case, dims: Mapping[str, int]) -> dict[tuple[str, int, int], int]:
    """Return the payload that is left at other dimensions."""
    widths = {s.source: int(s.width.evaluate(dims)) for s in job.instance.contract.segments}
    return {
        (source, row, column): bits
        for (source, row, column), bits in case.payload.items()
        if column < widths[source]
    }


def _with_value(job: Job, case: Case) -> Iterator[Case]:
    """Yield a case of one row with each special value as its only payload."""
    if case.rows != 1:
        return
    for segment in job.instance.contract.segments:
        if int(segment.width.evaluate(case.dims)):
            for _, bits in specials(job.instance.dtypes[segment.source], target_of(job)):
                yield replace(case, payload={(segment.source, 0, 0): bits})


def _legal_slots(job: Job, case: Case, rules: Legal) -> bool:
    """Tell whether the contract's caller may pass these slots."""
    limit = case.pool * case.dims["WORLD"]
    if not job.instance.rows.least <= case.rows <= job.instance.rows.most:
        return False
    kind = job.instance.dtypes[job.instance.contract.slots.arg]
    most = (1 << (31 if kind == "i32" else 63)) - 1
    real = [slot for slot in case.slots if slot not in rules.reserved]
    if any(not 0 <= slot <= most or (slot >= limit and not rules.beyond) for slot in real):
        return False
    return rules.repeats or len(set(real)) == len(real)


def _plain_slot(job: Job, dims: Mapping[str, int], pool: int) -> int | None:
    """Return the smallest slot that must be stored."""
    for slot in range(pool * dims["WORLD"]):
        if accepted(job.instance, Case(dims=dims, pool=pool, slots=(slot,)), 0):
            return slot
    return None


def _stride(job: Job, dims: Mapping[str, int]) -> list[int]:
    return [place_stride(segment, dims) for segment in job.instance.contract.segments]
