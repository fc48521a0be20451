"""Trials drawn from the contract, so that faults are likely."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis.strategies import SearchStrategy

from ..spec.job import Job
from .api import Trial


def palette(job: Job) -> tuple[Mapping[str, int], ...]:
    """Return the dimensions that trials of a job are drawn at, the smallest first.

    The last is the job's own. Each is legal for the contract; a host function may refuse some
    (`Preparer.prepare` raises then: leave it out and note it).
    """
    raise NotImplementedError


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
    raise NotImplementedError


def classes(job: Job, trial: Trial) -> tuple[str, ...]:
    """Return the classes of case that a trial belongs to, for coverage, e.g. "rows: 1",
    "slots: reserved", "slots: past 2**31 elements", "payload: NaN", "layout: split"."""
    raise NotImplementedError


def clauses(job: Job, trial: Trial) -> tuple[str, ...]:
    """Return the contract's clauses that a trial exercises: each segment stored, each skip rule
    and the owner rule taken, the encoding, and each given that the slots come near to."""
    raise NotImplementedError
