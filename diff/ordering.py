"""From a job and the store to the order for its next slice of work."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from ..spec.job import Job
from .findings import findings
from .ledger import Ledger
from .orders import Order
from .plan import Plan


@dataclass(frozen=True, kw_only=True)
class Work:
    """How much a slice is to do; see `Order`. `first` marks a job's first slice of this run."""

    name: int
    number: int
    most: int
    seconds: float
    left: float
    first: bool


def make_order(plan: Plan, ledger: Ledger, job: Job, work: Work) -> Order:
    """Return the order: with what is known of the job, and what was left behind of it."""
    muted = frozenset(ledger.keys(job.writer, job.label))
    mine = [item for item in findings(ledger.store) if item.writer == job.writer]
    known = {item.key: item.trial for item in mine}
    digest = hashlib.sha256(f"{job.writer}\0{job.label}".encode()).hexdigest()[:16]
    return Order(
        job=job,
        number=work.number,
        parent=os.getpid(),
        journal=str(ledger.journal(work.name)),
        name=work.name,
        examples=str(plan.folder / "examples" / digest),
        seconds=work.seconds,
        left=work.left,
        most=work.most,
        limit=plan.limit,
        muted=muted,
        known=tuple((key, trial) for key, trial in known.items() if key not in muted),
        pending=ledger.pending(job),
        rechecks=tuple(
            (item.id, item.key, item.trial)
            for item in mine
            if work.first and item.label == job.label
        ),
    )
