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
from ..spec.verdict import Result, Verdict
from .child import Child
from .replay import Task
from .sampling import Unit, sample

if TYPE_CHECKING:
    from .check import JobReport

Outcome = Mapping[str, Mapping[str, str]]


class Replays:
    """Runs the counterexamples of reports, in a child that starts with the first of them."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.child = Child(
            main="kvproof.checkers.replay_main", env={"TRITON_INTERPRET": "1"}, timeout=120
        )
        self._warm: threading.Thread | None = None

    def close(self) -> None:
        """End the child. Safe to call again."""
        self._join()
        self.child.close()

    def warm(self) -> None:
        """Start the child beside other work; a second call does nothing."""
        if self._warm is None:
            self._warm = threading.Thread(target=self._start, daemon=True)
            self._warm.start()

    def _join(self) -> None:
        if self._warm is not None:
            self._warm.join()

    def _start(self) -> None:
        try:
            self.child.request("warm", "the replaying child")
        except KvproofError:
            return  # `run` reports it

    def run(self, task: Task) -> Outcome:
        """Run one counterexample. A child that crashes is the outcome, not an exception."""
        self._join()
        try:
            text = base64.b64encode(pickle.dumps(task)).decode()
            return self.child.request("replay", task.job.function, task=text)
        except KvproofError as problem:
            return {"evaluator": {"outcome": "skipped", "text": str(problem)}}

    def finish(self, reports: list[JobReport]) -> list[JobReport]:
        """Run every counterexample and return the reports with the outcomes."""
        done: list[JobReport] = []
        for report in reports:
            results = list(report.results)
            for index, task in report.tasks:
                results[index] = self._finished(results[index], task)
            done.append(replace(report, results=tuple(results)))
        return done

    def _finished(self, result: Result, task: Task | None) -> Result:
        if task is None:
            why = "skipped: no case of a size that can be run shows it"
            return replace(result, replay={"evaluator": why, "interpreter": why})
        return settle(result, self.run(task))


def replay_task(job: Job, unit: Unit, result: Result) -> Task | None:
    """Return the replay of a refuted result, or None where it has no case."""
    if result.case is None:
        return None
    place = claimed_place(job, result.statement)
    return Task(job, unit.families, result.case, result.invariant, result.statement, place)


def settle(result: Result, outcome: Outcome) -> Result:
    """Return a refuted result with its replay; unconfirmed by the evaluator, it is UNKNOWN."""
    said = {
        runner: item["outcome"] if item["outcome"] != "skipped" else f"skipped: {item['text']}"
        for runner, item in outcome.items()
    }
    seen = {runner: item["text"] for runner, item in outcome.items()}
    result = _moved(replace(result, replay=said, observed=seen), outcome["evaluator"])
    if said.get("evaluator") != "not confirmed":
        return result
    return replace(
        result,
        verdict=Verdict.UNKNOWN,
        detail="the solver's counterexample does not show in a run: a fault of kvproof, or no "
        "witness was found",
    )


def _moved(result: Result, said: Mapping[str, str]) -> Result:
    """Return a result at the element that the run showed, where the solver named another."""
    if "source" not in said or result.case is None:
        return result
    row, column = int(said["row"]), int(said["column"])
    case = replace(result.case, payload={(said["source"], row, column): int(said["bits"])})
    return replace(result, case=case, row=row, column=column, slot=case.slots[row])


def claimed_place(job: Job, statement: str) -> int | None:
    """Return the local place that a statement on reserved slots speaks of, or None."""
    for claim in job.instance.contract.claims:
        if claim.sentence == statement and claim.space == "local":
            return claim.index
    return None


def replay_case(child: Child, job: Job, case: Case, invariant: str, statement: str = "") -> Outcome:
    """Capture a job anew and run a case of it on every runner at hand.

    Raises KvproofError when the job cannot be captured.
    """
    captured = sample(child, job)
    replays = Replays()
    try:
        place = claimed_place(job, statement)
        families = captured.units[0].families
        return replays.run(Task(job, families, case, invariant, statement, place))
    finally:
        replays.close()
