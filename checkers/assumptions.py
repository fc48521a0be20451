"""Everything a verdict assumes, in words: promises of the caller, bounds and approximations."""

from __future__ import annotations

from collections.abc import Iterator

from ..spec.contract import Range
from ..spec.job import Job
from ..spec.rules import CONTIGUOUS
from ..spec.verdict import Verdict
from .decide import Decision
from .sampling import Unit


def assumptions(job: Job, unit: Unit, decision: Decision, wide: Decision | None) -> tuple[str, ...]:
    """Return the assumptions of a decision, each once.

    Args:
        job: the job.
        unit: what was captured.
        decision: the decision.
        wide: the decision on W4; without it nothing is known of wrap-around.
    """
    return tuple(dict.fromkeys(_all(job, unit, decision, wide)))


def _all(job: Job, unit: Unit, decision: Decision, wide: Decision | None) -> Iterator[str]:
    used = {key for _, obligation in decision.items for key in obligation.given}
    for given in job.instance.contract.given:
        # Every call was captured with a contiguous slot table.
        if given.key in used or not given.droppable or given == CONTIGUOUS:
            yield given.sentence
    instance = job.instance
    yield f"ROWS <= {instance.rows.most:,}"
    yield f"POOL <= {instance.pool.most:,}"
    for name, value in instance.dims.items():
        if isinstance(value, Range):
            yield f"{value.least:,} <= {name} <= {value.most:,}"
    yield from (str(condition) for condition in instance.where)
    for _, obligation in decision.items:
        yield from obligation.assuming
    for family in unit.families:
        grid = ", ".join(str(extent) for extent in family.grid)
        counts = ", ".join(str(count) for count in sorted(set(family.samples)))
        yield f"grid ({grid}), read off calls with {counts} rows"
        for name, (value, limit) in family.narrow(instance).items():
            yield f"{value} < {limit:,} (argument {name}; a larger one compiles to other IR)"
    invariant = decision.group.invariant
    if invariant not in ("W4", "W6", "W10", "W12", "W15"):
        if wide is None:
            yield "no operation behind an address or mask wraps (W4, not asked)"
        elif wide.verdict is not Verdict.PROVED:
            yield f"no operation behind an address or mask wraps (W4 is {wide.verdict.value})"
