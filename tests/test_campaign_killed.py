"""kill -9 of a campaign and of its worker, at random moments: nothing is lost."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from kvproof.diff.findings import findings, incidents
from kvproof.diff.journal import read_journal
from kvproof.diff.ledger import JOURNALS
from kvproof.diff.store import Store

from .campaigns import own

PROGRAM = Path(__file__).with_name("campaign_program.py")
IDENTITY = {"target": own("write").target}


def start(folder, cases):
    return subprocess.Popen([sys.executable, PROGRAM, folder, str(cases)])


def journalled(folder):
    """Return the trials that the journals hold and that came to an end."""
    count = 0
    for path in (folder / JOURNALS).glob("*.log"):
        with suppress(FileNotFoundError):
            count += sum(entry.ended for entry in read_journal(path)[1])
    return count


def worker(campaign):
    """Return the process id of the campaign's worker, or None between two of them."""
    found = []
    for task in Path(f"/proc/{campaign}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += [int(number) for number in (task / "children").read_text().split()]
    return found[0] if found else None


def until(condition, process):
    """Wait for a condition of a campaign's process id."""
    deadline = time.monotonic() + 120
    while not condition(process.pid):
        assert process.poll() is None, "the campaign ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kill_worker(process):
    """Kill the campaign's worker and return its process id; one may end between look and kill."""
    killed = []

    def tried(campaign):
        with suppress(ProcessLookupError):
            number = worker(campaign)
            if number is not None:
                os.kill(number, signal.SIGKILL)
                killed.append(number)
        return killed

    until(tried, process)
    return killed[0]


@pytest.mark.slow
def test_ten_kills_at_random_moments_lose_nothing(tmp_path, capsys):
    seed = secrets.randbits(32)
    chance = random.Random(seed)  # noqa: S311 - repeatable from the seed that is printed
    with capsys.disabled():
        print(f" seed {seed} ", end="", flush=True)
    folder = tmp_path / "campaign"
    kept, total = set(), 0
    for _ in range(5):
        process = start(folder, 1_000_000)
        try:
            until(worker, process)
            time.sleep(6 * chance.random())
            number = kill_worker(process)
            until(lambda pid, dead=number: worker(pid) not in {None, dead}, process)
            if not total:  # on a busy machine a worker may take long to begin
                until(lambda _: journalled(folder), process)
            time.sleep(6 * chance.random())
        finally:
            process.kill()
            process.wait()
        time.sleep(1.5)  # an orphan sees within a second that its campaign is gone
        left = journalled(folder)
        with Store(folder, IDENTITY) as store:
            assert store.rows("PRAGMA integrity_check") == [("ok",)]
            now = {one.id: one.key for one in findings(store)}
            assert kept <= set(now.items()), "a finding was lost"
            kept = set(now.items())
            assert store.total() + left >= total, "trials were lost"
            total = store.total() + left
    assert total
    last = start(folder, 60)
    assert last.wait(timeout=240) == 1
    with Store(folder, IDENTITY) as store:
        assert store.rows("SELECT count(*) FROM pending") == [(0,)]
        assert journalled(folder) == 0
        assert store.total() >= total
        assert [(one.writer, one.invariant) for one in findings(store)] == [("write_all", "W6")]
        for one in incidents(store):
            # Twice on one trial is rare, and then counts as a trial that kills its worker.
            assert (one.kind, one.how) == ("crashed", "SIGKILL")
            assert one.repeats is not None
