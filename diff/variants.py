"""Variants of one trial: the same shapes, other slots, contents and special values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..spec.errors import KvproofError
from ..spec.job import Job
from .api import Trial
from .cases import legal
from .form import Array
from .palette import specials, target_of

#: Slots at each end of a pool that variants take.
_NEAR = 1 << 11


@dataclass(frozen=True, eq=False)
class Variants:
    """Variants of a trial.

    Args:
        trial: the one they are variants of.
        slots: int64, (variants, rows).
        seeds: int64, one per variant.
        special: one payload element per variant: (source, row, column, bits); None for none.
    """

    trial: Trial
    slots: Array
    seeds: Array
    special: tuple[tuple[str, int, int, int] | None, ...]

    def __len__(self) -> int:
        return len(self.seeds)

    def at(self, index: int) -> Trial:
        """Return one variant as a trial."""
        special = self.special[index]
        payload = {} if special is None else {special[:3]: special[3]}
        case = replace(
            self.trial.case,
            slots=tuple(int(slot) for slot in self.slots[index]),
            seed=int(self.seeds[index]),
            payload=payload,
        )
        return replace(self.trial, case=case)


def variants(job: Job, trial: Trial, count: int, *, seed: int = 0) -> Variants:
    """Return legal variants of a trial; the same for the same seed.

    Args:
        job: the job.
        trial: gives dimensions, layout, pool and row count.
        count: how many.
        seed: seed of the choice.

    Raises:
        KvproofError: the pool holds too few slots for the rows.
    """
    case, rng = trial.case, np.random.default_rng(seed)
    world, allowed = job.instance.world_rank[0], legal(job)
    limit = case.pool * world
    near = range(min(limit, _NEAR)), range(max(limit - _NEAR, min(limit, _NEAR)), limit)
    free = np.array([slot for part in near for slot in part if slot not in allowed.reserved])
    if free.size < case.rows:
        raise KvproofError(f"{case.rows} rows need more than {free.size} slots")
    order = rng.random((count, free.size)).argsort(axis=1)[:, : case.rows]
    slots = free[order]
    if allowed.reserved:
        share = rng.choice((0.0, 0.25, 0.5, 1.0), size=(count, 1))
        dropped = rng.random(slots.shape) < share
        chosen = rng.choice(np.array(allowed.reserved), size=slots.shape)
        slots = np.where(dropped, chosen, slots)
    segments = [s for s in job.instance.contract.segments if s.width.evaluate(case.dims)]
    picked: list[tuple[str, int, int, int] | None] = []
    for k in range(count):
        if not case.rows or not segments or k % 4 == 0:
            picked.append(None)
            continue
        segment = segments[int(rng.integers(len(segments)))]
        values = specials(job.instance.dtypes[segment.source], target_of(job))
        width = int(segment.width.evaluate(case.dims))
        bits = values[int(rng.integers(len(values)))][1]
        picked.append(
            (segment.source, int(rng.integers(case.rows)), int(rng.integers(width)), bits)
        )
    seeds = rng.integers(0, 1 << 31, size=count)
    return Variants(trial, slots.astype(np.int64), seeds, tuple(picked))
