"""Checking a job: capture, walk, decide, and say it as results."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from ..spec.errors import KvproofError
from ..spec.invariants import PROVED_BY_CHECK
from ..spec.job import Job
from ..spec.launch import Launch
from ..spec.rules import CONTIGUOUS, DISTINCT, INNER_ONE, NO_ALIAS, SAME_ROWS
from ..spec.verdict import Result, Verdict
from .answered import Answered
from .building import build
from .certify import Certificate, Certifier
from .child import Child
from .decide import Decision, decide, largest_safe
from .dropping import Recapture, drops
from .groups import Group, Grouping, Kernel
from .ideal import Ideal
from .parallel import check_parallel
from .replay import Task
from .replaying import Replays, replay_task
from .resulting import result_of
from .sampling import Captured, Unit, sample
from .solving import Solving
from .static import static_rules
from .ttir import Program
from .ttir_parser import parse_ttir
from .vacuity import covered

#: Promises about stores: nothing is proved of them where no lane can store.
_OF_STORES = frozenset({"W1", "W6", "W8", "W9", "W10", "W12", "W13"})


@dataclass(frozen=True)
class JobReport:
    """What was found about one job.

    Args:
        job: the job.
        results: one per invariant and statement.
        notes: what a reader must know.
        seconds: time spent, capture included.
        error: one line when the job could not be checked at all.
        queries: seconds of every question to the solver.
        tasks: (index of a refuted result, its replay); None where no case could be built.
        certificate: what the second solver said, when it was asked.
    """

    job: Job
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    queries: tuple[float, ...] = ()
    tasks: tuple[tuple[int, Task | None], ...] = ()
    certificate: Certificate | None = None


def _promised(job: Job) -> None:
    """Refuse a contract without a promise that every proof leans on, asked for or not."""
    contract = job.instance.contract
    made = {given.key for given in contract.given}
    for given in (DISTINCT, CONTIGUOUS, INNER_ONE, NO_ALIAS, SAME_ROWS):
        if given.key not in made:
            raise KvproofError(
                f"no proof without the promise that {given.sentence}",
                where=f"contract {contract.name}",
                mend=f"add {given.key} to given, or test the writer by runs",
            )


class Checker:
    """Checks jobs one after another, with one child process for all captures.

    Args:
        invariants: the invariants to decide; all that `check` proves when None.
        drop: whether each assumption of a proof is dropped in turn.
        replay: whether counterexamples are run.
        timeout: seconds per question to the solver.
        workers: processes that `check_all` uses; one for each core, at most four, when None.
        child: the capturing child; one of its own when None.
        certify: whether every UNSAT is asked again of a second solver.
        dump: folder where every UNSAT question is written as SMT-LIB.

    Raises:
        KvproofError: the second solver is not installed, or the folder cannot be made.
    """

    def __init__(
        self,
        *,
        invariants: frozenset[str] | None = None,
        drop: bool = True,
        replay: bool = True,
        timeout: float = 10.0,
        workers: int | None = None,
        child: Child | None = None,
        certify: bool = False,
        dump: str = "",
    ) -> None:
        self.certify, self.dump = certify, dump
        self.certifier: Certifier | None = None
        if certify or dump:
            self.certifier = Certifier(certify, Path(dump) if dump else None)
        self.workers = min(4, os.cpu_count() or 1) if workers is None else workers
        self.invariants = frozenset(PROVED_BY_CHECK) if invariants is None else invariants
        self.drop = drop
        self.timeout = timeout
        self.child = child or Child()
        self.replays = Replays() if replay else None
        self.answered = Answered()
        self._programs: dict[str, Program] = {}
        self._strided: set[str] = set()

    def __enter__(self) -> Checker:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the child processes."""
        self.close()

    def close(self) -> None:
        """End the child processes. Safe to call again."""
        self.child.close()
        if self.replays is not None:
            self.replays.close()

    def check(self, job: Job) -> JobReport:
        """Check one job. A fault of the job becomes the report's error, not an exception."""
        begun = time.perf_counter()
        solving = Solving(self.timeout, self.certifier, self.answered)
        try:
            _promised(job)
            captured = sample(self.child, job)
            results: list[Result] = []
            tasks: list[tuple[int, Task | None]] = []
            for unit in captured.units:
                for result in self._unit(job, unit, captured, solving):
                    if result.verdict is Verdict.REFUTED and result.invariant != "W15":
                        tasks.append((len(results), replay_task(job, unit, result)))
                    results.append(result)
        except KvproofError as problem:
            return JobReport(job, (), job.notes, time.perf_counter() - begun, str(problem))
        seconds = time.perf_counter() - begun
        notes = (*job.notes, *captured.notes)
        return JobReport(
            job=job,
            results=tuple(results),
            notes=notes,
            seconds=seconds,
            queries=tuple(solving.times),
            tasks=tuple(tasks),
            certificate=self.certifier.take() if self.certify and self.certifier else None,
        )

    def check_all(self, jobs: Sequence[Job]) -> Iterator[JobReport]:
        """Check jobs on several processes; yield their reports in order.

        The replaying child starts beside them with the first counterexample.
        """
        if self.workers < 2 or len(jobs) < 2 * self.workers:
            reports = map(self.check, jobs)
        else:
            options = {
                "invariants": sorted(self.invariants),
                "drop": self.drop,
                "timeout": self.timeout,
                "certify": self.certify,
                "dump": self.dump,
            }
            reports = check_parallel(jobs, self.workers, options)
        for report in reports:
            if report.tasks and self.replays is not None:
                self.replays.warm()
            yield report

    def finish(self, reports: list[JobReport]) -> list[JobReport]:
        """Replay every counterexample and return the reports with the outcomes.

        A counterexample that the evaluator does not confirm is no finding: the result becomes
        UNKNOWN and says so.
        """
        return reports if self.replays is None else self.replays.finish(reports)

    # --- one call -------------------------------------------------------------------------

    def _program(self, launch: Launch) -> Program:
        key = launch.ttir
        if key not in self._programs:
            self._programs[key] = parse_ttir(launch.ttir)
        return self._programs[key]

    def _kernels(self, job: Job, unit: Unit) -> list[Kernel]:
        kernels: list[Kernel] = []
        for family in unit.families:
            program = self._program(family.launch)
            exact = build(job.instance, job.binding, family, program)
            ideal = build(job.instance, job.binding, family, program, Ideal())
            kernels.append(Kernel(exact, ideal))
        return kernels

    def _unit(self, job: Job, unit: Unit, captured: Captured, solving: Solving) -> Iterator[Result]:
        kernels = self._kernels(job, unit)
        launch = unit.families[0].launch
        effects = [e for kernel in kernels for e in kernel.ideal.trace.effects]
        empty = None if effects else covered(kernels, solving)
        groups = [
            group
            for group in ([] if effects else Grouping(kernels, solving).groups())
            if group.invariant in self.invariants
        ]
        if effects or empty is not None:
            groups += self._unasked(job, groups, everything=bool(effects))
        wide: Decision | None = None
        decisions: list[Decision] = []
        for group in groups:
            if effects:
                why = f"{effects[0]} may touch memory"
                decision = Decision(group, Verdict.UNSUPPORTED, detail=why, line=effects[0].line)
            else:
                decision = decide(group, solving)
                if not decision.items and decision.verdict is Verdict.PROVED and empty is None:
                    continue  # nothing of this contract speaks of it, e.g. one rank owns all
            if group.invariant == "W4":
                wide = decision
            proved = decision.verdict is Verdict.PROVED
            if proved and empty is not None and group.invariant in _OF_STORES:
                decision.verdict, decision.detail = Verdict.VACUOUS, empty
            decisions.append(decision)
        self._row_count_of_none(decisions, captured)
        for decision in decisions:
            yield self._result(job, unit, decision, wide, solving)
        if "W15" in self.invariants:
            yield from static_rules(job, launch, [kernel.exact for kernel in kernels])

    def _unasked(self, job: Job, groups: list[Group], *, everything: bool) -> list[Group]:
        """Return groups without obligations for what cannot be asked, so that it is not silent."""
        known = {group.invariant for group in groups}
        one_rank = job.instance.world_rank[0] == 1
        names = PROVED_BY_CHECK if everything else sorted(_OF_STORES)
        return [
            Group(name)
            for name in names
            if name in self.invariants - known
            and name != "W15"
            and not (name == "W12" and one_rank)
        ]

    def _row_count_of_none(self, decisions: list[Decision], captured: Captured) -> None:
        """W7 also speaks of the call without rows."""
        for decision in decisions:
            if decision.group.invariant == "W7" and captured.zero is not None:
                decision.verdict = Verdict.REFUTED
                decision.detail = f"the call with no rows fails: {captured.zero}"
                decision.shown = None

    def _result(
        self,
        job: Job,
        unit: Unit,
        decision: Decision,
        wide: Decision | None,
        solving: Solving,
    ) -> Result:
        """Say a decision as a result, with what its assumptions exclude."""
        result = result_of(job, unit, decision, wide)
        if self.drop:
            recapture: Recapture | None = None
            if decision.group.invariant == "W1" and job.writer not in self._strided:
                self._strided.add(job.writer)

                def recapture_strided() -> list[Kernel]:
                    captured = sample(self.child, job, slot_stride=2)
                    return self._kernels(job, captured.units[0])

                recapture = recapture_strided
            result = replace(result, dropped=tuple(drops(decision, solving, recapture)))
        if decision.group.invariant == "W4" and decision.verdict is Verdict.REFUTED:
            safe = largest_safe(decision, solving)
            if safe is not None:
                result = replace(result, safe_up_to=safe[0], safe_of=safe[1])
        return result
