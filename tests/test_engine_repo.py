"""The plugin in the repository of a fictitious engine: reports, known faults, and bad input."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from kvproof.cli.plugin import contract_test  # the plugin's tests name it the same way

from .sarif_schema import faults

pytest_plugins = ("pytester",)

EXAMPLE = Path(__file__).parent.parent / "examples" / "my_writer" / "my_writer.py"
SKIP = "    if slot == 0:\n        return\n"
LINK = "https://example.invalid/issues/1"
CONTRACTS = f"""
import pytest
from kvproof.cli.plugin import contract_test

ASKED = dict(
    contract="mla-row-norope",
    dims={{"NOPE": 64}},
    dtypes="bf16",
    slots="i64",
    invariants=("W1", "W6"),
)

@pytest.mark.kvproof_known("W6", reason="stores padding", link="{LINK}")
@contract_test("../engine/faulty.py::write_rows", **ASKED)
def test_faulty(): ...

test_good = contract_test("../engine/good.py::write_rows", known={{"W6": "mended?"}}, **ASKED)
"""
FILES = ("--kvproof-json=o.json", "--kvproof-sarif=o.sarif", "--kvproof-markdown=o.md")
#: Reports of the repository, by the options of the run: each run serves several tests.
RUNS: dict[tuple[str, ...], dict[str, str]] = {}


@pytest.fixture
def engine(pytester, monkeypatch):
    """Make the repository: a right writer, one without the skip, their tests; return its runner."""
    text = EXAMPLE.read_text()
    for folder in (".git", "engine", "tests"):
        (pytester.path / folder).mkdir()
    (pytester.path / "engine" / "good.py").write_text(text)
    (pytester.path / "engine" / "faulty.py").write_text(text.replace(SKIP, ""))
    # Named by hand, so that an older installation beside this tree does not decide what is tested.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def run(body, *args):
        (pytester.path / "tests" / "test_contracts.py").write_text(body)
        options = ("-p", "kvproof.cli.plugin", "-rA", "--strict-markers")
        return pytester.runpytest_subprocess(*options, *args)

    return run


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
        "Reproduce: pytest 'tests/test_contracts.py::test_faulty[W6-bf16-i64]'"
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
        "- reproduce: `pytest 'tests/test_contracts.py::test_faulty[W1-bf16-i64]'`",
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
    told = {one["id"].partition("::")[2]: one for one in document["tests"]}
    assert told["test_faulty[W6-bf16-i64]"] == {
        "id": "tests/test_contracts.py::test_faulty[W6-bf16-i64]",
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


# --- what is refused ----------------------------------------------------------------------------

GPU = """
import torch
from good import store_row

def launch(kv_buffer, loc, cache_k_nope):
    rows, width = cache_k_nope.shape
    if rows:
        store_row[(rows,)](
            kv_buffer, loc, cache_k_nope, kv_buffer.stride(0), cache_k_nope.stride(0), WIDTH=width
        )

def moves(kv_buffer, loc, cache_k_nope):
    launch(kv_buffer, loc.to("cuda"), cache_k_nope)

def insists(kv_buffer, loc, cache_k_nope):
    assert kv_buffer.is_cuda
    launch(kv_buffer, loc, cache_k_nope)

def looks(kv_buffer, loc, cache_k_nope):
    torch.cuda.get_device_capability()
    launch(kv_buffer, loc, cache_k_nope)

def raises(kv_buffer, loc, cache_k_nope):
    raise ValueError("width 64 is not supported")
"""
BAD = """
import pytest
from kvproof.cli.plugin import contract_test

ASKED = dict(contract="mla-row-norope", dims={"NOPE": 64}, dtypes="bf16", invariants="W6")
test_moves = contract_test("../engine/gpu.py::moves", **ASKED)
test_insists = contract_test("../engine/gpu.py::insists", **ASKED)
test_looks = contract_test("../engine/gpu.py::looks", **ASKED)
test_raises = contract_test("../engine/gpu.py::raises", **ASKED)

def marked(*args, **more):
    mark = pytest.mark.kvproof_known(*args, **more)
    return mark(contract_test("../engine/good.py::write_rows", **ASKED))

test_no_id = marked(reason="a", link="b")
test_no_reason = marked("W6", link="b")
test_no_link = marked("W6", reason="a", link=" ")
test_typo = marked("W6", reason="a", link="b", url="c")
test_gone = marked("W7", reason="a", link="b")
other = pytest.mark.kvproof_known("W6", reason="c", link="b")
test_twice = other(marked("W6", reason="a", link="b"))
"""
SAID = {
    "moves": "writer: it asks for a GPU, and a contract test calls it on CPU tensors: "
    "engine/gpu.py:13: moves raises ",
    "insists": "engine/gpu.py:16: insists raises AssertionError - take the device from its tensors",
    "looks": "engine/gpu.py:20: looks raises ",
    "no_id": "mark kvproof_known: it names no test - write kvproof_known('W6', reason=",
    "no_reason": "mark kvproof_known: no reason - write kvproof_known('W6', reason=",
    "no_link": "mark kvproof_known: no link - write kvproof_known('W6', reason=",
    "typo": "mark kvproof_known: unknown argument 'url' - write kvproof_known('W6', reason=",
    "gone": "known['W7']: no test of that id - use an invariant or one of W6-bf16-i",
    "twice": "known['W6']: two reasons - give one",
}


def test_what_cannot_be_tested_is_one_line_at_collection(engine, pytester):
    (pytester.path / "engine" / "gpu.py").write_text(GPU)
    done = engine(BAD, "--continue-on-collection-errors")
    done.assert_outcomes(errors=len(SAID), failed=2)
    lines = done.stdout.str().splitlines()
    for name, said in SAID.items():
        (line,) = [one for one in lines if re.match(rf"test_contracts\.py:\d+: test_{name}: ", one)]
        assert said in line
    # What a writer raises for other reasons is a failure of its tests.
    assert "raises ValueError: width 64 is not supported" in done.stdout.str()
    assert "Traceback" not in done.stdout.str()


@pytest.mark.parametrize(
    ("options", "said"),
    (
        (("--kvproof-device=cuda",), "profile ci proves and runs no kernel - add --kvproof-prof"),
        (
            ("--kvproof-device=cuda", "--kvproof-profile=dev"),
            "finds no CUDA device - leave it out: proofs and runs need no GPU",
        ),
    ),
)
def test_a_device_that_is_not_there_is_one_line(engine, options, said):
    done = engine(CONTRACTS, *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [one for one in done.stderr.lines if one]
    assert line.startswith("ERROR: --kvproof-device=cuda: ")
    assert said in line


@pytest.mark.parametrize(
    ("body", "said", "code"),
    (
        ("def test(): raise KeyboardInterrupt", "kvproof: interrupted: no report was written", 2),
        ("import os\ndef test(): os.mkdir('o.sarif')", "kvproof: o.sarif: cannot write it (Is", 4),
    ),
)
def test_a_report_is_whole_or_not_there(engine, pytester, body, said, code):
    done = engine(body, "--kvproof-sarif=o.sarif")
    assert done.ret == code
    assert said in done.stdout.str()
    assert not (pytester.path / "o.sarif").is_file()
    assert [path.name for path in pytester.path.glob(".o.sarif*")] == []


def test_the_mark_is_declared(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    done = pytester.runpytest_subprocess("-p", "kvproof.cli.plugin", "--markers")
    done.stdout.fnmatch_lines(["@pytest.mark.kvproof_known(id, [*], reason, link): above a *"])


def test_the_plugin_is_what_users_import():
    assert contract_test.__module__ == "kvproof.cli.contracttest"
