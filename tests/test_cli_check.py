"""`kvproof check`: exit codes, the report's text and JSON, and what is left on the disk."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import jsonschema
import pytest
from kvproof.cli import checking, files
from kvproof.cli.main import app
from kvproof.spec.verdict import Dropped, Verdict
from typer.testing import CliRunner

from .fake_check import FakeChecker, half, proved, report, result

SCHEMA = json.loads((Path(__file__).parent.parent / "docs" / "report.schema.json").read_text())


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs the command line with a checker that answers from a table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*args, answer=half):
        fake = FakeChecker(answer)
        seen = {}

        def opened(invariants, *, drop):
            seen.update(invariants=invariants, drop=drop)
            return fake

        monkeypatch.setattr(checking, "open_checker", opened)
        got = CliRunner().invoke(app, list(args))
        got.fake, got.seen = fake, seen
        return got

    return call


def undecided(verdict):
    def answer(job):
        return report(job, result(job, "W1", verdict, detail="the solver gave up: timeout"))

    return answer


def test_all_proved_exits_0(run):
    got = run("check", answer=proved)
    assert got.exit_code == 0
    assert "✘" not in got.stdout
    assert got.fake.finished == 1
    assert got.fake.closed


def test_a_refuted_one_exits_1(run):
    got = run("check")
    assert got.exit_code == 1
    assert "✘" in got.stdout


@pytest.mark.parametrize("verdict", (Verdict.UNKNOWN, Verdict.UNSUPPORTED, Verdict.VACUOUS))
def test_an_open_one_exits_3(run, verdict):
    got = run("check", answer=undecided(verdict))
    assert got.exit_code == 3
    assert "the solver gave up: timeout" in got.stdout


def test_a_job_that_fails_exits_3_and_is_named(run):
    def answer(job):
        if job.instance.config["dtype"] == "u8":
            return report(job, error="write_rows: the kernel does not compile")
        return proved(job)

    got = run("check", answer=answer)
    assert got.exit_code == 3
    assert "Not checked" in got.stdout
    assert "write_rows: the kernel does not compile" in got.stdout


@pytest.mark.parametrize(("option", "code"), (((), 0), (("--strict",), 3)))
def test_a_note_of_the_capture_counts_when_strict(run, option, code):
    got = run(
        "check",
        *option,
        answer=lambda job: report(
            job, result(job, "W1", Verdict.PROVED), notes=("torch itself wrote to kv_buffer",)
        ),
    )
    assert got.exit_code == code
    assert "torch itself wrote to kv_buffer" in got.stdout


def test_a_finding_says_what_where_and_how_to_see_it_again(run):
    lines = run("check").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("✘ W6"))
    text = " ".join(" ".join(lines[at:]).split())
    assert "W6 skip set: a reserved slot is stored" in text
    assert "write_rows_without_skip (examples)" in text
    assert "zero_rope.py:59 tl.store(cache + slot[:, None] * cache_stride" in text
    assert "virtual slot 0 is never stored" in text
    assert "slot 0, row 0, column 0; nope 512 bf16, no rope, i64 slots" in text
    assert "evaluator: 512 elements of slot 0 changed · interpreter: confirmed" in text
    assert "0 <= slot; POOL <= 1,024" in text
    assert "every configuration" in text
    assert "kvproof replay .kvproof/W6-write_rows_without_skip-1.json" in text


def test_one_finding_is_told_once_for_all_its_configurations(run):
    got = run("check")
    assert got.stdout.count("✘ W6") == 1
    files_made = sorted(path.name for path in Path(".kvproof").iterdir())
    assert files_made == ["W6-write_rows_without_skip-1.json"]


def test_two_statements_are_two_findings(run):
    def answer(job):
        at = "kernel.py:7" if job.instance.config["loc_dtype"] == "i32" else "kernel.py:9"
        return report(job, result(job, "W6", Verdict.REFUTED, source=at))

    got = run("check", answer=answer)
    assert got.stdout.count("✘ W6") == 4  # two writers
    assert len(list(Path(".kvproof").iterdir())) == 4


def test_what_an_assumption_keeps_out_is_told_and_what_is_not_needed_is_not(run):
    text = " ".join(run("check", answer=proved).stdout.split())
    assert 'without "0 <= slot":' in text
    assert "slot -1 of a pool of 1 places breaks W1" in text
    assert 'without "slot < POOL' not in text


def test_of_what_an_assumption_keeps_out_a_store_is_told_before_a_wrap(run):
    def answer(job):
        wrap = (Dropped("slots>=0", Verdict.REFUTED, "slot -99999 wraps"),)
        store = (Dropped("slots>=0", Verdict.REFUTED, "slot -1 is stored"),)
        return report(
            job,
            result(job, "W4", Verdict.PROVED, dropped=wrap),
            result(
                job, "W6", Verdict.PROVED, dropped=store if job.function == "write_rows" else ()
            ),
        )

    text = " ".join(run("check", answer=answer).stdout.split())
    assert "write_rows: slot -1 is stored (W4, W6)" in text
    assert "write_rows_without_skip: slot -99999 wraps (W4)" in text


def test_the_safe_range_of_a_width_finding_is_told(run):
    def answer(job):
        return report(job, result(job, "W4", Verdict.REFUTED, safe_up_to=3728270, safe_of="slot"))

    assert "up to slot 3,728,270" in run("check", answer=answer).stdout


def test_a_run_that_disagrees_is_told_as_a_fault_of_kvproof(run):
    def answer(job):
        said = {"evaluator": "confirmed", "interpreter": "not confirmed"}
        return report(job, result(job, "W6", Verdict.REFUTED, replay=said))

    assert "a fault of kvproof" in " ".join(run("check", answer=answer).stdout.split())
    assert "a fault of kvproof" not in " ".join(run("check").stdout.split())


def test_lines_fit_80_columns_but_for_the_command(run):
    for line in run("check").stdout.splitlines():
        assert len(line) <= 80 or "kvproof replay" in line


def test_a_pipe_gets_no_colours(run):
    assert "\x1b" not in run("check").stdout


def test_an_encoding_without_signs_gets_letters(run, monkeypatch):
    monkeypatch.setattr("kvproof.cli.layout.fancy", lambda console: False)
    monkeypatch.setattr("kvproof.cli.render.fancy", lambda console: False)
    got = run("check")
    assert got.stdout.isascii()
    assert "X W6 skip set" in got.stdout


def test_the_options_reach_the_checker(run):
    seen = run("check", "--invariant", "w6", "--invariant", "W1,W4", "--no-drop").seen
    assert seen == {"invariants": frozenset({"W1", "W4", "W6"}), "drop": False}
    assert run("check").seen == {"invariants": None, "drop": True}


@pytest.mark.parametrize(
    ("name", "said"), (("W99", "unknown invariant 'W99'"), ("W17", "W17 is not decided by a check"))
)
def test_an_invariant_that_a_check_cannot_decide_is_refused(run, name, said):
    got = run("check", "--invariant", name)
    assert (got.exit_code, got.fake.asked) == (2, [])
    assert said in got.stderr
    assert len(got.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("answer", (proved, half, undecided(Verdict.UNKNOWN)))
def test_the_json_keeps_its_schema(run, answer):
    got = run("check", "--json", "deep/report.json", answer=answer)
    data = json.loads(Path("deep/report.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["schema"] == "kvproof.report/1"
    assert data["exit_code"] == got.exit_code
    assert data["counts"]["PROVED"] == sum(r["verdict"] == "PROVED" for r in data["results"])


def test_the_schema_refuses_a_proof_with_a_counterexample(run):
    run("check", "--json", "report.json")
    data = json.loads(Path("report.json").read_text())
    broken = next(item for item in data["results"] if item["verdict"] == "REFUTED")
    assert broken["case_file"] == ".kvproof/W6-write_rows_without_skip-1.json"
    broken["verdict"] = "PROVED"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_json_on_standard_output_stands_alone(run):
    got = run("check", "--json", "-")
    jsonschema.validate(json.loads(got.stdout), SCHEMA)
    assert "✘ W6" in got.stderr


def test_a_full_disk_is_one_line_and_leaves_no_half_report(run, monkeypatch):
    Path("report.json").write_text("old")
    broken = os.fsync

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    got = run("check", "--json", "report.json", answer=proved)
    assert got.exit_code == 2
    assert got.stderr.splitlines()[-1].startswith("kvproof: report.json: no space left on the disk")
    assert "Traceback" not in got.stderr
    assert "2 writers" in got.stdout  # what was found is shown all the same
    assert Path("report.json").read_text() == "old"
    assert [path.name for path in Path().iterdir()] == ["report.json"]
    monkeypatch.setattr(files.os, "fsync", broken)
    assert run("check", "--json", "report.json", answer=proved).exit_code == 0
    assert Path("report.json").read_text() != "old"


def test_a_place_that_cannot_be_written_is_one_line(run):
    Path("file").write_text("")
    got = run("check", "--json", "file/report.json", answer=proved)
    assert got.exit_code == 2
    assert got.stderr == (
        "kvproof: --json: cannot write file/report.json (Not a directory) - name another place\n"
    )
    assert got.fake.asked == []  # said before the work, not after it


def test_a_crash_is_no_verdict(run):
    def answer(job):
        raise ZeroDivisionError("oops")

    got = run("check", answer=answer)
    assert got.exit_code == 2
    assert got.stderr.splitlines()[-1].startswith("kvproof: internal error: ZeroDivisionError")


def test_progress_in_a_pipe_is_one_line_for_each_writer(run):
    told = [line for line in run("check").stderr.splitlines() if line.startswith("checking")]
    assert told == [
        "checking write_rows in 8 configurations",
        "checking write_rows_without_skip in 8 configurations",
    ]
