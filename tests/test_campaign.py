"""Campaigns over own writers: what is found, what takes a worker down, and what cannot be run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.diff.campaign import run
from kvproof.diff.plan import Plan
from kvproof.spec.contract import Range
from kvproof.spec.errors import KvproofError

from .campaigns import own, plan


def narrow(job, **more):
    return replace(job, instance=replace(job.instance, **more))


def test_a_right_writer_has_no_finding_and_a_faulty_one_has_one(tmp_path):
    seen = []
    summary = run(plan(tmp_path, own("write"), own("write_all"), budget=80), seen.append)
    (finding,) = summary.findings
    assert (finding.writer, finding.invariant) == ("write_all", "W6")
    assert finding.trial.case.slots == (0,)
    assert "\n" not in finding.repr
    assert compile(finding.script.read_text(), "script", "exec")
    assert finding.script.parent.parent == tmp_path
    assert [other.status for other in finding.others] == ["agrees", "differs"]
    assert summary.incidents == ()
    assert summary.exit_code() == 1
    assert summary.total >= 80
    assert seen[-1].cases == summary.status.cases == summary.total
    assert summary.coverage.of("clause")["skip: virtual slot 0 is never stored"] > 1
    assert summary.coverage.of("class")["rows: 0"] >= 1
    # The same again: known findings are tried first, and none is made twice.
    again = run(plan(tmp_path, own("write"), own("write_all"), budget=60))
    assert [one.id for one in again.findings] == [finding.id]
    assert again.total >= summary.total + 60
    assert again.findings[0].shows
    # The writer was mended meanwhile: its finding stays, but shows no more.
    mended = replace(own("write"), writer="write_all")
    after = run(plan(tmp_path, mended))
    assert [(one.id, one.shows) for one in after.findings] == [(finding.id, False)]
    assert after.exit_code() == 0


def test_what_takes_a_worker_down_is_recorded_and_the_campaign_goes_on(tmp_path):
    names = ("write_outside", "write_in_the_end", "write_and_wait", "write_and_abort", "write")
    jobs = [own(name, nope=6) for name in names]
    made = plan(tmp_path, *jobs, budget=150, limit=5.0, patience=2)
    summary = run(made)
    (finding,) = summary.findings
    assert (finding.writer, finding.invariant) == ("write_outside", "W1")
    assert "store outside" in finding.outcome.mismatches[0].text
    said = {(one.writer, one.kind, one.repeats) for one in summary.incidents}
    assert ("write_in_the_end", "hung", True) in said
    assert ("write_and_wait", "hung", True) in said
    assert ("write_and_abort", "crashed", True) in said
    assert {name for name, _, _ in said} == set(names[1:4])
    for one in summary.incidents:
        assert one.trial is not None
        assert one.how in {"SIGABRT", "no end within 5 s"}
    assert "set aside after 2 crashes and hangs" in summary.notes
    assert summary.coverage.counts["class"]["write"]["rows: 1"] > 0
    # With the finding gone, only what nothing decided is left.
    rest = replace(summary, findings=())
    assert (summary.exit_code(), rest.exit_code()) == (1, 3)


def test_a_contract_without_a_case_is_one_line(tmp_path):
    empty = narrow(own("write"), pool=Range(1, 1))
    with pytest.raises(KvproofError, match="the contract allows no case"):
        run(plan(tmp_path, empty))
    (tmp_path / "other").mkdir()
    summary = run(plan(tmp_path / "other", empty, replace(own("write"), label="other")))
    assert summary.exit_code() == 0
    assert any("the contract allows no case" in note for note in summary.notes)


def test_a_writer_that_cannot_be_called_is_one_line(tmp_path):
    with pytest.raises(KvproofError, match="no function 'gone'"):
        run(plan(tmp_path, own("gone")))


def test_a_device_that_is_not_there_is_one_line(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    made = plan(tmp_path, own("write"), device="cuda")
    with pytest.raises(KvproofError, match=r"no CUDA device.*use --device cpu"):
        run(made)


def test_a_full_disk_ends_the_campaign_and_keeps_its_findings(tmp_path, monkeypatch):
    from kvproof.diff import ledger

    made = plan(tmp_path, own("write_all"), budget=1000)
    enter = ledger.Ledger.enter
    entered = []

    def filling(self, *args):
        if entered:
            pages = self.store.rows("PRAGMA page_count")[0][0]
            self.store.rows(f"PRAGMA max_page_count={pages}")
            with self.store.transaction():
                self.store.change("INSERT INTO meta VALUES('filler', ?)", "x" * 100_000)
        entered.append(args)
        enter(self, *args)

    monkeypatch.setattr(ledger.Ledger, "enter", filling)
    with pytest.raises(KvproofError, match=r"no space left on the disk.*findings .* are kept"):
        run(made)
    monkeypatch.setattr(ledger.Ledger, "enter", enter)
    summary = run(Plan(**{**vars(made), "kind": "cases", "budget": 10.0}))
    assert [one.invariant for one in summary.findings] == ["W6"]
    assert summary.recovered > 0
