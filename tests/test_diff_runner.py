"""Runners: what each can run, what it says when it cannot, and that they agree with each other."""

from __future__ import annotations

import pytest
import torch
from kvproof.checkers.child import ChildEnded
from kvproof.diff.api import Outcome
from kvproof.diff.hosting import CallableRunner, HostRunner, LoadedRunner
from kvproof.diff.runner import EvaluatorRunner, InterpreterRunner, ReferenceRunner, open_runners
from kvproof.spec.errors import KvproofError

from tests.trials import BARE, FP8, SHARDED, prepared, preparer, trial, uncaptured


@pytest.fixture(scope="module")
def interpreter():
    """One interpreting child for the module."""
    runner = InterpreterRunner()
    yield runner
    runner.close()


def write(kv_buffer, loc, cache_k_nope, *, skip=True):
    """Store rows with torch alone."""
    keep = (loc != 0) if skip else (loc >= 0)
    kv_buffer[loc[keep].long(), : cache_k_nope.shape[1]] = cache_k_nope[keep]


def write_all(kv_buffer, loc, cache_k_nope):
    write(kv_buffer, loc, cache_k_nope, skip=False)


@pytest.mark.parametrize(("function", "status"), ((write, "agrees"), (write_all, "differs")))
@pytest.mark.parametrize("slots", ((0, 3), (0,)))
def test_any_callable_is_run(function, status, slots):
    call, made = uncaptured(BARE)
    outcome = CallableRunner("own", function).run(call, trial(made, slots))
    assert outcome.status == status
    assert [m.invariant for m in outcome.mismatches] == (["W6"] if status == "differs" else [])


def test_an_exception_of_the_function_is_the_outcome_and_one_of_ours_is_told_apart():
    def refuse(**_):
        raise ValueError("no\nrows")

    call, made = uncaptured(BARE)
    outcome = CallableRunner("own", refuse).run(call, trial(made, (1,)))
    assert outcome == Outcome(runner="own", status="raised", reason="ValueError: no rows")
    outcome = CallableRunner("own", write).run(call, trial(made, (1,), pool=1 << 30))
    assert (outcome.status, outcome.is_finding) == ("failed", False)


@pytest.mark.parametrize(
    ("function", "status"), (("masked", "agrees"), ("masked_without_skip", "differs"))
)
def test_evaluator_interpreter_and_loaded_function_say_the_same(interpreter, function, status):
    call, made = prepared(function)
    for slots in ((0, 3, 5), ()):
        case = trial(made, slots)
        wanted = status if slots else "agrees"
        outcomes = [runner.run(call, case) for runner in (EvaluatorRunner(), interpreter)]
        assert [o.status for o in outcomes] == [wanted, wanted]
        found = [[(m.invariant, m.count, m.index) for m in o.mismatches] for o in outcomes]
        assert found[0] == found[1]


def test_a_call_with_no_rows_that_raises_is_a_finding():
    call, made = prepared("masked_refuses_none")
    assert EvaluatorRunner().run(call, trial(made, ())).status == "raised"
    assert EvaluatorRunner().run(call, trial(made, (1,))).status == "agrees"


def test_a_crash_of_the_interpreting_child_is_an_outcome_and_the_next_trial_runs(interpreter):
    call, made = uncaptured(BARE, file="faults.py")
    from dataclasses import replace

    aborting = replace(made, function="write_and_abort", writer="write_and_abort")
    bad = replace(call, job=aborting)
    good = replace(call, job=replace(made, function="write", writer="write"))
    case = trial(made, (2,))
    assert interpreter.run(bad, case).status == "crashed"
    assert interpreter.run(good, case).status == "agrees"


