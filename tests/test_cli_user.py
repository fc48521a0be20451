"""Targets that are files: what is bound to what, and every input that does not fit."""

from __future__ import annotations

import textwrap

import pytest
from kvproof.cli import checking
from kvproof.cli.main import app
from kvproof.cli.request import BUNDLED, Request, jobs
from kvproof.spec.errors import KvproofError
from typer.testing import CliRunner

from .fake_check import FakeChecker, proved, report

SOURCE = textwrap.dedent(
    """
    import triton
    import not_installed
    from elsewhere import store as borrowed

    @triton.jit
    def kernel(cache, slots): ...

    def write(kv_buffer, loc, cache_k_nope, cache_k_rope, *, reserved=0): ...

    def renamed(cache, slot_mapping, latent, rotary): ...

    def sharded(kv_buffer, loc, cache_k_nope, cache_k_rope, world, rank=0): ...

    def bare(kv_buffer, loc, cache_k_nope): ...

    def greedy(**everything): ...

    def demanding(kv_buffer, loc, cache_k_nope, cache_k_rope, mystery): ...

    def positional(kv_buffer, /, loc, cache_k_nope, cache_k_rope): ...

    class Pool:
        @staticmethod
        def store(kv_buffer, loc, cache_k_nope, cache_k_rope): ...
    """
)
RENAMED = ("kv_buffer=cache", "loc=slot_mapping", "cache_k_nope=latent", "cache_k_rope=rotary")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write the file beside which the tests run; importing it would fail."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def f(:\n")
    return "mine.py"


def asked(function, contract="mla-row", bind=()):
    return jobs(Request(target=f"mine.py::{function}", contract=contract, bind=tuple(bind)))


def refused(*args, **more):
    with pytest.raises(KvproofError) as caught:
        asked(*args, **more)
    return str(caught.value)


@pytest.mark.parametrize("function", ("write", "greedy", "Pool.store", "borrowed"))
def test_a_function_that_takes_the_arguments_is_accepted(file, function):
    found = asked(function)
    assert len(found) == 8
    assert {job.function for job in found} == {function}
    assert len({job.label for job in found}) == 8
    assert {job.instance.config["loc_dtype"] for job in found} == {"i32", "i64"}


def test_bound_names_reach_the_binding(file):
    job = asked("renamed", bind=RENAMED)[0]
    assert job.binding.keyword("kv_buffer") == "cache"
    assert job.binding.keyword("cache_k_rope") == "rotary"


def test_a_missing_parameter_names_the_argument_and_the_mend(file):
    said = refused("renamed", bind=RENAMED[1:])
    assert "contract mla-row names argument 'kv_buffer'" in said
    assert "renamed has no parameter 'kv_buffer'" in said
    assert "--bind kv_buffer=cache" in said


def test_a_function_with_no_parameter_left_is_told_to_choose_another_contract(file):
    said = refused("Pool.store", bind=("kv_buffer=loc", "loc=kv_buffer", "cache_k_rope=rope"))
    assert "has no parameter 'rope'" in said
    assert "--bind cache_k_rope=cache_k_rope" in said
    assert "choose a contract without it" in refused("bare")


@pytest.mark.parametrize(
    ("pair", "said"),
    (
        ("kv_bufer=cache", "names no argument 'kv_bufer' - it names loc, kv_buffer"),
        ("kv_buffer=nope", "renamed has no parameter 'nope'"),
        ("kv_buffer", "not a pair"),
        ("kv_buffer=", "not a pair"),
        ("loc=cache", "bound twice"),
        ("WORLD=cache", "names no argument 'WORLD'"),
    ),
)
def test_a_pair_that_does_not_fit_is_refused(file, pair, said):
    assert said in refused("renamed", bind=(*RENAMED[1:], pair))


def test_a_sharded_contract_needs_the_rank(file):
    both = ("WORLD=world", "RANK=rank")
    found = asked("sharded", "mla-row-sharded", both)
    assert {job.instance.world_rank for job in found} == {(1, 0), (2, 0), (2, 1), (3, 2)}
    last = found[-1]
    values = {arg.name: arg.value for arg in last.binding.extra}
    assert (values["world"], values["rank"]) == last.instance.world_rank
    said = refused("sharded", "mla-row-sharded", both[:1])
    assert "nothing tells the function its rank - add --bind RANK=PARAMETER" in said


