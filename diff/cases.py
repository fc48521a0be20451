"""Trials drawn from the contract, so that faults are likely, and small ones first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import log2

from hypothesis import currently_in_test_context, target
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.recipe import place_stride
from ..spec.rules import BeyondPool, Exactly, Negative, Reserved
from .api import Trial
from .coverage import classes, clauses
from .palette import LAYOUTS, palette, specials, target_of

#: Rows of a call: few, both sides of block edges, and both sides of known dispatch thresholds.
FEW = (1, 2, 0, 3, 4, 5, 7, 8, 9)
EDGES = (15, 16, 17, 31, 32, 33, 64, 65)
THRESHOLDS = (767, 768, 769)
#: Elements of a row beyond which trials at a threshold are not drawn: they take too long.
MOST_WIDE = 160


@dataclass(frozen=True)
class Legal:
    """What the contract lets a slot table hold.

    Args:
        reserved: slots that a rule drops and that are legal in any number.
        beyond: whether slots past the pool are legal. repeats: whether real slots may repeat.
        strided: whether the slot table may have a stride.
    """

    reserved: tuple[int, ...]
    beyond: bool
    repeats: bool
    strided: bool


def legal(job: Job) -> Legal:
    """Return what a job's contract allows; nothing that one of its givens excludes.

    A slot that a skip rule names is allowed whatever is promised of the others, as in proofs.
    """
    contract = job.instance.contract
    given = {item.key for item in contract.given}
    world, _ = job.instance.world_rank
    reserved: list[int] = []
    for rule in contract.skip:
        if isinstance(rule, Reserved):
            reserved.append(rule.index if rule.space == "virtual" else rule.index * world)
        elif isinstance(rule, Exactly):
            reserved.append(rule.index)
        elif isinstance(rule, Negative):
            reserved += [-1, -2, -(1 << 20)]
    beyond = any(isinstance(rule, BeyondPool) for rule in contract.skip)
    return Legal(
        tuple(reserved),
        beyond,
        "slots-distinct" not in given,
        "slots-contiguous" not in given,
    )


def trials(job: Job, dims: tuple[Mapping[str, int], ...] | None = None) -> SearchStrategy[Trial]:
    """Return a strategy of legal trials; it shrinks towards one row of the smallest dimensions.

    Args:
        job: the job.
        dims: dimensions to draw from, smallest first; `palette(job)` when None. A campaign passes
            those that could be prepared.

    Inside a running Hypothesis test the strategy also calls `hypothesis.target` on the distance
    to the address wrap and to the reserved slot.

    Raises:
        KvproofError: the contract allows no case (an empty pool, for instance).
    """
    chosen = dims or palette(job)
    if job.instance.pool.most < 2 or job.instance.rows.most < 1:
        raise KvproofError(
            f"the contract allows no case: {job.instance.pool.most} places, "
            f"{job.instance.rows.most} rows at most",
            where=f"{job.writer} ({job.label})",
            mend="widen its bounds",
        )
    return _trials(_Plan(job, tuple(chosen)))


class _Plan:
    """What does not change from one drawn trial to the next."""

    def __init__(self, job: Job, dims: tuple[Mapping[str, int], ...]) -> None:
        self.job, self.dims, self.legal = job, dims, legal(job)
        contract = job.instance.contract
        self.widths = [
            {s.source: int(s.width.evaluate(d)) for s in contract.segments} for d in dims
        ]
        self.strides = [max(place_stride(s, d) for s in contract.segments) for d in dims]
        size = 1 << 63 if job.instance.dtypes[contract.slots.arg] == "i64" else 1 << 31
        self.world, self.rank = job.instance.world_rank
        self.most = min(job.instance.pool.most, size // self.world - 1)
        self.values = {
            s.source: specials(job.instance.dtypes[s.source], target_of(job))
            for s in contract.segments
        }

    def rows(self, which: int) -> SearchStrategy[int]:
        """Return row counts for one of the dimensions."""
        counts = [*FEW * 4, *EDGES]
        if sum(self.widths[which].values()) <= MOST_WIDE:
            counts += THRESHOLDS
        least, most = self.job.instance.rows.least, self.job.instance.rows.most
        return st.sampled_from([n for n in counts if least <= n <= most] or [most])

    def pools(self, which: int, rows: int) -> list[int]:
        """Return sizes of the pool: just enough, some more, and ends near address wraps."""
        fit = -(-rows // self.world) + 2
        near = [
            (1 << power) // self.strides[which] + 2 + extra
            for power in (31, 32, 33)
            for extra in (0, fit)
        ]
        small = [max(fit, 4), fit + 4, 2 * fit + 13]
        large = [n for n in (*near, self.most) if fit <= n <= self.most]
        return [n for n in small * 4 if n <= self.most] + large or [self.most]


@st.composite
def _trials(draw: DrawFn, plan: _Plan) -> Trial:
    which = draw(st.integers(0, len(plan.dims) - 1))
    rows = draw(plan.rows(which))
    pool = draw(st.sampled_from(plan.pools(which, rows)))
    slots = _slots(draw, plan, which, rows, pool)
    case = Case(
        dims=plan.dims[which],
        pool=pool,
        slots=slots,
        seed=draw(st.integers(0, 3)),
        slot_stride=draw(st.integers(1, 3)) if plan.legal.strided else 1,
    )
    if rows:
        case = replace(case, payload=_payload(draw, plan, which, rows))
    trial = Trial(case=case, layout=LAYOUTS[draw(st.integers(0, len(LAYOUTS) - 1))])
    if currently_in_test_context():
        _aim(plan, which, trial)
    return trial


def _slots(draw: DrawFn, plan: _Plan, which: int, rows: int, pool: int) -> tuple[int, ...]:
    limit = pool * plan.world
    reserved = plan.legal.reserved
    free = [slot for slot in range(min(limit, 64)) if slot not in reserved]
    # 0: real slots, 1: some rows reserved, 2: all rows reserved.
    padding = draw(st.sampled_from((0, 1, 1, 2, 0))) if reserved else 0
    chosen: list[int] = []
    if rows > 12:
        chosen = _spread(draw, rows, limit, set(reserved))
    else:
        low, high = min(free, default=0), limit - 1
        drawn = st.integers(low, high) if high <= 64 else _near(plan, which, low, high)
        for _ in range(rows):
            slot = draw(drawn)
            while (slot in reserved or slot in chosen) and not plan.legal.repeats:
                slot = low if slot >= high else slot + 1
            chosen.append(slot)
    if plan.legal.beyond and rows and draw(st.booleans()):
        chosen[-1] = limit
    if padding == 2:
        chosen = [reserved[draw(st.integers(0, len(reserved) - 1))]] * rows
    elif padding == 1 and rows:
        every = draw(st.integers(1, max(1, min(rows, 8))))
        which_one = reserved[draw(st.integers(0, len(reserved) - 1))]
        chosen = [which_one if row % every == 0 else slot for row, slot in enumerate(chosen)]
    return tuple(chosen)


def _spread(draw: DrawFn, rows: int, limit: int, reserved: set[int]) -> list[int]:
    """Return many distinct slots from two draws: a start, and up or down."""
    start = draw(st.integers(0, max(limit - rows - len(reserved) - 1, 0)))
    order = chain(range(start, limit), range(start))
    found = list(islice((slot for slot in order if slot not in reserved), rows))
    return found[::-1] if draw(st.booleans()) else found


def _near(plan: _Plan, which: int, low: int, high: int) -> SearchStrategy[int]:
    """Return slots of a large pool: small ones, the last, and those next to address wraps."""
    stride = plan.strides[which]
    marks = [high]
    for power in (31, 32, 33):
        place = (1 << power) // stride
        marks += [place * plan.world + plan.rank + step * plan.world for step in (-1, 0, 1)]
    near = [slot for slot in marks if low <= slot <= high]
    return st.one_of(
        st.integers(low, min(high, low + 8)), st.sampled_from(near), st.integers(low, high)
    )


def _payload(draw: DrawFn, plan: _Plan, which: int, rows: int) -> dict[tuple[str, int, int], int]:
    found: dict[tuple[str, int, int], int] = {}
    kind = draw(st.sampled_from((0, 1, 2, 1)))
    if kind == 0:
        return found
    sources = [source for source, width in plan.widths[which].items() if width]
    source = sources[draw(st.integers(0, len(sources) - 1))]
    values, width = plan.values[source], plan.widths[which][source]
    row = draw(st.integers(0, min(rows, 12) - 1))
    first = draw(st.integers(0, len(values) - 1))
    if kind == 1:
        column = draw(st.integers(0, width - 1))
        return {(source, row, column): values[first][1]}
    return {
        (source, row, column): values[(first + column) % len(values)][1]
        for column in range(min(width, len(values)))
    }


def _aim(plan: _Plan, which: int, trial: Trial) -> None:
    """Tell Hypothesis how near the trial comes to an address wrap and to a skipped slot."""
    case = trial.case
    if not case.slots:
        return
    stride = plan.strides[which]
    reach = max(*case.slots, 0) // plan.world * stride
    away = min(abs(reach - (1 << power)) for power in (31, 32))
    target(-log2(1 + away), label="elements to an address wrap")
    near = min(abs(slot - r) for slot in case.slots for r in plan.legal.reserved or (0,))
    target(-log2(1 + near), label="slots to a reserved one")


__all__ = ["Legal", "classes", "clauses", "legal", "palette", "trials"]
