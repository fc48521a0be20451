"""Running a check from a request to its outcome."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.invariants import PROVED_BY_CHECK, invariant
from ..spec.job import Job
from .casefile import CaseFile
from .outcome import Outcome
from .progress import progress
from .request import Request, jobs
from .second import NO_SECOND, Second

if TYPE_CHECKING:
    from ..checkers.check import JobReport

#: Runner -> {"outcome": "confirmed", "not confirmed" or "skipped", "text": what was seen}.
Replayed = Mapping[str, Mapping[str, str]]


class Checking(Protocol):
    """What checks jobs: `kvproof.checkers.check.Checker`."""

    def check_all(self, jobs: Sequence[Job]) -> Iterator[JobReport]:
        """Yield a report for each job, in order."""
        ...

    def finish(self, reports: list[JobReport]) -> list[JobReport]:
        """Replay all counterexamples."""
        ...


def open_checker(
    invariants: frozenset[str] | None, *, drop: bool, second: Second = NO_SECOND
) -> AbstractContextManager[Checking]:
    """Return a checker; the solver is imported here, so that other commands start fast."""
    from ..checkers.check import Checker

    dump = "" if second.dump is None else str(second.dump)
    return Checker(invariants=invariants, drop=drop, certify=second.certify, dump=dump)


def run_case(job: Job, case: Case, about: str, statement: str) -> Replayed:
    """Run one case on every runner at hand: runner -> {"outcome", "text"}.

    Raises KvproofError when the writer cannot be called any more.
    """
    from ..checkers.child import Child
    from ..checkers.replaying import replay_case
    from .interrupt import interruptible

    with interruptible(), Child() as child:
        return replay_case(child, job, case, about, statement)


def wanted(names: Iterable[str]) -> frozenset[str] | None:
    """Return the invariants that `--invariant` names; None for all.

    Raises KvproofError: an unknown one, or one that a check does not decide.
    """
    found = [invariant(part) for name in names for part in name.split(",") if part.strip()]
    for one in found:
        if one.id not in PROVED_BY_CHECK:
            raise KvproofError(
                f"{one.id} is not decided by a check ({one.decided})",
                where="--invariant",
                mend=f"use {', '.join(PROVED_BY_CHECK)}",
            )
    return frozenset(one.id for one in found) or None


def check(
    request: Request,
    *,
    invariants: frozenset[str] | None,
    drop: bool,
    console: Console,
    second: Second = NO_SECOND,
) -> Outcome:
    """Check every job of a request and replay its counterexamples.

    Args:
        request: what is asked.
        invariants: the invariants to decide; None for all.
        drop: whether assumptions are dropped in turn.
        console: where progress is told.
        second: whether a second solver is asked, and where questions are written.

    Raises:
        KvproofError: the request does not fit, the second solver is missing, or every one of its
            jobs fails in the same way.
    """
    from .interrupt import interruptible

    asked = {"second": second} if second else {}
    todo = jobs(request, console=console)
    begun = time.perf_counter()
    reports: list[JobReport] = []
    with (
        interruptible(),
        open_checker(invariants, drop=drop, **asked) as checker,
        progress(console, todo) as report,
    ):
        report(0)
        for done in checker.check_all(todo):
            reports.append(done)
            # A file of one's own that cannot be called at all fails in every configuration.
            if request.is_file and reports[0].error:
                raise KvproofError(reports[0].error)
            report(len(reports))
        reports = checker.finish(reports)
    return Outcome(request, tuple(reports), time.perf_counter() - begun)


def find_job(file: CaseFile, *, console: Console) -> Job:
    """Return the job of a counterexample file. Raises KvproofError when there is none any more."""
    found = jobs(file.request, console=console)
    for job in found:
        if (job.writer, job.label) == (file.writer, file.label):
            return job
    raise KvproofError(
        f"no writer {file.writer!r} with configuration {file.label!r}",
        where=f"target {file.request.target!r}",
        mend="run `kvproof check` again",
    )
