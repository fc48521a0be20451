"""Journals: what was running is known after any end, and nothing is counted twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kvproof.diff.api import Trial
from kvproof.diff.findings import incidents
from kvproof.diff.journal import Journal, read_journal
from kvproof.diff.ledger import JOURNALS, Ledger
from kvproof.diff.store import Store
from kvproof.spec.case import Case
from kvproof.spec.errors import KvproofError

from .campaigns import own

JOB = own("write")
HEADING = {"name": 1, "writer": JOB.writer, "label": JOB.label}
DIMS = {"NOPE": 4, "WORLD": 1, "RANK": 0, "BUFFER_STRIDE": 4, "NOPE_STRIDE": 4}
ONE, TWO = (Trial(case=Case(dims=DIMS, pool=4, slots=(slot,))) for slot in (1, 2))
KEY = ("W6", "faults.py:20", "")


@pytest.fixture
def ledger(tmp_path):
    """Give a ledger on an empty store."""
    with Store(tmp_path, {"target": "t"}) as store:
        (tmp_path / JOURNALS).mkdir()
        yield Ledger(store, [JOB])


def write(path, *, running=True, pending=0, keys=()):
    journal = Journal(path, HEADING, parent=os.getppid())
    journal.begin(ONE)
    journal.end(keys)
    if running:
        journal.begin(TWO, pending)
    journal.close()


def test_a_journal_is_read_back(tmp_path):
    write(tmp_path / "1.log", keys=[KEY])
    heading, (first, second) = read_journal(tmp_path / "1.log")
    assert heading == HEADING
    assert (first.trial, first.ended, first.keys) == (ONE, True, (KEY,))
    assert (second.trial, second.ended, second.keys) == (TWO, False, ())


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "1.log"
    write(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        _, entries = read_journal(path)
        lines = whole[:length].split(b"\n")[:-1]
        assert len(entries) == sum(line.startswith(b"[") for line in lines)


def test_a_damaged_journal_is_one_line(tmp_path):
    (tmp_path / "1.log").write_text("{}\n[0, {}]\n")
    with pytest.raises(KvproofError, match="the journal is damaged"):
        read_journal(tmp_path / "1.log")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line(tmp_path):
    path = tmp_path / "1.log"
    path.symlink_to("/dev/full")
    with pytest.raises(KvproofError, match="no space left on the disk"):
        Journal(path, HEADING, parent=os.getppid())


def test_after_the_campaign_was_killed_the_running_trial_is_pending(ledger):
    run = ledger.store.begin_run("cases", 10)
    write(ledger.journal(1))
    assert ledger.recover(run) == 2
    assert ledger.store.total() == 1
    assert [trial for _, trial in ledger.pending(JOB)] == [TWO]
    assert incidents(ledger.store) == []
    assert not ledger.journal(1).exists()


def test_a_journal_is_entered_once(ledger):
    run = ledger.store.begin_run("cases", 10)
    for _ in range(2):  # killed between the commit and the removal of the file
        write(ledger.journal(1))
        ledger.recover(run)
    assert ledger.store.total() == 1
    assert len(ledger.pending(JOB)) == 1
    assert ledger.next_name() == 2


def test_a_finding_that_was_not_entered_is_pending(ledger):
    run = ledger.store.begin_run("cases", 10)
    write(ledger.journal(1), keys=[KEY], running=False)
    ledger.recover(run)
    assert [trial for _, trial in ledger.pending(JOB)] == [ONE]
    write(ledger.journal(2), running=False)
    ledger.recover(run)
    assert len(ledger.pending(JOB)) == 1


def test_a_trial_that_ended_its_worker_is_an_incident_and_tried_again(ledger):
    run = ledger.store.begin_run("cases", 10)
    write(ledger.journal(1))
    ledger.close_journal(1, run, kind="crashed", how="SIGSEGV")
    (incident,) = incidents(ledger.store)
    assert (incident.kind, incident.how, incident.trial) == ("crashed", "SIGSEGV", TWO)
    assert (incident.repeats, incident.counts) == (None, True)
    ((number, trial),) = ledger.pending(JOB)
    assert trial == TWO
    write(ledger.journal(2), pending=number)
    ledger.close_journal(2, run, kind="crashed", how="SIGSEGV")
    (incident,) = incidents(ledger.store)
    assert (incident.repeats, incident.counts) == (True, True)
    assert ledger.pending(JOB) == ()


def test_a_left_behind_trial_that_ends_a_worker_gets_its_second_chance(ledger):
    run = ledger.store.begin_run("cases", 10)
    write(ledger.journal(1))
    ledger.recover(run)
    ((number, _),) = ledger.pending(JOB)
    write(ledger.journal(2), pending=number)
    ledger.close_journal(2, run, kind="hung", how="SIGALRM")
    (incident,) = incidents(ledger.store)
    assert (incident.kind, incident.repeats) == ("hung", None)
    assert [trial for _, trial in ledger.pending(JOB)] == [TWO]
    write(ledger.journal(3), pending=number)
    ledger.close_journal(3, run, kind="hung", how="SIGALRM")
    (incident,) = incidents(ledger.store)
    assert (incident.kind, incident.repeats) == ("hung", True)


def test_a_trial_that_passes_the_second_time_does_not_count(ledger):
    run = ledger.store.begin_run("cases", 10)
    write(ledger.journal(1))
    ledger.close_journal(1, run, kind="crashed", how="SIGKILL")
    ((number, trial),) = ledger.pending(JOB)
    journal = Journal(ledger.journal(2), HEADING, parent=os.getppid())
    journal.begin(trial, number)
    journal.end()
    journal.close()
    ledger.recover(run)
    (incident,) = incidents(ledger.store)
    assert (incident.repeats, incident.counts) == (False, False)
    assert ledger.pending(JOB) == ()
