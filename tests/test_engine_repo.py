"""The plugin in the repository of a fictitious engine: reports, and known faults."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from .engine_repo import CONTRACTS, LINK, check_json, engine
from .sarif_schema import faults

__all__ = ["engine"]

pytest_plugins = ("pytester",)

FILES = ("--kvproof-json=o.json", "--kvproof-sarif=o.sarif", "--kvproof-markdown=o.md")
#: Reports of the repository, by the options of the run: each run serves several tests.
RUNS: dict[tuple[str, ...], dict[str, str]] = {}


@pytest.fixture
def reports(engine, pytester):
    """Return a function that returns what a run wrote, its output under "out"."""

    def read(*args):
        if args not in RUNS:
            done = engine(CONTRACTS, *FILES, "--junitxml=o.xml", *args)
            done.assert_outcomes(passed=1, failed=2, xfailed=1)
            names = ("o.json", "o.sarif", "o.md", "o.xml")
            found = {name: (pytester.path / name).read_text() for name in names}
            RUNS[args] = {**found, "out": done.stdout.str()}
        return RUNS[args]

    return read


def test_sarif_points_at_the_repository_and_suppresses_what_is_known(reports):
    document = json.loads(reports()["o.sarif"])
    assert faults(document) == []
    (run,) = document["runs"]
    broken, known = run["results"]
    assert (broken["ruleId"], broken["level"], known["ruleId"]) == ("W1", "error", "W6")
    for one in (broken, known):
        place = one["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "engine/faulty.py", "uriBaseId": "%SRCROOT%"}
        assert place["region"]["startLine"] == 17
    assert "suppressions" not in broken
    (one,) = known["suppressions"]
    assert one["justification"] == f"stores padding: {LINK}"
    assert known["message"]["text"].endswith(
        "Reproduce: pytest 'tests/test_contracts.py::TestCache::test_faulty[W6-bf16-i64]'"
    )


def test_the_summary_tells_broken_known_and_mended_apart(reports):
    text = reports()["o.md"]
    order = [
        "### ✘ kvproof: 1 broken promise, 1 known fault, 1 mended in `contract tests`",
        "**Assuming** `",
        "| writer | n | W1 | W6 |",
        "| `faulty.py::write_rows` | 1 | ✘ | ✘ |",
        "| `good.py::write_rows` | 1 | ✔ | ✔ |",
        "#### ✘ W1 frame: a byte outside the addressed segments is stored",
        "`engine/faulty.py:17`: `tl.store(cache + slot * cache_stride + column, element)`",
        "- reproduce: `pytest 'tests/test_contracts.py::TestCache::test_faulty[W1-bf16-i64]'`",
        "#### ✘ Known faults that do not show any more",
        "- `tests/test_contracts.py::test_good[W6-bf16-i64]`: mended?",
        "<details><summary>Known fault: W6 skip set",
        f"- known: stores padding: {LINK}",
    ]
    at = [text.find(part) for part in order]
    assert -1 not in at, order[at.index(-1)]
    assert at == sorted(at)


def test_json_and_junit_carry_the_verdict_the_line_and_the_reason(reports):
    found = reports()
    document = json.loads(found["o.json"])
    check_json(document)
    told = {one["id"].partition("::")[2]: one for one in document["tests"]}
    assert told["TestCache::test_faulty[W6-bf16-i64]"] == {
        "id": "tests/test_contracts.py::TestCache::test_faulty[W6-bf16-i64]",
        "verdict": "REFUTED",
        "outcome": "xfailed",
        "known": f"stores padding: {LINK}",
    }
    assert told["test_good[W6-bf16-i64]"]["outcome"] == "failed"
    assert told["test_good[W1-bf16-i64]"]["known"] is None
    cases = {case.get("name"): case for case in ET.fromstring(found["o.xml"]).iter("testcase")}  # noqa: S314 - own file
    broken = cases["test_faulty[W1-bf16-i64]"]
    properties = {one.get("name"): one.get("value") for one in broken.iter("property")}
    assert properties.pop("kvproof_configuration").startswith("bf16, NOPE 64, ")
    assert properties == {
        "kvproof_verdict": "REFUTED",
        "kvproof_writer": "faulty.py::write_rows",
        "kvproof_contract": "mla-row-norope",
        "kvproof_source": "engine/faulty.py:17",
    }
    message = broken.find("failure").get("message")
    assert message.startswith("✘ W1 frame: a byte outside the addressed segments is stored")
    assert cases["test_faulty[W6-bf16-i64]"].find("skipped") is not None
    assert cases["test_good[W1-bf16-i64]"].find("failure") is None


def test_workers_of_xdist_tell_the_same(reports):
    pytest.importorskip("xdist")
    alone, spread = reports(), reports("-p", "xdist", "-n2")

    def results(text):
        return sorted(json.dumps(one) for one in json.loads(text)["runs"][0]["results"])

    assert results(alone["o.sarif"]) == results(spread["o.sarif"])
    told = json.loads(spread["o.json"])
    check_json(told)
    assert {one["id"] for one in told["tests"]} == {
        one["id"] for one in json.loads(alone["o.json"])["tests"]
    }
    assert [one["test"] for one in told["configurations"]] == [
        "tests/test_contracts.py::TestCache::test_faulty",
        "tests/test_contracts.py::test_good",
    ]
    assert "✘ W1 frame: a byte outside the addressed segments is stored" in spread["out"]
    head = [text.partition("#### ")[0] for text in (alone["o.md"], spread["o.md"])]
    assert head[0] == head[1]


@pytest.mark.gpu
def test_runs_of_the_compiled_kernel_are_reported(engine, pytester, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    profile = ("--kvproof-profile=dev", "--kvproof-device=cuda")
    done = engine(CONTRACTS, *FILES, *profile, "-k", "runs")
    done.assert_outcomes(passed=1, failed=1, deselected=4)
    (found,) = json.loads((pytester.path / "o.sarif").read_text())["runs"]
    assert {one["ruleId"] for one in found["results"]} == {"W6"}
    assert all(one["properties"]["replay"]["compiled"] == "confirmed" for one in found["results"])
