"""The pytest plugin, run on a fictitious engine's repository."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from .engine_repo import check_json

pytest_plugins = ("pytester",)

EXAMPLE = Path(__file__).parent.parent / "examples" / "my_writer"
SKIP = "    if slot == 0:\n        return\n"
HEAD = """
import pytest
from kvproof.cli.plugin import contract_test
GOOD, FAULTY = "good.py::write_rows", "faulty.py::write_rows"
ASKED = dict(
    contract="mla-row-norope",
    dims={"NOPE": 64},
    dtypes="bf16",
    slots="i64",
    invariants=("W6", "W9"),
)
LINK = "stores padding: https://example.invalid/1"
"""
LINK = "stores padding: https://example.invalid/1"


@pytest.fixture
def engine(pytester, monkeypatch):
    """Make the repository: a right writer and one without the skip; return its runner."""
    text = (EXAMPLE / "my_writer.py").read_text()
    assert text.count(SKIP) == 1
    (pytester.path / "good.py").write_text(text)
    (pytester.path / "faulty.py").write_text(text.replace(SKIP, ""))
    # Named by hand, so that an older installation beside this tree does not decide what is tested.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugin = ("-p", "kvproof.cli.plugin")

    def run(body, *args):
        pytester.makepyfile(test_engine=HEAD + body)
        return pytester.runpytest_subprocess(*plugin, "-rA", "--strict-markers", *args)

    return run


def test_tests_pass_fail_and_fail_as_expected(engine, pytester):
    body = """
from good import write_rows

@contract_test(write_rows, **ASKED)
def test_good(): raise AssertionError("never run")

@contract_test(FAULTY, **ASKED)
def test_faulty(): ...

test_known = contract_test(FAULTY, known={"W6": LINK}, **ASKED)
test_mended = contract_test(GOOD, known={"W6-bf16-i64": LINK}, **ASKED)

@pytest.mark.skip(reason="later")
@contract_test(GOOD, **ASKED)
def test_later(): ...

class TestPool:
    test_inner = contract_test(GOOD, **ASKED)