@pytest.mark.parametrize(
    ("answers", "statuses"),
    (
        # What an earlier trial left behind ends the child: a fresh one runs the trial.
        (("agrees", "SIGSEGV", "agrees"), ["agrees", "agrees"]),
        # The trial itself ends it: in a fresh child too, and in one that is fresh at once.
        (("agrees", "SIGSEGV", "SIGSEGV"), ["agrees", "crashed"]),
        (("SIGSEGV", "agrees"), ["crashed", "agrees"]),
    ),
)
def test_a_crash_is_believed_of_a_fresh_child_alone(monkeypatch, answers, statuses):
    left = list(answers)

    def request(*_args, **_payload):
        if (answer := left.pop(0)) != "agrees":
            raise ChildEnded("its process ended", how=answer)
        return Outcome(runner="interpreter", status="agrees").to_json()

    runner = InterpreterRunner()
    monkeypatch.setattr(runner._child, "request", request)
    call, made = uncaptured(BARE)
    assert [runner.run(call, trial(made, (1,))).status for _ in statuses] == statuses
    assert not left


@pytest.mark.parametrize(
    ("function", "contract", "more", "why"),
    (
        ("masked", BARE, {}, None),
        ("plus_zero", BARE, {"dtype": "bf16"}, "bf16 arithmetic"),
        ("plus_zero", BARE, {"dtype": "f32"}, None),
        ("waiting", BARE, {}, "dependency wait"),
    ),
)
def test_the_interpreter_is_not_asked_what_it_is_wrong_at(
    interpreter, function, contract, more, why
):
    call, made = prepared(function, contract, **more)
    said = interpreter.can_run(call, trial(made, (1,)))
    assert (said is None) if why is None else (why in (said or ""))


def test_casts_and_large_caches_are_not_for_the_interpreter(interpreter):
    call, made = uncaptured(FP8, dtype="bf16")
    assert "fp8" in (interpreter.can_run(call, trial(made, (1,))) or "")
    call, made = uncaptured(BARE)
    assert "GiB" in (interpreter.can_run(call, trial(made, (1,), pool=1 << 30)) or "")
    assert interpreter.can_run(call, trial(made, (1,))) is None


def test_each_runner_says_why_it_is_skipped():
    call, made = uncaptured(BARE)
    case = trial(made, (1,))
    if not torch.cuda.is_available():
        assert LoadedRunner().can_run(call, case) == "torch finds no CUDA device"
    assert "own file" in (HostRunner(device="cpu").can_run(call, case) or "")
    many = trial(made, tuple(range(1, 30_000)), pool=30_001)
    assert "too many" in (ReferenceRunner().can_run(call, many) or "")
    assert ReferenceRunner().can_run(call, case) is None


def test_large_slots_take_no_memory():
    call, made = prepared("masked")
    case = trial(made, (0, (1 << 38) + 5, 7), pool=(1 << 38) + 6)
    assert EvaluatorRunner().run(call, case).status == "agrees"
    call, made = prepared("masked_without_skip")
    outcome = EvaluatorRunner().run(call, case)
    assert [m.invariant for m in outcome.mismatches] == ["W6"]


def test_one_row_runs_the_program_that_one_row_compiles_to():
    call, made = prepared("sharded", SHARDED, world=2, rank=1)
    assert call.families_at(1)
    assert EvaluatorRunner().run(call, trial(made, (3,))).status == "agrees"


def test_a_function_that_launches_nothing_is_refused_once_and_again():
    from tests.jobs import job

    made = job("torch_only", BARE)
    case = trial(made, ()).case
    for _ in range(2):
        with pytest.raises(KvproofError, match="no Triton kernel"):
            preparer().prepare(made, case)


@pytest.mark.parametrize("names", (("evaluator",), ("reference", "evaluator")))
def test_runners_are_chosen_by_name(names):
    assert {runner.name for runner in open_runners(names=names)} == set(names)


@pytest.mark.parametrize(
    ("options", "what"),
    (({"names": ("magic",)}, "unknown runner 'magic'"), ({"device": "tpu"}, "unknown device")),
)
def test_an_unknown_runner_or_device_is_one_line(options, what):
    with pytest.raises(KvproofError, match=what):
        open_runners(**options)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("function", "status"), (("masked", "agrees"), ("masked_without_skip", "differs"))
)
def test_the_compiled_kernel_on_the_gpu(function, status):
    call, made = uncaptured(BARE)
    from dataclasses import replace

    call = replace(call, job=replace(made, function=function))
    outcome = LoadedRunner().run(call, trial(made, (0, 3)))
    assert outcome.status == status
