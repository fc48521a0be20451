"""`kvproof init`: the test that it writes, and every target that does not fit."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from kvproof.checkers.check import Checker
from kvproof.cli.configuring import configurations
from kvproof.cli.contracttest import ContractTest
from kvproof.cli.guessing import guesses
from kvproof.cli.main import app
from kvproof.cli.trying import questions
from kvproof.engines.fetch import index_reachable
from kvproof.engines.jobs import engine_jobs
from kvproof.spec.errors import KvproofError
from kvproof.spec.verdict import Verdict
from typer.testing import CliRunner

EXAMPLES = Path(__file__).parent.parent / "examples"
SOURCE = """
import torch
import triton
from elsewhere import borrowed, platform
from elsewhere.kinds import is_new as new

@triton.jit
def kernel(cache): ...

def write(kv_buffer, loc, cache_k_nope, cache_k_rope, *, reserved=0): ...

def renamed(kv_c, k_pe, kv_cache, slots): ...

def sharded(kv_buffer, loc, cache_k_nope, world_size, rank): ...

def opaque(a, b, c): ...

def demanding(kv_buffer, loc, cache_k_nope, kind: str, scale: torch.Tensor): ...

def launching(kv_buffer, loc, cache_k_nope, kind: str):
    assert kind == "auto"
    if not platform.has.triton:
        return
    rows, width = cache_k_nope.shape
    from my_writer import store_row
    store_row[(rows,)](
        kv_buffer, loc, cache_k_nope, kv_buffer.stride(0), cache_k_nope.stride(0), WIDTH=width
    )

@triton.jit
def store_new(cache, slots, source, a_stride, b_stride, WIDTH, NEW: triton.language.constexpr):
    ...

def told(kv_buffer, loc, cache_k_nope):
    rows, width = cache_k_nope.shape
    store_new[(rows,)](
        kv_buffer, loc, cache_k_nope, kv_buffer.stride(0), cache_k_nope.stride(0), width, NEW=new()
    )

def failing(kv_buffer, loc, cache_k_nope):
    raise ValueError("no such thing")
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run `init` beside a file of writers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    shutil.copy(EXAMPLES / "my_writer" / "my_writer.py", tmp_path)
    return lambda *args: CliRunner().invoke(app, ["init", *args])


@pytest.fixture
def say(call):
    """Run `init`, reading the signature only."""
    return lambda *args: call(*args, "--no-run")


def written(name="test_mine_contract.py"):
    text = Path(name).read_text()
    scope = {"__name__": "made"}
    exec(compile(text, str(Path(name).absolute()), "exec"), scope)  # noqa: S102
    (made,) = [one for one in scope.values() if isinstance(one, ContractTest)]
    return text, made


@pytest.mark.parametrize(
    ("function", "contract", "bind"),
    (
        ("write", "mla-row", {}),
        (
            "renamed",
            "mla-row",
            {
                "cache_k_nope": "kv_c",
                "cache_k_rope": "k_pe",
                "kv_buffer": "kv_cache",
                "loc": "slots",
            },
        ),
        ("sharded", "mla-row-norope-sharded", {"WORLD": "world_size", "RANK": "rank"}),
    ),
)
def test_a_telling_signature_gives_a_whole_test(say, function, contract, bind):
    got = say(f"mine.py::{function}")
    assert (got.exit_code, got.stderr) == (0, "")
    assert "pytest test_mine_contract.py" in got.stdout
    _, made = written()
    assert (made.contract, dict(made.bind), made.stubs) == (contract, bind, ("elsewhere",))
    assert {name for name, _ in configurations(made)} >= {"bf16-i32", "bf16-i64"}


@pytest.mark.parametrize(
    ("parameters", "contract", "bind"),
    (
        ("k v k_cache v_cache loc", "kv-rows", {}),
        ("key value key_cache value_cache slot_mapping k_scale v_scale", "paged-nhd", {}),
        (
            "keys values key_cache value_cache block_table loc",
            "paged-nhd",
            {"key": "keys", "value": "values", "slot_mapping": "loc"},
        ),
        ("k v kv_cache loc", "kv-packed", {}),
        (
            "key value cache indices",
            "kv-packed",
            {"k": "key", "v": "value", "kv_cache": "cache", "loc": "indices"},
        ),
        ("kv_c k_pe kv_cache slot_mapping", "mla-paged", {}),
        (
            "kv_c k_pe pool slots",
            "mla-row",
            {
                "cache_k_nope": "kv_c",
                "cache_k_rope": "k_pe",
                "kv_buffer": "pool",
                "loc": "slots",
            },
        ),
        ("kv_buffer loc cache_k_nope", "mla-row-norope", {}),
    ),
)
def test_parameters_look_like_a_contract(parameters, contract, bind):
    first = guesses(parameters.split())[0]
    assert (first.contract, first.open) == (contract, ())
    assert first.bind == bind
    assert all(size > 0 for size in first.sizes.values())


