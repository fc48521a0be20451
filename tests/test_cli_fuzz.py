"""`kvproof fuzz`: options, exit codes, and what a person reads; the campaign itself is a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from kvproof.cli import fuzz
from kvproof.cli.main import app
from kvproof.diff.api import Mismatch, Outcome, Trial
from kvproof.diff.counts import Coverage
from kvproof.diff.findings import Finding, Incident
from kvproof.diff.plan import Status, Summary
from kvproof.diff.store import Store
from kvproof.spec.case import Case
from typer.testing import CliRunner

TRIAL = Trial(case=Case(dims={"NOPE": 4, "WORLD": 1, "RANK": 0}, pool=4, slots=(0,)))
MISMATCH = Mismatch(
    invariant="W6", tensor="kv_buffer", text="a skipped slot is stored", count=4, line="w.py:7"
)
DIFFERS = Outcome(runner="evaluator", status="differs", mismatches=(MISMATCH,))


def finding(job, number=1, **more):
    return Finding(
        **{
            "id": number,
            "writer": job.writer,
            "invariant": "W6",
            "line": "w.py:7",
            "value": "",
            "label": job.label,
            "labels": (job.label,),
            "trial": TRIAL,
            "outcome": DIFFERS,
            "others": (),
            "repr": "again(...)",
            "script": Path("findings/1.py"),
            "shows": True,
            **more,
        }
    )


def incident(job, **more):
    return Incident(
        **{
            "writer": job.writer,
            "label": job.label,
            "kind": "crashed",
            "how": "SIGSEGV",
            "trial": TRIAL,
            "repeats": True,
            **more,
        }
    )


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs the command line with a campaign of given results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*args, findings=(), incidents=(), **more):
        plans = []

        def campaign(plan, observe):
            plans.append(plan)
            status = Status(cases=12, seconds=2.0, rate=6.0, findings=1, incidents=0, writer="w")
            observe(status)
            job = plan.jobs[0]
            return Summary(
                **{
                    "status": status,
                    "total": 34,
                    "recovered": 0,
                    "resumed": 0,
                    "findings": tuple(make(job) for make in findings),
                    "incidents": tuple(make(job) for make in incidents),
                    "coverage": Coverage({"class": {"w": {"rows: 1": 5}}}),
                    "notes": {"left out: too wide": ("w",)},
                    "reached": 3,
                    "jobs": len(plan.jobs),
                    **more,
                }
            )

        monkeypatch.setattr(fuzz, "run", campaign)
        got = CliRunner().invoke(app, ["fuzz", *args])
        got.plan = plans[0] if plans else None
        return got

    return call


def test_nothing_found_exits_0(run):
    got = run()
    assert got.exit_code == 0
    assert "12 cases in 2.0 s (6 a second), 34 in all; 3 of" in got.stdout
    assert "left out: too wide" in got.stdout
    assert "rows: 1 5" in got.stdout
    assert "✘" not in got.stdout
    assert got.stderr.startswith("running 2 writers in ")


def test_a_finding_exits_1_and_says_how_to_see_it_again(run):
    got = run(findings=[finding])
    assert got.exit_code == 1
    assert "✘ W6 skip set: a reserved slot is stored" in got.stdout
    assert "a skipped slot is stored" in got.stdout
    assert "again(...)" in got.stdout
    assert "python findings/1.py" in got.stdout


def test_findings_that_differ_in_their_case_alone_are_told_once(run):
    got = run(findings=[finding, lambda job: finding(job, 2, script=Path("findings/2.py"))])
    assert got.stdout.count("✘") == 1
    assert "findings/2.py" in got.stdout
    two = run(findings=[finding, lambda job: finding(job, 2, invariant="W10", value="NaN")])
    assert two.stdout.count("✘") == 2
    assert "W10 encoding of NaN" in two.stdout


def test_a_finding_that_shows_no_more_exits_0(run):
    got = run(findings=[lambda job: finding(job, shows=False)])
    assert got.exit_code == 0
    assert "No longer seen" in got.stdout
    assert "✘" not in got.stdout


def test_only_undecided_exits_3(run):
    got = run(incidents=[incident])
    assert got.exit_code == 3
    assert "crashed: SIGSEGV" in got.stdout
    assert run(incidents=[incident], findings=[finding]).exit_code == 1


def test_a_crash_that_did_not_happen_again_exits_0(run):
    got = run(incidents=[lambda job: incident(job, repeats=False)])
    assert got.exit_code == 0
    assert "not when it was run again" in got.stdout


def test_what_was_taken_over_is_told(run):
    assert "went on with" not in run().stdout
    got = run(resumed=1000, recovered=7)
    assert "went on with a run that was stopped after 1,000 cases; 7 more" in got.stdout


def test_the_budget_is_60_seconds_unless_one_is_given(run):
    assert (run().plan.kind, run().plan.budget) == ("seconds", 60.0)
    assert (run("--seconds", "5").plan.kind, run("--seconds", "5").plan.budget) == ("seconds", 5.0)
    assert (run("--cases", "5").plan.kind, run("--cases", "5").plan.budget) == ("cases", 5.0)


@pytest.mark.parametrize(
    ("args", "told"),
    (
        (("--seconds", "1", "--cases", "1"), "exclude each other"),
        (("--cases", "0"), "--cases: 0 is not above 0"),
        (("--seconds", "-1"), "--seconds: -1 is not above 0"),
        (("--workers", "0"), "--workers: 0 is not above 0"),
        (("--limit", "0"), "--limit: 0 is not above 0"),
        (("--device", "tpu"), "--device: unknown device 'tpu' - use cpu or cuda"),
        (("--writer", "w"), "--writer: no writer 'w' - use one of write_rows"),
        (("nothing==1",), "unknown engine 'nothing'"),
        (("gone.py::f", "--contract", "mla-row"), "gone.py"),
    ),
)
def test_wrong_usage_is_one_line_and_exits_2(run, args, told):
    got = run(*args)
    assert got.exit_code == 2
    assert told in got.stderr
    assert len(got.stderr.splitlines()) == 1
    assert got.plan is None


def test_a_writer_is_chosen_by_name(run):
    got = run("--writer", "write_rows", "--dir", "here", "--workers", "3")
    assert {job.writer for job in got.plan.jobs} == {"write_rows"}
    assert (got.plan.folder, got.plan.workers) == (Path("here"), 3)
    assert run().plan.folder == Path(".kvproof/fuzz-examples")


def test_ctrl_c_is_one_line_that_says_how_to_go_on(run, monkeypatch):
    got = run()
    assert got.exit_code == 0

    def interrupted(plan, observe):
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz, "run", interrupted)
    got = CliRunner().invoke(app, ["fuzz"])
    assert got.exit_code == 2
    assert got.stderr.splitlines()[-1].startswith("kvproof: interrupted - run the same command")


def test_a_folder_of_another_target_is_one_line(tmp_path):
    Store(tmp_path / "dir", {"target": "sglang==0.5.23"}).close()
    got = CliRunner().invoke(app, ["fuzz", "--dir", str(tmp_path / "dir"), "--cases", "1"])
    assert got.exit_code == 2
    assert "it holds a campaign on sglang==0.5.23 - name another --dir" in got.stderr