@pytest.mark.parametrize(
    ("function", "said"),
    (
        ("wriet", "no function 'wriet' - it has write"),
        ("kernel", "'kernel' is a kernel - name the host function that launches it"),
        ("demanding", "demanding needs 'mystery'"),
        ("positional", "parameter 'kv_buffer' of positional is positional only"),
        ("", "no function named - write mine.py::write"),
    ),
)
def test_a_function_that_does_not_fit_is_refused(file, function, said):
    assert said in refused(function)


@pytest.mark.parametrize(
    ("request_", "said"),
    (
        (Request(target="mine.py::write"), "no contract - add --contract with one of mla-row,"),
        (Request(target="mine.py", contract="mla-row"), "no function named"),
        (Request(target="mine.py::write", contract="mla"), "unknown contract 'mla'"),
        (Request(target="gone.py::f", contract="mla-row"), "gone.py: cannot read the file"),
        (Request(target="broken.py::f", contract="mla-row"), "broken.py:1: syntax error"),
        (
            Request(target="mine.py::write", contract="mla-row", symbolic=True),
            "--symbolic-dims needs a catalogued writer",
        ),
        (Request(contract="mla-row"), "--contract is for a file of yours"),
        (Request(bind=("loc=slots",)), "--bind is for a file of yours"),
        (Request(target="nothing==1.0"), "unknown engine 'nothing'"),
        (Request(target="sglang==99.0"), "sglang==99.0: no writer of this version is catalogued"),
        (Request(target="sglang"), "no version"),
        (Request(target="???"), "target '???'"),
    ),
)
def test_bad_input_is_one_line_and_exit_2(file, request_, said):
    args = ["check"] if request_.target == BUNDLED else ["check", request_.target]
    args += ["--contract", request_.contract] if request_.contract else []
    args += [word for pair in request_.bind for word in ("--bind", pair)]
    args += ["--symbolic-dims"] if request_.symbolic else []
    got = CliRunner().invoke(app, args)
    assert (got.exit_code, got.stdout) == (2, "")
    assert got.stderr.startswith("kvproof: ")
    assert said in got.stderr
    assert len(got.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_called_at_all_is_one_line(file, monkeypatch):
    fake = FakeChecker(lambda job: report(job, error="write: it launches no Triton kernel"))
    monkeypatch.setattr(checking, "open_checker", lambda invariants, *, drop: fake)
    got = CliRunner().invoke(app, ["check", "mine.py::write", "--contract", "mla-row"])
    assert (got.exit_code, got.stdout, len(fake.asked)) == (2, "", 1)
    assert got.stderr.splitlines()[-1] == "kvproof: write: it launches no Triton kernel"
    assert fake.closed


def test_a_file_that_can_be_called_is_checked_in_every_configuration(file, monkeypatch):
    fake = FakeChecker(proved)
    monkeypatch.setattr(checking, "open_checker", lambda invariants, *, drop: fake)
    got = CliRunner().invoke(app, ["check", "mine.py::write", "--contract", "mla-row"])
    assert (got.exit_code, len(fake.asked)) == (0, 8)


REAL = textwrap.dedent(
    """
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(cache, N: tl.constexpr):
        tl.store(cache + tl.arange(0, N), no_such_name)

    def nothing(kv_buffer, loc, cache_k_nope): ...

    def broken(kv_buffer, loc, cache_k_nope):
        kernel[(1,)](kv_buffer, N=16)

    def raising(kv_buffer, loc, cache_k_nope):
        raise RuntimeError("two\\nlines")
    """
)


@pytest.mark.parametrize(
    ("function", "said"),
    (
        ("nothing", "it launches no Triton kernel - name the host function"),
        ("broken", "real.py:7: kernel kernel does not compile"),
        ("raising", "real.py:15: raising raises RuntimeError: two lines"),
    ),
)
def test_a_writer_that_cannot_be_captured_is_one_line(tmp_path, monkeypatch, function, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real.py").write_text(REAL)
    args = ["check", f"real.py::{function}", "--contract", "mla-row-norope"]
    got = CliRunner().invoke(app, args)
    assert (got.exit_code, got.stdout) == (2, "")
    assert said in got.stderr
    assert "Traceback" not in got.stderr
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["real.py"]


def test_a_request_and_its_command_say_the_same():
    request = Request(
        target="my file.py::f", contract="mla-row", bind=("loc=slots",), stubs=("engine",)
    )
    assert Request.from_json(request.to_json()) == request
    assert request.command() == (
        "kvproof check 'my file.py::f' --contract mla-row --bind loc=slots --stub engine"
    )
    assert Request().command() == "kvproof check"