"""
    done = engine(body, "--kvproof-json=kvproof.json", "--junitxml=junit.xml")
    done.assert_outcomes(passed=7, failed=2, xfailed=1, skipped=2)
    text = done.stdout.str()
    assert f"XFAIL test_engine.py::test_known[W6-bf16-i64] - {LINK}" in text
    assert f"[XPASS(strict)] {LINK}" in text
    _, _, after = text.partition("_ test_faulty[W6-bf16-i64] _")
    finding = after.partition("\n")[2].partition("____")[0]
    assert "W6 skip set: a reserved slot is stored" in finding
    assert "faulty.py:17  tl.store(cache + slot * cache_stride + column, element)" in finding
    assert "at            slot 0, row 0, column 0; bf16, NOPE 64" in finding
    assert "evaluator: 64 elements of slot 0 changed" in finding
    assert "reproduce     pytest 'test_engine.py::test_faulty[W6-bf16-i64]'" in finding
    assert "Traceback" not in text
    assert "plugin.py" not in finding
    document = json.loads((pytester.path / "kvproof.json").read_text())
    assert (document["schema"], document["profile"]) == ("kvproof.pytest/1", "ci")
    outcomes = {one["id"].partition("::")[2]: one for one in document["tests"]}
    assert outcomes["test_faulty[W6-bf16-i64]"]["verdict"] == "REFUTED"
    assert outcomes["test_known[W6-bf16-i64]"]["outcome"] == "xfailed"
    assert outcomes["test_known[W6-bf16-i64]"]["known"] == LINK
    assert outcomes["TestPool::test_inner[W9-bf16-i64]"]["verdict"] == "PROVED"
    assert len(outcomes) == 10
    assert len(document["configurations"]) == 5  # one check for two tests each
    cases = ET.parse(pytester.path / "junit.xml").getroot().iter("testcase")  # noqa: S314 - own file
    assert sum(case.find("failure") is not None for case in cases) == 2


@pytest.mark.slow
def test_the_dev_profile_runs_the_writer_too(engine, pytester):
    body = "test_faulty = contract_test(FAULTY, **ASKED)\n"
    files = ("--kvproof-json=kvproof.json", "--kvproof-sarif=kvproof.sarif")
    done = engine(body, "--kvproof-profile=dev", "-k", "runs", *files)
    done.assert_outcomes(failed=1, deselected=2)
    finding = done.stdout.str().partition("_ test_faulty[runs-bf16-i64] _")[2]
    assert "W6 skip set: a reserved slot is stored" in finding
    assert "faulty.py:17  tl.store(cache + slot * cache_stride + column, element)" in finding
    document = json.loads((pytester.path / "kvproof.json").read_text())
    check_json(document)
    (one,) = document["tests"]
    assert (one["verdict"], one["outcome"]) == ("RUN", "failed")
    assert [run["cases"] for run in document["runs"]] == [200]
    (log,) = json.loads((pytester.path / "kvproof.sarif").read_text())["runs"]
    (broken,) = log["results"]
    assert (broken["ruleId"], broken["level"]) == ("W6", "error")
    assert broken["locations"][0]["physicalLocation"]["region"] == {"startLine": 17}
    assert "Why: seen in runs." in broken["message"]["text"]


@pytest.mark.parametrize(("skip", "passed", "failed"), ((True, 4, 0), (False, 0, 4)))
def test_the_example_needs_its_skip(engine, pytester, skip, passed, failed):
    text = (EXAMPLE / "my_writer.py").read_text()
    (pytester.path / "my_writer.py").write_text(text if skip else text.replace(SKIP, ""))
    own = (
        (EXAMPLE / "test_my_writer.py").read_text().replace("from __future__", "# from __future__")
    )
    done = engine(own, "-k", "W6")
    done.assert_outcomes(passed=passed, failed=failed, deselected=36)
    said = done.stdout.str()
    assert ("W6 skip set" in said and "slot 0" in said and "my_writer.py:17" in said) is not skip


def test_the_example_is_short():
    lines = (EXAMPLE / "test_my_writer.py").read_text().splitlines()
    begin = lines.index("@contract_test(")
    assert len(lines) - begin <= 10


BAD = {
    "contract_test('gone.py::f', 'mla-row')": "gone.py: cannot read the file",
    "contract_test('good.py', 'mla-row')": "names no function - write file.py::function",
    "contract_test('good.py::store_row', 'mla-row-norope')": "'store_row' is a kernel",
    "contract_test(lambda: 0, 'mla-row')": "cannot be found in a file - give a function",
    "contract_test(GOOD, 'mla-row')": "names argument 'cache_k_rope', but write_rows has no",
    "contract_test(GOOD, 'mla-rows')": "unknown contract 'mla-rows' - use one of mla-row,",
    "contract_test(GOOD, 3)": "contract: 3 is no contract - give a WriterContract",
    "contract_test(GOOD, **(ASKED | {'bind': {'loc': 'slots'}}))": 'it is: bind={"loc": "loc"}',
    "contract_test(GOOD, **(ASKED | {'dims': {'NOPES': 6}}))": "dims: unknown dimension 'NOPES'",
    "contract_test(GOOD, **(ASKED | {'dims': {'BUFFER_STRIDE': 6}}))": 'add dims={"NOPE": ...}',
    "contract_test(GOOD, **(ASKED | {'dims': {'NOPE': 64, 'BUFFER_STRIDE': 32}}))": "widen the",
    "contract_test(GOOD, **(ASKED | {'dims': 3}))": "dims: 3 is no mapping, nor a list of such",
    "contract_test(GOOD, **(ASKED | {'dims': [{'NOPE': 64}] * 2}))": "bf16-i64 is there twice",
    "contract_test(GOOD, **(ASKED | {'dtypes': 'bf17'}))": "unknown dtype 'bf17' - use one of",
    "contract_test(GOOD, **(ASKED | {'dtypes': {'loc': 'i64'}}))": "has no dtype",
    "contract_test(GOOD, **(ASKED | {'slots': 'i8'}))": "no slots of 'i8' - use i32 or i64",
    "contract_test(GOOD, **(ASKED | {'ranks': ((1, 1),)}))": "rank 1 is not below world",
    "contract_test(GOOD, **(ASKED | {'ranks': ((1,),)}))": "(1,) is no (world size, rank)",
    "contract_test(GOOD, **(ASKED | {'invariants': 'W3'}))": "invariants: W3 is not decided by",
    "contract_test(GOOD, switches={'a.b': 3}, **ASKED)": "switches['a.b']: 3 is no pair - write",
    "contract_test(GOOD, known={'W99': LINK}, **ASKED)": "known['W99']: no test of that id - use",
    "contract_test(GOOD, known={'W6': ''}, **ASKED)": "known['W6']: no reason - say why",
}


def test_what_does_not_fit_is_one_line_at_collection(engine, pytester):
    pytester.makepyfile(
        test_contract="""
from kvproof.spec.contract import WriterContract
from kvproof.spec.rules import Slots
MINE = WriterContract(name="mine", promise="", slots=Slots(arg="loc"), segments=(), dims=())
"""
    )
    body = "".join(f"test_{number} = {line}\n" for number, line in enumerate(BAD))
    done = engine(body)
    done.assert_outcomes(errors=len(BAD) + 1)
    lines = done.stdout.str().splitlines()
    for number, said in enumerate(BAD.values()):
        (line,) = [one for one in lines if f": test_{number}: " in one]
        assert line.startswith("test_engine.py:"), line
        assert said in line
    assert "test_contract.py:3: contract mine: segments is empty - name at least one" in lines
    assert "Traceback" not in done.stdout.str()
    assert "configuring.py" not in done.stdout.str()


@pytest.mark.parametrize(
    ("option", "said"),
    (
        ("--kvproof-json=good.py/o", "--kvproof-json: cannot write good.py/o (Not a directory) -"),
        ("--kvproof-sarif=.", "--kvproof-sarif: cannot write . (Is a directory) - name another"),
        ("--kvproof-json", "expected one argument"),
        ("--kvproof-markdown=", "--kvproof-markdown: no file named - write --kvproof-markdown="),
        ("--kvproof-profile=fast", "invalid choice: 'fast'"),
        ("--kvproof-device=tpu", "invalid choice: 'tpu'"),
        ("--kvproof-device=cuda", "profile ci proves and runs no kernel - add --kvproof-profile="),
    ),
)
def test_an_option_that_does_not_fit_is_a_usage_error(engine, option, said):
    done = engine("", option)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr.str()
    assert "Traceback" not in done.stderr.str()


def test_the_entry_point_names_the_plugin():
    project = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nkvproof = "kvproof.cli.plugin"\n' in project


def test_a_suite_without_contract_tests_imports_nothing_for_it():
    program = (
        "import sys, kvproof.cli.plugin\n"
        "print([n for n in ('z3', 'torch', 'triton', 'rich', 'httpx2') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
