"""`kvproof docs` on the command line: whole folders or none, one line for a fault, campaigns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kvproof.checkers import child
from kvproof.checkers.check import JobReport
from kvproof.cli import checking
from kvproof.cli.main import app
from kvproof.cli.pages.runs import Runs, read_runs
from kvproof.cli.pages.writing import check_place, new_folder, write_files
from kvproof.cli.request import Request
from kvproof.diff.store import Store
from kvproof.spec.errors import KvproofError
from kvproof.spec.verdict import Verdict
from typer.testing import CliRunner

from .fake_check import FakeChecker, result
from .page_reports import NoChild


class Quiet(NoChild):
    """A child process that answers nothing, in a `with` block."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs `kvproof docs` on answers from a table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(child, "Child", Quiet)

    def answer(job):
        verdict = Verdict.PROVED if job.function == "write_rows" else Verdict.REFUTED
        return JobReport(job, (result(job, "W6", verdict),))

    def call(*args, answer=answer):
        monkeypatch.setattr(checking, "open_checker", lambda *_, **__: FakeChecker(answer))
        return CliRunner().invoke(app, ["docs", *args])

    return call


def test_pages_are_written_whatever_their_verdicts_are(run):
    got = run("--out", "here")
    assert got.exit_code == 0, got.stderr
    assert got.stdout == "wrote 2 pages and an index: here/index.html\n"
    assert "drawing pages" in got.stderr
    names = {path.name for path in Path("here").iterdir()}
    assert {"index.html", "index.md", "write-rows.html", "write-rows.md"} <= names
    assert "W6-write_rows_without_skip-1.json" in names
    assert [path.name for path in Path().iterdir()] == ["here"]


def test_the_default_place_is_named_after_the_target(run):
    assert run().exit_code == 0
    assert Path(".kvproof/docs-examples/index.html").is_file()


def test_a_folder_of_pages_is_replaced_as_a_whole(run):
    run("--out", "here")
    stale = Path("here/stale.html")
    stale.write_text(Path("here/index.html").read_text())
    assert run("--out", "here").exit_code == 0
    assert not stale.exists()


FAULTS = (
    (("--out", "file"), "kvproof: --out file: it is a file"),
    (("--out", "file/below"), "kvproof: --out file/below: "),
    (("--out", "mine"), "kvproof: --out mine: it holds notes.txt, which `kvproof docs` did not"),
    (("--out", "new", "--campaign", "none"), "kvproof: --campaign none: no campaign is there"),
    (("nothing==1", "--out", "new"), "kvproof: target 'nothing==1': unknown engine 'nothing'"),
    (("a.py::f", "--out", "new"), "kvproof: a.py: "),
    (("--out", "new", "--contract", "mla-row"), "kvproof: target 'examples': --contract is for"),
)


@pytest.mark.parametrize(("args", "line"), FAULTS)
def test_bad_input_is_one_line_and_writes_nothing(run, args, line):
    Path("file").write_text("text")
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("text")
    got = run(*args)
    assert got.exit_code == 2
    (said,) = got.stderr.splitlines()
    assert said.startswith(line)
    assert sorted(path.name for path in Path().iterdir()) == ["file", "mine"]
    assert Path("mine/notes.txt").read_text() == "text"
    assert Path("file").read_text() == "text"


def test_a_fault_of_the_check_leaves_old_pages(run):
    run("--out", "here")
    before = {path.name: path.read_bytes() for path in Path("here").iterdir()}

    def interrupted(job):
        raise KeyboardInterrupt

    got = run("--out", "here", answer=interrupted)
    assert (got.exit_code, got.stderr.splitlines()[-1]) == (2, "kvproof: interrupted")
    assert {path.name: path.read_bytes() for path in Path("here").iterdir()} == before
    assert [path.name for path in Path().iterdir()] == ["here"]


