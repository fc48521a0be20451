"""What campaign and worker say to each other: an order for a slice of work, and its report."""

from __future__ import annotations

import base64
import pickle
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from ..spec.job import Job
from .api import Outcome, Trial
from .journal import Key


@dataclass(frozen=True, kw_only=True)
class Order:
    """A slice of work on one job.

    Args:
        job: the job.
        number: the job's how many-th slice; it decides the seed and how many shapes are drawn from.
        parent: process id of the campaign.
        journal: file that trials are noted in before they run.
        name: the journal's name for the store; a slice is counted once under it.
        examples: folder of Hypothesis's example database for this job.
        seconds: seconds to spend on trials, captures and other runners not counted.
        left: seconds after which to stop all the same.
        most: trials to run at most; shrinking may run some more.
        limit: seconds that one trial may take.
        shrink: seconds that shrinking one finding may take.
        muted: findings of this job that are known and are only counted.
        known: shrunk trials of the writer's findings in other jobs, to be tried here first.
        pending: trials that a killed process left behind, with their numbers.
        rechecks: this job's findings of earlier runs, with their numbers.
    """

    job: Job
    number: int
    parent: int
    journal: str
    name: int
    examples: str
    seconds: float
    left: float
    most: int
    limit: float
    shrink: float = 10.0
    muted: frozenset[Key] = frozenset()
    known: tuple[tuple[Key, Trial], ...] = ()
    pending: tuple[tuple[int, Trial], ...] = ()
    rechecks: tuple[tuple[int, Key, Trial], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Found:
    """A fault of the writer, with its smallest trial.

    Args:
        key: what is broken, the kernel line that does it, and for W10 the kind of value.
        trial: the shrunk trial.
        outcome: what the first runner made of it.
        repr: one line of Python that shows it.
        script: text of a stand-alone script that shows it.
        others: what further runners made of it.
    """

    key: Key
    trial: Trial
    outcome: Outcome
    repr: str
    script: str
    others: tuple[Outcome, ...] = ()


@dataclass(kw_only=True)
class Report:
    """What a slice did.

    Args:
        cases: trials run on the first runner, those of shrinking included.
        seconds: how long it took.
        coverage: times that a class of case ("class") or a clause ("clause") was exercised, and
            trials for each further runner ("runner").
        findings: new findings.
        sightings: known findings of other jobs that this job has too.
        settled: pending trials that came to an end, by number.
        rechecked: whether a finding of an earlier run still shows, by its number.
        undecided: trials that no runner decided, each with why.
        notes: what a reader should know: shapes that the writer refuses, for instance.
        spent: why no more slices of this job are worth while, or "".
    """

    cases: int = 0
    seconds: float = 0.0
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    findings: list[Found] = field(default_factory=list[Found])
    sightings: list[tuple[Key, Trial]] = field(default_factory=list[tuple[Key, Trial]])
    settled: list[int] = field(default_factory=list[int])
    rechecked: dict[int, bool] = field(default_factory=dict[int, bool])
    undecided: list[tuple[Trial, str]] = field(default_factory=list[tuple[Trial, str]])
    notes: list[str] = field(default_factory=list[str])
    spent: str = ""


def shape(trial: Trial) -> str:
    """Return what makes a shrunk trial the same in all configurations: all but dimensions."""
    return repr(replace(trial, case=replace(trial.case, dims={})))


def packed(value: Any) -> str:
    """Return an order or report as text for the other process, which is kvproof's own."""
    return base64.b64encode(pickle.dumps(value)).decode()


def unpacked(text: str) -> Any:
    """Return what `packed` packed."""
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - from our own parent or child