def test_a_cast_is_told_from_the_name_and_the_plain_contract_comes_next():
    names = ["kv_buffer", "loc", "cache_k_nope", "cache_k_rope"]
    assert [one.contract for one in guesses(names, "store_fp8")][:2] == ["mla-row-fp8", "mla-row"]
    assert guesses(names, "store")[0].contract == "mla-row"


def test_what_the_names_do_not_tell_is_left_as_a_comment(say):
    assert say("mine.py::opaque").exit_code == 0
    text, _ = written()
    assert '# "loc": one of a, b' in text
    assert '"cache_k_nope": "c"' in text


def test_a_parameter_that_no_contract_speaks_of_is_passed_something(say):
    assert say("mine.py::demanding").exit_code == 0
    text, made = written()
    assert made.passing == {"kind": "auto", "scale": None}
    assert "passing={  # guessed: the contract says nothing of these" in text
    assert configurations(made)


def test_a_conditions_questions_to_a_package_are_found():
    text = """
import other.part
def write(x):
    from elsewhere import late
    if late.deep.flag and x: ...
    return 1 if new(3) or other.part.ready() else platform.has.triton
"""
    found = questions(ast.parse(SOURCE + text), ("elsewhere",))
    assert found == {
        "elsewhere.platform.has.triton": "value",
        "elsewhere.late.deep.flag": "value",
        "elsewhere.kinds.is_new": "call",
    }
    assert questions(ast.parse(SOURCE + text), ("other",)) == {"other.part.ready": "call"}


def test_a_call_tells_the_kernel_and_the_answer_without_which_there_is_none(call):
    assert call("mine.py::launching").exit_code == 0
    text, made = written()
    assert (
        "# A call with 5 rows launched store_row (my_writer.py:11) on a grid of (5, 1, 1)," in text
    )
    assert made.switches == {"elsewhere.platform.has.triton": ("value", True)}
    assert made.passing == {"kind": "auto"}
    _, job = configurations(made)[0]
    with Checker(drop=False, replay=False, invariants=frozenset({"W6"})) as checker:
        report = checker.check(job)
    assert report.error is None
    assert [result.verdict for result in report.results] == [Verdict.PROVED]


def test_a_stand_in_that_would_reach_the_kernel_is_answered(call):
    assert call("mine.py::told").exit_code == 0
    text, made = written()
    assert "launched store_new" in text
    assert made.switches == {"elsewhere.kinds.is_new": ("call", False)}


def test_a_call_that_fails_says_why_and_leaves_the_test_to_be_completed(call):
    assert call("mine.py::failing").exit_code == 0
    text, made = written()
    assert "# No kernel was launched yet: mine.py:" in text
    assert "raises ValueError: no such thing" in " ".join(text.split("\n# "))
    assert made.contract == "mla-row-norope"


@pytest.mark.engine
def test_the_test_of_a_released_writer_runs_as_it_is_written(tmp_path, monkeypatch):
    """SGLang's writer takes its Triton path, and every promise of the contract is proved."""
    monkeypatch.chdir(tmp_path)
    try:
        source = engine_jobs("sglang==0.5.23")[0].source
    except KvproofError as problem:
        if index_reachable():
            raise
        pytest.skip(f"offline: {problem}")
    target = f"{source.path}::set_mla_kv_buffer_triton"
    got = CliRunner().invoke(app, ["init", target, "--out", "test_it.py"])
    assert (got.exit_code, got.stderr) == (0, "")
    text, made = written("test_it.py")
    assert "launched set_mla_kv_buffer_kernel (mla_buffer.py:14)" in text
    _, job = configurations(made)[0]
    with Checker(drop=False, replay=False) as checker:
        report = checker.check(job)
    assert report.error is None
    assert {result.verdict for result in report.results} == {Verdict.PROVED}
    assert len(report.results) >= 9


@pytest.mark.parametrize(
    ("target", "said"),
    (
        ("mine.py", "no function named - write mine.py::write"),
        ("mine.py::wriet", "no function 'wriet' - it has write"),
        ("mine.py::kernel", "'kernel' is a kernel - name the host function"),
        ("mine.py::borrowed", "'borrowed' is made elsewhere - name the file that defines it"),
        ("gone.py::f", "gone.py: cannot read the file"),
    ),
)
def test_a_target_that_does_not_fit_is_one_line(say, target, said):
    got = say(target)
    assert (got.exit_code, got.stdout) == (2, "")
    assert said in got.stderr
    assert len(got.stderr.splitlines()) == 1


def test_a_file_that_is_there_is_kept(say):
    Path("test_mine_contract.py").write_text("kept")
    got = say("mine.py::write")
    assert got.exit_code == 2
    assert "the file is there already - name another --out" in got.stderr
    assert Path("test_mine_contract.py").read_text() == "kept"
    assert say("mine.py::write", "--out", "other.py").exit_code == 0
    assert "no/such" in say("mine.py::write", "--out", "no/such/test.py").stderr
