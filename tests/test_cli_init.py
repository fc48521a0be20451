"""`kvproof init`: the test that it writes, and every target that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from kvproof.cli.configuring import configurations
from kvproof.cli.contracttest import ContractTest
from kvproof.cli.main import app
from typer.testing import CliRunner

SOURCE = """
import triton
from elsewhere import borrowed

@triton.jit
def kernel(cache): ...

def write(kv_buffer, loc, cache_k_nope, cache_k_rope, *, reserved=0): ...

def renamed(kv_c, k_pe, kv_cache, slot_mapping): ...

def sharded(kv_buffer, loc, cache_k_nope, world_size, rank): ...

def opaque(a, b, c): ...

def demanding(kv_buffer, loc, cache_k_nope, scale): ...
"""


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run `init` beside a file of writers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    return lambda *args: CliRunner().invoke(app, ["init", *args])


def written():
    text = Path("test_mine_contract.py").read_text()
    scope = {"__name__": "made"}
    exec(compile(text, str(Path("test_mine_contract.py").absolute()), "exec"), scope)  # noqa: S102
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
                "loc": "slot_mapping",
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


def test_what_the_names_do_not_tell_is_left_as_a_comment(say):
    assert say("mine.py::opaque").exit_code == 0
    text, _ = written()
    assert '# "loc": one of a, b' in text
    assert '"cache_k_nope": "c"' in text


def test_a_parameter_that_no_contract_speaks_of_is_named(say):
    assert say("mine.py::demanding").exit_code == 0
    assert "# scale is required, and the contract says nothing of it" in written()[0]


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
