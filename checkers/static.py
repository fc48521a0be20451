"""Rules that the order of ops decides: W15."""

from __future__ import annotations

from collections.abc import Iterator

from ..spec.job import Job
from ..spec.launch import Launch
from ..spec.verdict import Result, Verdict
from .domain import line_of
from .problem import Problem


def static_rules(job: Job, launch: Launch, problems: list[Problem]) -> Iterator[Result]:
    """Yield W15 for kernels that wait for an earlier one; others have nothing to order.

    A load above the wait may read what the earlier kernel has not written yet. A trigger above a
    store lets the next kernel start before the cache is written.
    """
    for problem in problems:
        trace = problem.trace
        if not trace.waits:
            continue
        early = [op for order, op in trace.loads if order < min(trace.waits)]
        late = [op for order, op in trace.stores if trace.triggers and order > min(trace.triggers)]
        culprit = (early or late or [None])[0]
        what = "loaded before the wait" if early else "stored after the trigger"
        yield Result(
            writer=job.writer,
            kernel=launch.kernel,
            source=line_of(culprit) if culprit else f"{launch.file}:{launch.line}",
            config={**job.instance.config, "platform": job.platform},
            invariant="W15",
            verdict=Verdict.REFUTED if culprit else Verdict.PROVED,
            detail=what if culprit else "static rule: every load stands below the wait",
            ir_hash=launch.ttir_hash,
        )
