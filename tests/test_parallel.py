"""Workers of a check end with it, also when their iterator is closed in the middle."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from kvproof.checkers import parallel
from kvproof.checkers.child import Child
from kvproof.spec.errors import KvproofError

from tests.jobs import job

OPTIONS = {"invariants": ["W6"], "drop": False, "timeout": 5.0, "certify": False, "dump": ""}


class Slow(Child):
    """A child that answers from a script: the first job at once, the others when it is closed."""

    made: list[Slow]
    holds = True

    def __init__(self, **_):
        super().__init__()
        self.asked = self.started = 0
        self.closed = threading.Event()
        Slow.made.append(self)

    def request(self, op, what, **_):
        self.asked += 1
        if self.closed.is_set():
            self.started += 1
        if self.holds and self.asked > 1:
            assert self.closed.wait(30)
        raise KvproofError("its process ended")

    def close(self):
        self.closed.set()


@pytest.fixture
def slow(monkeypatch):
    Slow.made = []
    monkeypatch.setattr(parallel, "Child", Slow)
    return Slow


def test_no_worker_starts_again_once_the_check_is_closed(slow):
    before = threading.active_count()
    jobs = [replace(job("masked"), label=str(number)) for number in range(8)]
    reports = parallel.check_parallel(jobs, 2, OPTIONS)
    assert next(reports).error == "its process ended"
    reports.close()
    assert threading.active_count() == before
    assert [child.started for child in slow.made] == [0, 0]
    assert sum(child.asked for child in slow.made) <= 4


def test_a_worker_that_ends_costs_its_job_alone(slow, monkeypatch):
    monkeypatch.setattr(slow, "holds", False)
    jobs = [replace(job("masked"), label=str(number)) for number in range(2)]
    reports = list(parallel.check_parallel(jobs, 2, OPTIONS))
    assert [report.error for report in reports] == ["its process ended"] * 2
