"""The parent's end of replays: one child runs every counterexample of a check."""

from __future__ import annotations

import base64
import pickle
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.rules import Reserved
from ..spec.verdict import Result, Verdict
from .child import Child
from .replay import Task
from .sampling import Unit, sample

if TYPE_CHECKING:
    from .check import JobReport

Outcome = Mapping[str, Mapping[str, str]]


class Replays:
    """Collects counterexamples during a check and runs them at its end.

    The child starts with the first counterexample, beside the check.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self.child = Child(
            main="kvproof.checkers.replay_main", env={"TRITON_INTERPRET": "1"}, timeout=120
        )
        self._tasks: dict[int, tuple[Result, Task | None]] = {}
        self._warm: threading.Thread | None = None

    def close(self) -> None:
        """End the child. Safe to call again."""
        self._join()
        self.child.close()

    def _join(self) -> None:
        if self._warm is not None:
            self._warm.join()
            self._warm = None

    def note(self, job: Job, unit: Unit, result: Result) -> None:
        """Remember a refuted result; its case, if any, is run by `finish`."""
        if not self._tasks:
            self._warm = threading.Thread(target=self._start, daemon=True)
            self._warm.start()
        task = None
        if result.case is not None:
            place = _claimed(job, result)
            task = Task(
                job, unit.families, result.case, result.invariant, result.statement, place
            )
        self._tasks[id(result)] = (result, task)

    def _start(self) -> None:
        try:
            self.child.request("warm", "the replaying child")
        except KvproofError:
            return  # `finish` reports it

    def run(self, task: Task) -> Outcome:
        """Run one counterexample. A child that crashes is the outcome, not an exception."""
        self._join()
        try:
            text = base64.b64encode(pickle.dumps(task)).decode()
            return self.child.request("replay", task.job.function, task=text)
        except KvproofError as problem:
            return {"evaluator": {"outcome": "skipped", "text": str(problem)}}

    def finish(self, reports: list[JobReport]) -> list[JobReport]:
        """Run every noted counterexample and return the reports with the outcomes."""
        done: list[JobReport] = []
        for report in reports:
            results = tuple(self._finished(result) for result in report.results)
            done.append(replace(report, results=results))
        return done

    def _finished(self, result: Result) -> Result:
        noted = self._tasks.get(id(result))
        if noted is None:
            return result
        task = noted[1]
        if task is None:
            why = "skipped: the case needs more rows than are built"
            return replace(result, replay={"evaluator": why, "interpreter": why})
        return settle(result, self.run(task))


def settle(result: Result, outcome: Outcome) -> Result:
    """Return a refuted result with its replay; unconfirmed by the evaluator, it is UNKNOWN."""
    said = {
        runner: item["outcome"]
        if item["outcome"] != "skipped"
        else f"skipped: {item['text']}"
        for runner, item in outcome.items()
    }
    seen = {runner: item["text"] for runner, item in outcome.items()}
    result = replace(result, replay=said, observed=seen)
    if said.get("evaluator") != "not confirmed":
        return result
    return replace(
        result,
        verdict=Verdict.UNKNOWN,
        detail="the solver's counterexample does not show in a run: a fault of kvproof, or no "
        "witness was found",
    )


def _claimed(job: Job, result: Result) -> int | None:
    """Return the local place that a claim speaks of."""
    for claim in job.instance.contract.claims:
        if claim.sentence == result.statement and isinstance(claim, Reserved):
            return claim.index if claim.space == "local" else None
    return None


def replay_case(
    child: Child, job: Job, case: Case, invariant: str, statement: str = ""
) -> Outcome:
    """Capture a job anew and run a case of it on every runner at hand.

    Raises KvproofError when the job cannot be captured.
    """
    captured = sample(child, job)
    replays = Replays()
    try:
        place = next(
            (c.index for c in job.instance.contract.claims
             if c.sentence == statement and c.space == "local"),
            None,
        )
        families = captured.units[0].families
        return replays.run(Task(job, families, case, invariant, statement, place))
    finally:
        replays.close()
