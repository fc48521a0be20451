"""The reports behind contract tests, and what a test that is not green says."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .testoptions import Options

if TYPE_CHECKING:
    from ..checkers.check import Checker, JobReport
    from ..checkers.child import Child
    from ..spec.job import Job
    from ..spec.verdict import Result

#: Seconds per question to the solver.
_PATIENCE = {"ci": 10.0, "dev": 20.0, "campaign": 120.0}


class Broken(Exception):
    """The contract is broken: the text of the findings."""


class Undecided(Exception):
    """Neither proved nor refuted, or not checked at all: the text that says why."""


class Checks:
    """The reports of one process: each job is checked once, by the first of its tests.

    Args:
        options: what was asked. Profile "ci" proves; "dev" and "campaign" also drop each
            assumption in turn, have more patience for the solver, and run cases.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.records: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        #: Why reports were not written, in one line; empty when they were.
        self.fault = ""
        self._child: Child | None = None
        self._checker: Checker | None = None
        self._reports: dict[int, JobReport] = {}

    @property
    def child(self) -> Child:
        """The process that loads writers and captures their calls."""
        if self._child is None:
            from ..checkers.child import Child

            self._child = Child()
        return self._child

    def report(self, test: str, configuration: str, job: Job) -> JobReport:
        """Return a job's report, its counterexamples replayed.

        Args:
            test: the node id of the contract test, without its parameters.
            configuration: the part of the parameters that names the job, "bf16-i64".
            job: the job; kept alive by the caller, so that its identity tells it apart.
        """
        if id(job) not in self._reports:
            from ..checkers.check import Checker
            from .interrupt import interruptible
            from .record import record_of

            if self._checker is None:
                profile = self.options.profile
                self._checker = Checker(
                    drop=profile != "ci", timeout=_PATIENCE[profile], workers=1, child=self.child
                )
            with interruptible():
                (found,) = self._checker.finish([self._checker.check(job)])
            self._reports[id(job)] = found
            self.records.append({"test": test, "configuration": configuration, **record_of(found)})
        return self._reports[id(job)]

    def run(self, test: str, configuration: str, job: Job, folder: Path) -> None:
        """Run cases of a job; what they show is kept.

        Args:
            test: as for `report`.
            configuration: as for `report`.
            job: as for `report`.
            folder: where the cases and scripts are kept; a later run goes on from there.

        Raises:
            Broken: a case shows a fault.
            Undecided: a case crashed, hung or was not decided.
            KvproofError: the writer cannot be called.
        """
        from .testruns import run_cases

        ran = run_cases(job, self.options, folder)
        self.runs.append({"test": test, "configuration": configuration, **ran.record})
        if ran.code:
            raise (Broken if ran.code == 1 else Undecided)(ran.text)

    def close(self) -> None:
        """End the child processes."""
        if self._checker is not None:
            self._checker.close()
        if self._child is not None:
            self._child.close()
        self._checker = self._child = None


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
