"""A slice of work on one job, in a worker: trials drawn, run, judged, and shrunk by Hypothesis."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import HypothesisException

from ..spec.errors import KvproofError
from .api import Outcome, Prepared, Runner, Trial
from .asking import STARTING, Broken, Over, alarm, ask
from .cases import classes, clauses, palette, trials
from .journal import Journal, Key
from .judging import keys, only, simplicity, told
from .orders import Found, Order, Report
from .prepare import Preparer
from .probing import probes, simpler
from .script import one_line, stand_alone

#: Share of a slice's time that the runners after the first may take.
SHARE = 0.2
#: Hypothesis's advice on slow or large tests; the budget is the campaign's own.
_UNCHECKED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)


class Slice:
    """Runs one order.

    Args:
        order: what to do.
        preparer: keeps captured launches from slice to slice.
        runners: the first runs every trial; the others some, within their share of the time.
    """

    def __init__(self, order: Order, preparer: Preparer, runners: Sequence[Runner]) -> None:
        self.order = order
        self.report = Report()
        self._preparer = preparer
        self._first, self._others = runners[0], runners[1:]
        self._muted = set(order.muted)
        self._best: dict[Key, tuple[Trial, Outcome]] = {}
        self._faults: dict[Key, type[Broken]] = {}
        self._refused: dict[str, None] = {}
        self._stopped: Exception | None = None
        self._begun = time.monotonic()
        self._captures = self._elsewhere = 0.0
        self._shrinking: float | None = None
        heading = {"name": order.name, "writer": order.job.writer, "label": order.job.label}
        self._journal = Journal(Path(order.journal), heading, parent=order.parent)

    def run(self) -> Report:
        """Run the slice. Raises KvproofError: the contract allows no case, or the disk is full."""
        report = self.report
        try:
            trials(self.order.job, self._dims())
            left_behind = self._run_old()
            if self.order.number == 0:
                self._probe()
            while not self._over():
                self._search()
                if not self._note():
                    break
        except Over:
            if self._stopped is not None:
                raise self._stopped from None
            self._note()
        else:
            # Hypothesis did not come across them again: they are kept as they were found.
            self._best = {key: kept for key, kept in left_behind.items() if key not in self._muted}
            self._note()
        finally:
            self._journal.close()
            report.seconds = time.monotonic() - self._begun
        report.notes += [f"left out: {why}" for why in self._refused]
        return report

    def _run_old(self) -> dict[Key, tuple[Trial, Outcome]]:
        """Run what is known or was left behind; return new faults that pending trials show."""
        for number, key, trial in self.order.rechecks:
            outcome = self._run(trial)
            self.report.rechecked[number] = outcome is not None and key in keys(
                self.order.job, outcome
            )
        for key, trial in self.order.known:
            self._try_known(key, trial)
        self._best.clear()
        for number, trial in self.order.pending:
            self._run(trial, pending=number)
            self.report.settled.append(number)
        left_behind, self._best = self._best, {}
        return left_behind

    def _try_known(self, key: Key, trial: Trial) -> None:
        """Try another job's shrunk trial at this job's dimensions; mute what it shows here too."""
        if key in self._muted:
            return
        moved = replace(trial, case=replace(trial.case, dims=palette(self.order.job)[0]))
        try:
            outcome = self._run(moved)
        except KvproofError:
            raise
        except Exception:  # noqa: BLE001 - at other dimensions a trial may make no sense at all
            return
        if outcome is not None and key in keys(self.order.job, outcome):
            self._muted.add(key)
            self.report.sightings.append((key, trial))

    def _probe(self) -> None:
        """Run what a person would try first."""
        for trial in probes(self.order.job):
            if self._over():
                break
            self._run(trial)
        self._note()

    def _over(self) -> bool:
        return self._late() or self.report.cases >= self.order.most

    def _late(self) -> bool:
        """Tell whether the time is up; captures and other runners are not the trials' time."""
        now = time.monotonic()
        if self._shrinking is not None:
            return now >= self._shrinking
        spent = now - self._begun
        return spent >= self.order.left or (
            spent - self._captures - self._elsewhere >= self.order.seconds
        )

    def _dims(self) -> tuple[Mapping[str, int], ...]:
        """Return the shapes to draw from: smallest and own first, more with every slice."""
        shapes = palette(self.order.job)
        chosen = (shapes[0], *shapes[1:-1][: 2 * self.order.number], shapes[-1])
        return tuple({repr(dims): dims for dims in chosen}.values())

    def _search(self) -> None:
        """Let Hypothesis draw trials until the slice is over or shows something new."""
        order = self.order
        ran = self.report.cases

        @seed(order.number * 1_000_003 + ran)
        @settings(
            max_examples=max(1, order.most - ran),
            database=DirectoryBasedExampleDatabase(order.examples),
            phases=(Phase.reuse, Phase.generate, Phase.target, Phase.shrink),
            deadline=None,
            suppress_health_check=_UNCHECKED,
            report_multiple_bugs=True,
            print_blob=False,
        )
        @given(trials(order.job, self._dims()))
        def campaign(trial: Trial) -> None:
            if self._over() and (not self._best or self._late()):
                raise Over
            try:
                outcome = self._run(trial)
            except Exception as why:  # not to be shrunk: no fault of the writer
                self._stopped = why
                raise Over from why
            if outcome is None:
                reject()
            for key in keys(self.order.job, outcome):
                if key not in self._muted:
                    raise self._fault(key)

        try:
            campaign()
        except HypothesisException as problem:
            # A verdict that changes from run to run is kept as the trial that showed it.
            if not self._best and self.report.cases == ran and not self._refused:
                raise KvproofError(
                    "the contract generates no case",
                    where=f"{order.job.writer} ({order.job.label})",
                    mend="widen its pool or rows",
                ) from problem
        except Exception:
            if not self._best:
                raise
        if self.report.cases == ran:
            self.report.spent = next(iter(self._refused), "it has no further case")
            raise Over

    def _fault(self, key: Key) -> Exception:
        if key not in self._faults:
            self._faults[key] = type(f"Broken{len(self._faults)}", (Broken,), {})
            self._shrinking = max(self._shrinking or 0.0, time.monotonic()) + self.order.shrink
        return self._faults[key](" ".join(key))

    def _run(self, trial: Trial, *, pending: int = 0) -> Outcome | None:
        """Run a trial on the first runner, and keep the new faults that it shows.

        None where the writer refuses its shape.
        """
        self._journal.begin(trial, pending)
        begun = time.monotonic()
        with alarm(self.order.limit):
            try:
                prepared = self._preparer.prepare(self.order.job, trial.case)
            except KvproofError as why:
                self._refused[str(why)] = None
                self._journal.end()
                return None
            finally:
                self._captures += time.monotonic() - begun
            outcome = ask(self._first, prepared, trial)
        new = [key for key in keys(self.order.job, outcome) if key not in self._muted]
        for key in new:
            best = self._best.get(key)
            if best is None or simplicity(trial) < simplicity(best[0]):
                self._best[key] = trial, outcome
        if not new and not self._best:
            self._ask_others(prepared, trial, outcome)
        self._journal.end(new)
        self._count(trial, outcome)
        return outcome

    def _count(self, trial: Trial, outcome: Outcome) -> None:
        job, report = self.order.job, self.report
        report.cases += 1
        if outcome.status == "skipped":
            report.coverage["skipped", outcome.reason] += 1
        elif outcome.status == "failed":
            report.undecided.append((trial, outcome.reason))
        report.coverage.update(("class", name) for name in classes(job, trial))
        report.coverage.update(("clause", name) for name in clauses(job, trial))

    def _ask_others(self, prepared: Prepared, trial: Trial, outcome: Outcome) -> None:
        """Compare with the other runners while they keep within their share of the time."""
        for runner in self._others:
            now = time.monotonic()
            if self._elsewhere > SHARE * (now - self._begun):
                return
            with alarm(self.order.limit + STARTING):
                other = ask(runner, prepared, trial)
            self._elsewhere += time.monotonic() - now
            if other.status == "skipped":
                continue
            self.report.coverage["runner", runner.name] += 1
            # Where the first runner shows a known fault, another may stumble over it in its own
            # way. The reference is no writer: it tells whether the expected bytes are right.
            against = runner.name == "reference" or outcome.status == "agrees"
            if against and other.status != "agrees":
                said = f"{runner.name} {told(other)}; {self._first.name} {told(outcome)}"
                self.report.undecided.append((trial, said))

    def _simplify(self) -> None:
        """Make the trial of each new fault as simple as a few moves make it."""
        until = time.monotonic() + self.order.shrink
        done: set[Key] = set()
        while left := [key for key in self._best if key not in done]:
            key = left[0]
            before, _ = self._best[key]
            for candidate in simpler(self.order.job, before):
                if simplicity(candidate) < simplicity(before):
                    self._run(candidate)
                if self._best[key][0] is not before or time.monotonic() >= until:
                    break
            if self._best[key][0] is before:
                done.add(key)

    def _note(self) -> bool:
        """Report the new faults and mute them from now on; tell whether there were any."""
        self._simplify()
        found = list(self._best.items())
        for key, (trial, outcome) in found:
            self._journal.begin(trial)
            prepared = self._preparer.prepare(self.order.job, trial.case)
            others: list[Outcome] = []
            for runner in self._others:
                with alarm(self.order.limit + STARTING):
                    others.append(ask(runner, prepared, trial))
            self._journal.end([key])
            mine = only(outcome, key)
            self.report.findings.append(
                Found(
                    key=key,
                    trial=trial,
                    outcome=mine,
                    repr=one_line(prepared.job, trial),
                    script=stand_alone(prepared, trial, mine),
                    others=tuple(others),
                )
            )
            self._muted.add(key)
        self._best.clear()
        self._shrinking = None
        return bool(found)
