"""The reports of `kvproof check` for other programs: JUnit XML, SARIF and Markdown."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from kvproof.cli import sarif, statement
from kvproof.spec.verdict import Verdict

from .fake_check import half, proved, report, result
from .report_runs import ZERO_ROPE, of, run
from .sarif_schema import faults

__all__ = ["run"]

FILES = ("--json=o.json", "--junit=o.xml", "--sarif=o.sarif", "--markdown=o.md")


def log() -> dict:
    """Return the one run of the SARIF log, which must be valid."""
    document = json.loads(Path("o.sarif").read_text())
    assert faults(document) == []
    (found,) = document["runs"]
    return found


def test_every_report_is_written_by_one_run(run):
    assert run(*FILES).exit_code == 1
    assert [path.name for path in sorted(Path().iterdir())] == [
        *(".kvproof", "o.json", "o.md", "o.sarif", "o.xml"),
    ]
    location = json.loads(Path("o.json").read_text())["results"][0]["location"]
    assert location["file"] == ZERO_ROPE
    assert (location["base"], location["line"]) == ("repository", 59)
    assert location["code"].startswith("tl.store(cache + slot[:, None] * cache_stride")


@pytest.mark.parametrize("option", ("--json", "--junit", "--sarif", "--markdown"))
def test_a_place_that_cannot_be_written_stops_before_the_work(run, option):
    Path("folder").mkdir()
    Path("file").write_text("")
    for place, why in (("folder", "Is a directory"), ("file/x/y", "Not a directory")):
        got = run(f"{option}={place}")
        assert got.exit_code == 2
        assert got.stderr == (
            f"kvproof: {option}: cannot write {place} ({why}) - name another place\n"
        )
        assert got.fake.asked == []
    assert run(f"{option}=new/folder/file").exit_code == 1
    assert Path("new/folder/file").stat().st_size > 100


def test_two_reports_in_one_place_are_refused(run):
    assert "--sarif: --json goes to x too" in run("--json=./x", "--sarif=x").stderr
    assert "--markdown: --junit goes to - too" in run("--junit=-", "--markdown=-").stderr


def test_standard_output_can_take_one(run):
    assert run("--sarif=-").stdout.startswith('{\n  "$schema": "https://docs.oasis-open.org/')
    assert run("--markdown=-").stdout.startswith("### ✘ kvproof: 1 broken promise in `examples`")


def test_an_interrupted_check_writes_nothing(run):
    def answer(job):
        raise KeyboardInterrupt

    got = run(*FILES, answer=answer)
    assert (got.exit_code, got.stderr.splitlines()[-1]) == (2, "kvproof: interrupted")
    assert list(Path().iterdir()) == []


# --- SARIF --------------------------------------------------------------------------------------


def test_sarif_names_the_kernel_line_once_for_all_configurations(run):
    run("--sarif=o.sarif")
    found = log()
    (one,) = found["results"]
    rule = found["tool"]["driver"]["rules"][one["ruleIndex"]]
    assert (one["ruleId"], rule["id"], rule["name"]) == ("W6", "W6", "SkipSet")
    assert rule["help"]["text"].startswith("A slot of the skip set causes no store in any segment.")
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == [
        f"W{number}" for number in range(1, 18)
    ]
    (location,) = one["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"] == {"uri": ZERO_ROPE, "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 59}
    assert location["logicalLocations"][0]["name"] == "a_kernel"
    text = one["message"]["text"]
    assert text.startswith(
        "W6 skip set: a reserved slot is stored by write_rows_without_skip.\n"
        "Asked: virtual slot 0 is never stored.\n"
        "At: slot 0, row 0, column 0; nope 512 bf16, no rope, i64 slots.\n"
    )
    assert "Seen in every configuration.\n" in text
    assert text.endswith("kvproof replay .kvproof/W6-write_rows_without_skip-1.json")
    assert "originalUriBaseIds" in found
    assert "suppressions" not in one


def test_sarif_of_what_is_proved_has_no_result(run):
    run("--sarif=o.sarif", answer=proved)
    assert log()["results"] == []
    assert log()["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(
    ("verdict", "level"),
    (
        (Verdict.REFUTED, "error"),
        (Verdict.UNKNOWN, "warning"),
        (Verdict.UNSUPPORTED, "warning"),
        (Verdict.VACUOUS, "warning"),
    ),
)
def test_the_level_says_what_is_broken_and_what_is_open(run, verdict, level):
    run("--sarif=o.sarif", answer=of(verdict))
    assert {one["level"] for one in log()["results"]} == {level}


def test_what_could_not_be_checked_is_a_notification(run):
    run("--sarif=o.sarif", answer=lambda job: report(job, error="it does not compile"))
    (invocation,) = log()["invocations"]
    assert invocation["executionSuccessful"] is False
    told = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert told[0].startswith("write_rows: it does not compile (nope 512 bf16")


def prints() -> set[str]:
    return {one["partialFingerprints"][sarif.FINGERPRINT] for one in log()["results"]}


def test_a_fingerprint_follows_the_statement_not_its_line_nor_the_ir(run):
    run("--sarif=o.sarif", answer=of(Verdict.REFUTED, ir_hash="a"))
    before = prints()
    run("--sarif=o.sarif", answer=of(Verdict.REFUTED, ir_hash="b", seconds=9.0))
    assert prints() == before
    moved = Path("moved.py")
    moved.write_text("x = 1\ny = 2\n")
    run("--sarif=o.sarif", answer=of(Verdict.REFUTED, source="moved.py:1"))
    first = prints()
    assert first.isdisjoint(before)
    moved.write_text("# a line above\nx  =  1\ny = 2\n")
    statement._read.cache_clear()
    run("--sarif=o.sarif", answer=of(Verdict.REFUTED, source="moved.py:2"))
    assert prints() == first
    run("--sarif=o.sarif", answer=of(Verdict.REFUTED, source="moved.py:3"))
    assert prints().isdisjoint(first)


def test_the_same_statement_twice_has_two_fingerprints(run):
    Path("twice.py").write_text("x = 1\nx = 1\n")

    def answer(job):
        here = [
            result(job, "W6", Verdict.REFUTED, source=f"twice.py:{line}", writer="w")
            for line in (1, 2)
        ]
        return report(job, *here)

    run("--sarif=o.sarif", answer=answer)
    assert len(prints()) == len(log()["results"])


def test_a_file_outside_every_repository_is_named_in_full(run, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "a b.py"
    other.write_text("x = 1\n")
    run("--sarif=o.sarif", answer=of(Verdict.REFUTED, source=f"{other}:1"))
    (place,) = {json.dumps(one["locations"][0]["physicalLocation"]) for one in log()["results"]}
    assert json.loads(place)["artifactLocation"] == {"uri": other.as_uri()}
    assert "originalUriBaseIds" not in log()


# --- JUnit --------------------------------------------------------------------------------------


def cases() -> dict[str, list]:
    root = JUnitXml.fromfile("o.xml")
    return {f"{case.classname} {case.name}": case.result for suite in root for case in suite}


def test_junit_has_a_case_for_each_invariant_and_configuration(run):
    run("--junit=o.xml")
    found = cases()
    assert len(found) == 2 * 2 * 8
    broken = {name: told for name, told in found.items() if told}
    assert len(broken) == 8
    ((told,),) = [
        told
        for name, told in broken.items()
        if name.endswith("W6 skip set [nope 512 bf16, no rope, i64 slots]")
    ]
    assert isinstance(told, Failure)
    assert told.message == f"{ZERO_ROPE}:59: W6 a reserved slot is stored"
    assert "kvproof replay .kvproof/W6-write_rows_without_skip-1.json" in told.text
    root = JUnitXml.fromfile("o.xml")
    assert (root.tests, root.failures, root.errors) == (32, 8, 0)


def test_junit_keeps_to_the_schema_of_jenkins(run):
    run("--junit=o.xml", answer=lambda job: report(job, *half(job).results, error="why"))
    allowed = {
        "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
        "testsuite": (
            {"name", "time", "tests", "failures", "errors", "skipped"},
            {"properties", "testcase"},
        ),
        "testcase": ({"name", "time", "classname"}, {"failure", "error", "skipped"}),
        "properties": (set(), {"property"}),
        "property": ({"name", "value"}, set()),
        "failure": ({"type", "message"}, set()),
        "error": ({"type", "message"}, set()),
    }
    root = ET.parse("o.xml").getroot()  # noqa: S314 - own file
    assert {one.tag for one in root.iter()} == set(allowed)
    for one in root.iter():
        attributes, children = allowed[one.tag]
        assert set(one.attrib) <= attributes
        assert {child.tag for child in one} <= children
        assert re.fullmatch(r"\d{1,3}(\.\d{0,3})?", one.get("time", "0"))


@pytest.mark.parametrize("verdict", (Verdict.UNKNOWN, Verdict.UNSUPPORTED, Verdict.VACUOUS))
def test_junit_calls_what_is_open_an_error(run, verdict):
    run("--junit=o.xml", answer=of(verdict, detail="it gave up"))
    assert {type(one) for (one,) in cases().values()} == {Error}
    assert {one.type for (one,) in cases().values()} == {verdict.value}


def test_junit_holds_what_xml_cannot(run):
    run("--junit=o.xml", answer=lambda job: report(job, error="bell \x07 <&> é"))
    assert {one.message for (one,) in cases().values()} == {"bell � <&> é"}
    assert all(" capture [" in name for name in cases())


@pytest.mark.parametrize(("option", "kind"), (((), Skipped), (("--strict",), Failure)))
def test_a_claim_is_skipped_unless_strict(run, option, kind):
    def answer(job):
        claims = job.instance.contract.claims
        return report(job, result(job, "W6", Verdict.REFUTED, statement=claims[0].sentence))

    args = ("examples/my_writer.py::f", "--contract=mla-row-sharded")
    Path("examples").mkdir()
    Path("examples/my_writer.py").write_text(
        "def f(kv_buffer, loc, cache_k_nope, cache_k_rope, world, rank): ...\n"
    )
    bind = ("--bind=WORLD=world", "--bind=RANK=rank")
    run(*args, *bind, *option, "--junit=o.xml", "--sarif=o.sarif", answer=answer)
    assert {type(one) for (one,) in cases().values()} == {kind}
    assert {one["level"] for one in log()["results"]} == {"note"}
