"""What the plugin refuses in the repository of a fictitious engine, in one line each."""

from __future__ import annotations

import re

import pytest
from kvproof.cli import testoptions, testruns
from kvproof.cli.request import Request, jobs
from kvproof.spec.errors import KvproofError

from .engine_repo import CONTRACTS, engine

pytest_plugins = ("pytester",)
__all__ = ["engine"]

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
EARLY = """
import torch
HERE = torch.cuda.current_device()

def store(kv_buffer, loc, cache_k_nope): ...
"""
BAD = """
import pytest
from kvproof.cli.plugin import contract_test

ASKED = dict(contract="mla-row-norope", dims={"NOPE": 64}, dtypes="bf16", invariants="W6")
test_moves = contract_test("../engine/gpu.py::moves", **ASKED)
test_insists = contract_test("../engine/gpu.py::insists", **ASKED)
test_looks = contract_test("../engine/gpu.py::looks", **ASKED)
test_raises = contract_test("../engine/gpu.py::raises", **ASKED)
test_imports = contract_test("../engine/early.py::store", **ASKED)

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
    "imports": "engine/early.py:3: importing it fails: ",
    "no_id": "mark kvproof_known: it names no test - write kvproof_known('W6', reason=",
    "no_reason": "mark kvproof_known: no reason - write kvproof_known('W6', reason=",
    "no_link": "mark kvproof_known: no link - write kvproof_known('W6', reason=",
    "typo": "mark kvproof_known: unknown argument 'url' - write kvproof_known('W6', reason=",
    "gone": "known['W7']: no test of that id - use an invariant or one of W6-bf16-i",
    "twice": "known['W6']: two reasons - give one",
}


def test_what_cannot_be_tested_is_one_line_at_collection(engine, pytester):
    (pytester.path / "engine" / "gpu.py").write_text(GPU)
    (pytester.path / "engine" / "early.py").write_text(EARLY)
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
    done.stdout.fnmatch_lines(["@pytest.mark.kvproof_known(id, [*], reason, link): on a *"])


def test_runs_are_asked_of_the_device_that_was_named(monkeypatch, tmp_path):
    asked = []

    def run(plan):
        asked.append(plan)
        raise KvproofError("torch finds no CUDA device")

    monkeypatch.setattr(testruns, "run", run)
    (job, *_) = jobs(Request())
    for device in ("cpu", "cuda"):
        options = testoptions.Options(profile="dev", device=device)
        with pytest.raises(KvproofError, match="no CUDA device"):
            testruns.run_cases(job, options, tmp_path)
    assert [plan.device for plan in asked] == ["cpu", "cuda"]
    assert asked[0].identity != asked[1].identity  # no folder is gone on with by another device