@pytest.mark.parametrize("fault", (KeyboardInterrupt, KvproofError("no"), OSError(28, "full")))
def test_an_interrupted_writer_leaves_the_place_as_it_was(tmp_path, fault):
    place = tmp_path / "pages"
    with new_folder(place) as made:
        write_files(made, {"a.html": "old"})

    def write():
        with new_folder(place) as made:
            write_files(made, {"a.html": "new", "b.html": "new"})
            raise fault

    with pytest.raises((KeyboardInterrupt, KvproofError)):
        write()
    assert [(path.name, path.read_text()) for path in place.iterdir()] == [("a.html", "old")]
    assert list(tmp_path.iterdir()) == [place]
    with new_folder(place) as made:
        write_files(made, {"b.html": "new"})
    assert [(path.name, path.read_text()) for path in place.iterdir()] == [("b.html", "new")]


def test_a_full_disk_is_said_so(tmp_path):
    with pytest.raises(KvproofError, match="no space left"), new_folder(tmp_path / "a"):
        raise OSError(28, os.strerror(28))


def test_an_empty_folder_is_a_place(tmp_path):
    (tmp_path / "empty").mkdir()
    check_place(tmp_path / "empty")
    (tmp_path / "empty" / "sub").mkdir()
    with pytest.raises(KvproofError, match="it holds sub"):
        check_place(tmp_path / "empty")


REQUEST = Request()
IDENTITY = {**REQUEST.to_json(), "device": "cpu"}


@pytest.fixture
def campaign(tmp_path):
    """Return the folder of a small campaign: 12 cases of one writer."""
    folder = tmp_path / "campaign"
    with Store(folder, IDENTITY) as store:
        for label, cases in (("one", 9), ("two", 3), ("three", 0)):
            store.change("INSERT INTO jobs(writer, label, cases) VALUES('w', ?, ?)", label, cases)
        for kind, name, count in (
            ("class", "rows: 1", 10),
            ("class", "layout: split", 4),
            ("class", "slots: another rank's", 5),
            ("clause", "skip: virtual slot 0 is never stored", 6),
            ("clause", "given: rows that are not skipped have distinct slots", 2),
        ):
            store.change("INSERT INTO coverage VALUES(?, 'w', ?, ?)", kind, name, count)
    return folder


def test_runs_are_counted_for_what_they_speak_of(campaign):
    runs = read_runs(campaign, REQUEST)["w"]
    assert (runs.cases, runs.reached, runs.device) == (12, 2, "cpu")
    told = {name: runs.told(name) for name in ("W1", "W3", "W5", "W6", "W12", "W14", "W15")}
    assert told == {
        "W1": "12 cases, no finding",
        "W3": "cases by layout: split 4, no finding",
        "W5": "2 cases with distinct slots, no finding",
        "W6": "6 cases that skip a row, no finding",
        "W12": "5 cases with rows of another rank, no finding",
        "W14": "not run",
        "W15": "not run",
    }
    assert runs.families()[1] == ("rows", [("1", 10)])


def test_a_writer_without_cases_was_not_run():
    assert Runs().told("W1") == "not run"
    assert Runs(cases=3).told("W6") == "not run"


def test_runs_stand_in_the_pages(run, campaign):
    with Store(campaign, IDENTITY) as store:
        store.change("INSERT INTO jobs(writer, label, cases) VALUES('write_rows', 'one', 1234)")
        store.change("INSERT INTO coverage VALUES('class', 'write_rows', 'rows: 2', 617)")
    assert run("--out", "here", "--campaign", str(campaign)).exit_code == 0
    text = Path("here/write-rows.md").read_text()
    assert "1,234 generated cases on cpu, in 1 configuration;" in text
    assert "| rows | 2 | 617 |" in text
    assert 'width:4.50rem"></span>617' in Path("here/write-rows.html").read_text()
    other = Path("here/write-rows-without-skip.md").read_text()
    assert "Not run: the campaign holds no case of this writer." in other


def test_a_campaign_on_something_else_is_refused(campaign):
    with pytest.raises(KvproofError, match="a campaign on examples, not on sglang==1"):
        read_runs(campaign, Request(target="sglang==1"))


@pytest.mark.parametrize("content", (b"no database", b""))
def test_a_damaged_campaign_is_one_line(campaign, content):
    for path in campaign.iterdir():
        path.unlink()
    (campaign / "campaign.sqlite").write_bytes(content)
    with pytest.raises(KvproofError, match="damaged"):
        read_runs(campaign, REQUEST)
