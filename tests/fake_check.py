"""A checker that answers from a table, and jobs for it: no solver, no compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

from kvproof.cli.request import Request
from kvproof.cli.request import jobs as real_jobs
from kvproof.spec.case import Case
from kvproof.spec.job import Job
from kvproof.spec.verdict import Dropped, Result, Verdict

CASE = Case(
    dims={"BUFFER_STRIDE": 512, "NOPE": 512, "NOPE_STRIDE": 512, "WORLD": 1, "RANK": 0},
    pool=1,
    slots=(0,),
)
STORE = "zero_rope.py:59"


def result(job: Job, invariant: str, verdict: Verdict, **more) -> Result:
    """Return a result of a job, refuted ones with a case that two runners confirmed."""
    fields = {
        "writer": job.writer,
        "kernel": "a_kernel",
        "source": STORE,
        "config": dict(job.instance.config),
        "invariant": invariant,
        "verdict": verdict,
        "assumes": ("0 <= slot", "POOL <= 1,024"),
    }
    if verdict is Verdict.REFUTED:
        fields |= {
            "case": CASE,
            "slot": 0,
            "row": 0,
            "column": 0,
            "replay": {"evaluator": "confirmed", "interpreter": "confirmed"},
            "observed": {"evaluator": "512 elements of slot 0 changed"},
        }
    return Result(**(fields | more))


def report(job: Job, *results: Result, error=None, notes=()):
    """Return what the checker says of a job."""
    return SimpleNamespace(
        job=job, results=results, notes=(*job.notes, *notes), seconds=0.0, error=error, queries=()
    )


@dataclass
class FakeChecker:
    """Answers each job from `answer`, and remembers what it was asked."""

    answer: object
    asked: list[Job] = field(default_factory=list)
    finished: int = 0
    closed: bool = False

    def __enter__(self):
        """Return itself."""
        return self

    def __exit__(self, *_):
        """Remember that it was closed."""
        self.closed = True

    def check_all(self, jobs):
        """Yield the table's answers."""
        for job in jobs:
            self.asked.append(job)
            yield self.answer(job)

    def finish(self, reports):
        """Return the reports as they are."""
        self.finished += 1
        return reports


def proved(job: Job):
    """Answer that two invariants hold and what one assumption keeps out."""
    dropped = (
        Dropped("slots>=0", Verdict.REFUTED, "slot -1 of a pool of 1 places breaks W1"),
        Dropped("slots<pool", Verdict.PROVED),
    )
    return report(
        job,
        result(job, "W1", Verdict.PROVED, dropped=dropped),
        result(job, "W6", Verdict.PROVED),
    )


def half(job: Job):
    """Answer as the bundled examples deserve: the writer without a skip breaks W6."""
    if job.function == "write_rows":
        return proved(job)
    return report(
        job,
        result(job, "W1", Verdict.PROVED),
        result(job, "W6", Verdict.REFUTED, statement="virtual slot 0 is never stored"),
    )


def bundled() -> list[Job]:
    """Return the bundled examples' jobs."""
    return real_jobs(Request())
