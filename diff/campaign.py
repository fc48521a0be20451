"""A campaign: workers run slices of work on all jobs until the budget is used up.

The campaign itself runs no kernel. A worker that crashes, hangs or is killed costs the trial that
it was running, which is recorded and tried once more in a fresh process. A campaign that is killed
goes on from its folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from ..checkers.child import Child, ChildEnded
from ..spec.errors import KvproofError
from ..spec.job import Job
from .counts import read as read_coverage
from .findings import findings, incidents, write_scripts
from .ledger import JOURNALS, Ledger
from .ordering import Work, make_order
from .orders import Order, Report, packed, unpacked
from .plan import Plan, Status, Summary
from .schedule import Schedule
from .store import Run, Store
from .workers import MOST_DEATHS, home, open_worker, worker

Observer = Callable[[Status], None]


def run(plan: Plan, observe: Observer = lambda _: None) -> Summary:
    """Run a campaign to the end of its budget and return what its folder holds.

    Args:
        plan: what to do.
        observe: called with the status about twice a second, in this thread.

    An interrupted run of the same budget in the same folder is gone on with. KeyboardInterrupt
    passes through; everything entered until then is kept.

    Raises:
        KvproofError: the folder cannot be used (see `Store`), the disk is full, the device is not
            there, or no job allows a case. Findings made until then are kept.
    """
    with Store(plan.folder, plan.identity) as store:
        return Campaign(plan, store).run(observe)


class Campaign:
    """One run of a plan on an open store."""

    def __init__(self, plan: Plan, store: Store) -> None:
        """Take over what a killed campaign left behind."""
        self.plan, self.store = plan, store
        self.ledger = Ledger(store, plan.jobs)
        (plan.folder / JOURNALS).mkdir(exist_ok=True)
        self._run: Run = store.begin_run(plan.kind, plan.budget)
        self.resumed = self._run.cases
        self.recovered = self.ledger.recover(self._run)
        write_scripts(store)
        self._used = self._run.seconds
        self._before = self._cases()
        self._begun = time.monotonic()
        self._schedule = Schedule(
            plan.jobs, plan.workers, first=self._with_history(), slices=self._slices()
        )
        self._guard = threading.Condition()
        self._fault: BaseException | None = None
        self._over = False
        self._alive = 0
        self._reserved = 0
        self._name = self.ledger.next_name()
        self._incidents: dict[str, int] = {}
        self._notes: dict[str, dict[str, None]] = {}
        self._refusal: KvproofError | None = None
        self._writer = ""

    def run(self, observe: Observer) -> Summary:
        """Run to the end of the budget; see `run`."""
        with ExitStack() as stack:
            children = [stack.enter_context(worker(self.plan)) for _ in range(self.plan.workers)]
            stack.callback(self._stop)
            open_worker(children[0], self.plan)
            self._alive = len(children)
            for index, child in enumerate(children):
                threading.Thread(target=self._work, args=(index, child), daemon=True).start()
            while True:
                with self._guard:
                    self._guard.wait_for(lambda: not self._alive, timeout=0.5)
                    alive, fault = self._alive, self._fault
                if fault is not None:
                    raise fault
                observe(self._status())
                if not alive:
                    break
        if self._refusal is not None and not self.store.total():
            raise self._refusal
        self.store.change(
            "UPDATE runs SET ended=1, seconds=? WHERE id=?", self._seconds(), self._run.id
        )
        return self._summary()

    def _stop(self) -> None:
        self._over = True

    def _work(self, index: int, child: Child) -> None:
        """Run slices until the budget is used up; the body of a worker's thread."""
        deaths = 0
        try:
            while (order := self._next(index)) is not None:
                if self._slice(child, order):
                    deaths = 0
                    continue
                deaths += 1
                if deaths >= MOST_DEATHS:
                    fault = KvproofError(
                        f"its process ended {deaths} times outside any case",
                        where=f"{order.job.writer} ({order.job.label})",
                        mend="see whether the machine is out of memory",
                    )
                    self._end(fault)
        except BaseException as fault:  # noqa: BLE001 - the main thread raises it
            self._end(fault)
        finally:
            with self._guard:
                self._alive -= 1
                self._guard.notify_all()

    def _end(self, fault: BaseException) -> None:
        with self._guard:
            if not self._over:
                self._fault = self._fault or fault

    def _next(self, index: int) -> Order | None:
        """Return a worker's next order, or None when there is nothing left to do."""
        plan = self.plan
        share = plan.budget / len(plan.jobs)
        with self._guard:
            while True:
                if self._over or self._fault is not None:
                    return None
                if plan.kind == "seconds":
                    left, most = plan.budget - self._seconds(), 1 << 20
                    seconds = min(left, 2.0, max(0.3, share * plan.workers / 4))
                else:
                    left, seconds = 3600.0, 2.0
                    free = plan.budget - self._cases() - self._reserved
                    most = int(min(free, max(20.0, min(500.0, share))))
                # What others took may come back: a slice may end before it has run them all.
                if most > 0 or not self._reserved:
                    break
                self._guard.wait(0.2)
            chosen = self._schedule.next(index) if most > 0 and left > 0 else None
            if chosen is None:
                # Nothing new any more; but what took a worker down is tried once more.
                chosen, most = self._schedule.owed(self.ledger.owing()), 0
            if chosen is None:
                return None
            job, number, first = chosen
            if plan.kind == "cases":
                self._reserved += most
            name, self._name = self._name, self._name + 1
        work = Work(name=name, number=number, most=most, seconds=seconds, left=left, first=first)
        return make_order(self.plan, self.ledger, job, work)

    def _slice(self, child: Child, order: Order) -> bool:
        """Run an order; tell whether it went on: False when the worker died outside any trial."""
        job, name = order.job, order.name
        patience = order.seconds + 4 * order.shrink + 12 * order.limit + 60
        alive = True
        try:
            answer = child.request(
                "slice",
                f"{job.writer} ({job.label})",
                timeout=patience,
                order=packed(order),
                device=self.plan.device,
                home=home(self.plan),
            )
            report: Report = unpacked(answer)
            if self._over:
                return True
            self.ledger.enter(name, job, report, self._run, self._seconds())
            self._after(job, report)
        except ChildEnded as end:
            if self._over:
                return True
            hung = end.how in {"SIGALRM", "no answer"}
            how = f"no end within {order.limit:g} s" if hung else end.how
            kind = "hung" if hung else "crashed"
            running = self.ledger.close_journal(name, self._run, kind=kind, how=how)
            alive = running is not None
            if alive:
                self._count_incident(job)
        except KvproofError as problem:
            if self._over:
                return True
            if problem.where.startswith(str(self.plan.folder)):
                raise
            self._failed(job, name, problem)
        finally:
            with self._guard:
                if self.plan.kind == "cases":
                    self._reserved -= order.most
                self._writer = job.writer
                self._guard.notify_all()
        return alive

    def _after(self, job: Job, report: Report) -> None:
        for note in report.notes:
            self._note(job.writer, note)
        if report.spent:
            self._schedule.drop(job)
            if not report.cases:
                self._note(job.writer, f"not run in {job.label}: {report.spent}")
                self._refuse(KvproofError(report.spent, where=f"{job.writer} ({job.label})"))

    def _failed(self, job: Job, name: int, problem: KvproofError) -> None:
        """Leave a job out: its contract allows no case, or kvproof itself is at fault."""
        running = self.ledger.close_journal(name, self._run, kind="undecided", how=str(problem))
        if problem.where and running is None:
            self._refuse(problem)
        elif running is None:
            self.ledger.add_incident(job, "undecided", str(problem), None)
        self._note(job.writer, str(problem))
        self._schedule.drop(job)

    def _refuse(self, problem: KvproofError) -> None:
        self._refusal = self._refusal or problem

    def _count_incident(self, job: Job) -> None:
        count = self._incidents[job.writer] = self._incidents.get(job.writer, 0) + 1
        if count >= self.plan.patience:
            self._schedule.drop_writer(job.writer)
            self._note(job.writer, f"set aside after {count} crashes and hangs")

    def _note(self, writer: str, text: str) -> None:
        with self._guard:
            self._notes.setdefault(text, {}).setdefault(writer)

    def _with_history(self) -> set[tuple[str, str]]:
        rows = self.store.rows(
            "SELECT writer, label FROM findings UNION SELECT writer, label FROM pending"
        )
        return {(str(writer), str(label)) for writer, label in rows}

    def _slices(self) -> dict[tuple[str, str], int]:
        rows = self.store.rows("SELECT writer, label, slices FROM jobs")
        return {(str(writer), str(label)): int(count) for writer, label, count in rows}

    def _seconds(self) -> float:
        return self._used + time.monotonic() - self._begun

    def _cases(self) -> int:
        return int(self.store.rows("SELECT cases FROM runs WHERE id=?", self._run.id)[0][0])

    def _status(self) -> Status:
        count = "SELECT count(*) FROM"
        cases = self._cases()
        return Status(
            cases=cases,
            seconds=self._seconds(),
            rate=(cases - self._before) / max(time.monotonic() - self._begun, 1e-3),
            findings=int(self.store.rows(f"{count} findings WHERE shows")[0][0]),
            incidents=int(self.store.rows(f"{count} outcomes")[0][0]),
            writer=self._writer,
        )

    def _summary(self) -> Summary:
        reached = self.store.rows("SELECT count(*) FROM jobs WHERE cases > 0")
        return Summary(
            status=self._status(),
            total=self.store.total(),
            recovered=self.recovered,
            resumed=self.resumed,
            findings=tuple(findings(self.store)),
            incidents=tuple(incidents(self.store)),
            coverage=read_coverage(self.store),
            notes={text: tuple(writers) for text, writers in self._notes.items()},
            reached=int(reached[0][0]),
            jobs=len(self.plan.jobs),
        )
