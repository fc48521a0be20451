"""The reports behind contract tests, and what a test that is not green says."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..checkers.check import Checker, JobReport
    from ..spec.job import Job
    from ..spec.verdict import Result

#: Seconds per question to the solver.
_PATIENCE = {"ci": 10.0, "dev": 20.0, "campaign": 120.0}
#: Runs of one configuration: so many cases, or seconds.
_RUNS = {"dev": ("cases", 200.0), "campaign": ("seconds", 60.0)}


class Broken(Exception):
    """The contract is broken: the text of the findings."""


class Undecided(Exception):
    """Neither proved nor refuted, or not checked at all: the text that says why."""


class Checks:
    """The reports of one process: each job is checked once, by the first of its tests.

    Args:
        profile: "ci": proofs; "dev" and "campaign": also each assumption dropped in turn, with
            more patience for the solver, and runs.
    """

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.records: list[dict[str, Any]] = []
        self._checker: Checker | None = None
        self._reports: dict[int, JobReport] = {}

    def report(self, test: str, job: Job) -> JobReport:
        """Return a job's report, its counterexamples replayed.

        Args:
            test: the node id of the contract test, without its parameters.
            job: the job; kept alive by the caller, so that its identity tells it apart.
        """
        if id(job) not in self._reports:
            from ..checkers.check import Checker
            from .interrupt import interruptible

            if self._checker is None:
                drop = self.profile != "ci"
                self._checker = Checker(drop=drop, timeout=_PATIENCE[self.profile], workers=1)
            with interruptible():
                (found,) = self._checker.finish([self._checker.check(job)])
            self._reports[id(job)] = found
            self.records.append(_record(test, found))
        return self._reports[id(job)]

    def close(self) -> None:
        """End the child processes."""
        if self._checker is not None:
            self._checker.close()
            self._checker = None


def run_cases(job: Job, profile: str, folder: Path) -> None:
    """Run a writer on made-up cases and compare whole memory with the contract's reference.

    Args:
        job: the writer in one configuration.
        profile: "dev" (200 cases) or "campaign" (60 seconds).
        folder: where the cases and scripts are kept; a later run goes on from there.

    Raises:
        Broken: a case shows a fault.
        Undecided: a case crashed, hung or was not decided.
        KvproofError: the writer cannot be called.
    """
    from rich.console import Console

    from ..diff.campaign import run
    from ..diff.plan import Plan
    from .campaigning import print_summary

    kind, budget = _RUNS[profile]
    identity = {"target": job.target, "label": job.label}
    plan = Plan(jobs=[job], folder=folder, identity=identity, kind=kind, budget=budget)
    summary = run(plan)
    code = summary.exit_code()
    if code:
        text = io.StringIO()
        console = Console(file=text, width=100, color_system=None, force_terminal=False)
        print_summary(console, plan, job.target, summary)
        # The last part counts what was tried; the line `case` names a configuration of `check`.
        shown, _, _ = text.getvalue().partition("\nClauses of the contract")
        lines = [line for line in shown.splitlines()[1:] if not line.startswith("  case  ")]
        raise (Broken if code == 1 else Undecided)("\n".join(lines).strip("\n"))


def told(job: Job, results: Sequence[Result], name: str, nodeid: str) -> str:
    """Return what a test that is not green says: the findings, and the command that repeats it.

    Args:
        job: the job.
        results: its results on the test's invariant.
        name: the test's name.
        nodeid: its node id.
    """
    from rich.console import Console

    from .finding import print_finding
    from .layout import labelled
    from .outcome import Finding

    text = io.StringIO()
    console = Console(file=text, width=100, color_system=None, force_terminal=False)
    for result in results:
        if result.verdict.value != "PROVED":
            print_finding(console, Finding(job, result, name, claim=False))
    labelled(console, "reproduce", f"pytest '{nodeid}'", whole=True)
    return text.getvalue().rstrip()


def _record(test: str, report: JobReport) -> dict[str, Any]:
    from .outcome import is_claim

    return {
        "test": test,
        "target": report.job.target,
        "contract": report.job.instance.contract.name,
        "label": report.job.label,
        "seconds": round(report.seconds, 3),
        "error": report.error,
        "notes": list(report.notes),
        "results": [
            {**result.to_json(), "claim": is_claim(report.job, result)} for result in report.results
        ],
    }
