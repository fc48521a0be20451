"""Counterexample files: written by `check`, read back by `replay`, refused when they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kvproof.cli import checking
from kvproof.cli.main import app
from kvproof.spec.case import Case
from kvproof.spec.verdict import Verdict
from typer.testing import CliRunner

from .fake_check import CASE, FakeChecker, half, report, result

FILE = ".kvproof/W6-write_rows_without_skip-1.json"


@pytest.fixture
def written(monkeypatch, tmp_path):
    """Leave the counterexample of a check in the working folder, and return its content."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(checking, "open_checker", lambda invariants, *, drop: FakeChecker(half))
    assert CliRunner().invoke(app, ["check"]).exit_code == 1
    return json.loads(Path(FILE).read_text())


def said(outcome, text=""):
    return {"outcome": outcome, "text": text}


def replay(monkeypatch, outcomes, file=FILE):
    asked = []

    def run(job, case, invariant, statement):
        asked.append((job, case, invariant, statement))
        return outcomes

    monkeypatch.setattr(checking, "run_case", run)
    got = CliRunner().invoke(app, ["replay", file])
    got.asked = asked
    return got


@pytest.mark.parametrize(
    ("outcomes", "code", "told"),
    (
        (("confirmed", "confirmed"), 1, "confirmed: the contract is broken"),
        (("confirmed", "skipped"), 1, "confirmed: the contract is broken"),
        (("not confirmed", "not confirmed"), 0, "not confirmed: the call keeps the contract now"),
        (("not confirmed", "skipped"), 0, "not confirmed: the call keeps the contract now"),
        (("skipped", "skipped"), 3, "no runner could run it"),
    ),
)
def test_the_exit_code_says_whether_it_is_confirmed(written, monkeypatch, outcomes, code, told):
    names = ("evaluator", "interpreter")
    table = {name: said(text, "seen") for name, text in zip(names, outcomes, strict=True)}
    got = replay(monkeypatch, table)
    assert got.exit_code == code
    assert told in got.stdout
    assert f"evaluator     {outcomes[0]}: seen" in got.stdout


def test_what_was_written_is_what_is_run(written, monkeypatch):
    got = replay(monkeypatch, {"evaluator": said("confirmed")})
    job, case, invariant, statement = got.asked[0]
    assert (job.writer, job.label) == (written["writer"], written["label"])
    assert (case, invariant) == (CASE, "W6")
    assert statement == "virtual slot 0 is never stored"
    assert Case.from_json(written["case"]) == CASE


def test_a_case_of_many_rows_is_told_in_one_screen(written, monkeypatch):
    written["case"]["slots"] = list(range(1 << 14))
    Path(FILE).write_text(json.dumps(written))
    assert len(replay(monkeypatch, {"evaluator": said("confirmed")}).stdout) < 2000


def change(data, **fields):
    made = {**data, **fields}
    return json.dumps({key: value for key, value in made.items() if value is not ...})


@pytest.mark.parametrize(
    ("fields", "told"),
    (
        ({"schema": "kvproof.case/2"}, "its schema is 'kvproof.case/2', not 'kvproof.case/1'"),
        ({"schema": ...}, "it names no schema"),
        ({"target": ...}, "it has no 'target'"),
        ({"writer": ...}, "it has no 'writer'"),
        ({"case": ...}, "it has no 'case'"),
        ({"case": 3}, "the file is damaged"),
        ({"case": {}}, "the file is damaged"),
        ({"writer": "another"}, "no writer 'another'"),
        ({"label": "nope 1"}, "with configuration 'nope 1'"),
        ({"invariant": "W99"}, "unknown invariant 'W99'"),
        ({"target": "gone.py::f", "contract": "mla-row"}, "gone.py: cannot read the file"),
        ({"target": "other==1.0"}, "unknown engine 'other'"),
    ),
)
def test_a_file_that_does_not_fit_is_one_line(written, monkeypatch, fields, told):
    Path("changed.json").write_text(change(written, **fields))
    got = replay(monkeypatch, {}, "changed.json")
    assert (got.exit_code, got.stdout, got.asked) == (2, "", [])
    assert told in got.stderr
    assert len(got.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ("", "{", "[]", "null", '{"schema"'))
def test_a_damaged_file_is_one_line(written, monkeypatch, text):
    Path("damaged.json").write_text(text)
    got = replay(monkeypatch, {}, "damaged.json")
    assert got.exit_code == 2
    assert got.stderr.startswith("kvproof: damaged.json: the file is damaged")


def test_a_missing_file_is_one_line(written, monkeypatch):
    got = replay(monkeypatch, {}, "gone.json")
    assert got.exit_code == 2
    assert "gone.json: cannot read the file (No such file or directory)" in got.stderr


def test_a_case_without_a_dimension_is_refused(written, monkeypatch):
    del written["case"]["dims"]["NOPE"]
    Path(FILE).write_text(json.dumps(written))
    got = replay(monkeypatch, {})
    assert (got.exit_code, got.asked) == (2, [])
    assert "its case has no dimension NOPE" in got.stderr


def test_a_finding_without_a_case_names_the_check_instead(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def answer(job):
        return report(job, result(job, "W6", Verdict.REFUTED, case=None))

    fake = FakeChecker(answer)
    monkeypatch.setattr(checking, "open_checker", lambda invariants, *, drop: fake)
    got = CliRunner().invoke(app, ["check"])
    assert "kvproof check --invariant W6" in got.stdout
    assert not Path(".kvproof").exists()
