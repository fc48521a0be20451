"""Launches are recorded as Triton would have made them, and nothing runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from kvproof.checkers.loading import ModuleSource, load_module
from kvproof.checkers.recording import Recorder
from kvproof.checkers.targets import parse_target
from kvproof.checkers.tensors import KnownTensors, make_arguments
from kvproof.spec.call import CallRecipe, ScalarArg, TensorArg
from kvproof.spec.errors import KvproofError
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

WRITERS = Path(__file__).parent / "fixtures" / "writers"
ROWS = CallRecipe(
    (
        TensorArg("cache", "f32", (8, 16)),
        TensorArg("row", "f32", (2, 16)),
        TensorArg("slots", "i64", (2,), values=(3, 5)),
    )
)
FILL = CallRecipe(
    (TensorArg("cache", "f32", (8, 16)), TensorArg("slots", "i64", (2,), values=(3, 5)))
)


def record(file: str, function: str, recipe: CallRecipe = ROWS, *extra: ScalarArg) -> Recorder:
    """Call a fixture's function inside a recorder."""
    loaded = load_module(ModuleSource(file=str(WRITERS / file)))
    arguments = make_arguments(CallRecipe((*recipe.args, *extra)))
    known = KnownTensors({name: v for name, v in arguments.items() if isinstance(v, torch.Tensor)})
    recorder = Recorder(known, parse_target("cuda:90"))
    with loaded.space, recorder:
        loaded.function(function)(**arguments)
    return recorder


def only(recorder: Recorder):
    """Return the one launch, and its arguments by name."""
    (launch,) = recorder.launches
    return launch, {arg.name: arg for arg in launch.args}


def test_a_launch_is_recorded_and_does_not_run():
    launch, args = only(record("rows.py", "write_rows"))
    assert launch.grid == (2, 1, 1)
    assert launch.options == {}
    assert [args[name].tensor for name in ("cache_ptr", "row_ptr", "slot_ptr")] == [
        "cache",
        "row",
        "slots",
    ]
    assert [args[name].type for name in ("cache_ptr", "slot_ptr", "skip")] == [
        "*fp32",
        "*i64",
        "i32",
    ]
    assert (args["cache_ptr"].shape, args["cache_ptr"].strides) == ((8, 16), (16, 1))
    assert (args["WAIT"].kind, args["WAIT"].value) == ("constexpr", False)
    assert list(args) == [
        "cache_ptr",
        "row_ptr",
        "slot_ptr",
        "skip",
        "cache_stride",
        "D",
        "BLOCK",
        "WAIT",
    ]


def test_options_are_no_arguments():
    launch, args = only(record("rows.py", "write_with_options"))
    assert launch.options == {"num_warps": 2}
    assert (launch.grid, args["D"].value) == ((2, 1, 1), 16)


def test_a_grid_may_be_computed():
    launch, args = only(record("rows.py", "write_by_meta_grid"))
    assert (launch.grid, args["BLOCK"].value) == ((2, 2, 1), 8)


def test_a_grid_of_four_is_refused():
    with pytest.raises(KvproofError, match=r"the grid of row_kernel is \(1, 1, 1, 1\)"):
        record("rows.py", "write_four_extents")


@pytest.mark.parametrize(
    ("skip", "kind", "type_"),
    (
        (0, "scalar", "i32"),
        (1, "constexpr", "constexpr"),
        (2**31, "scalar", "i64"),
        (-(2**31), "scalar", "i32"),
    ),
)
def test_integers_are_typed_by_value(skip, kind, type_):
    _, args = only(record("rows.py", "write_rows", ROWS, ScalarArg("skip", skip)))
    assert (args["skip"].kind, args["skip"].type, args["skip"].value) == (kind, type_, skip)


def test_every_kind_of_argument():
    _, args = only(record("kinds.py", "launch_kinds", CallRecipe((TensorArg("out", "f32", (4,)),))))
    types = {name: arg.type for name, arg in args.items()}
    assert types == {
        "out_ptr": "*fp32",
        "one": "constexpr",
        "fixed": "i32",
        "small": "i32",
        "large": "i64",
        "flag": "u1",
        "ratio": "fp32",
        "nothing": "constexpr",
        "pair.0": "i32",
        "pair.1": "constexpr",
        "FN": "constexpr",
        "KIND": "constexpr",
        "WIDTH": "constexpr",
    }
    assert (args["FN"].value, args["KIND"].value) == ("kinds:double", "bf16")
    assert (args["nothing"].value, args["pair.0"].value, args["WIDTH"].value) == (None, 3, 4)


def test_views_and_copies_are_recognised():
    recorder = record("rows.py", "write_views")
    _, args = only(recorder)
    assert (args["cache_ptr"].tensor, args["cache_ptr"].byte_offset, args["cache_ptr"].type) == (
        "cache",
        16,
        "*u8",
    )
    assert args["cache_ptr"].strides == (64, 1)
    assert (args["slot_ptr"].tensor, args["slot_ptr"].type) == ("~slots", "*i32")
    assert any("held the values of slots" in note for note in recorder.notes)


def test_an_unknown_temporary_has_no_name():
    recorder = record("rows.py", "write_scaled")
    assert only(recorder)[1]["row_ptr"].tensor is None
    assert any(
        "row_ptr of row_kernel is a temporary (f32, (2, 16))" in note for note in recorder.notes
    )


def test_an_address_as_an_integer_is_noted():
    assert any("the address of cache" in note for note in record("rows.py", "write_address").notes)
    assert record("rows.py", "write_rows").notes == []


def test_a_warm_up_is_no_launch():
    recorder = record("rows.py", "write_warm")
    assert recorder.launches == []
    assert recorder.notes == ["row_kernel was warmed up, which launches nothing"]


def test_an_autotuner_gives_every_configuration():
    recorder = record("tuned.py", "fill_every", FILL)
    got = [(launch.grid, launch.options["num_warps"]) for launch in recorder.launches]
    assert got == [((2, 2, 1), 1), ((2, 1, 1), 2), ((2, 1, 1), 4)]
    assert recorder.launches[1].config.startswith("BLOCK=16, num_warps=2")
    assert any("zeroes cache_ptr" in note for note in recorder.notes)


def test_an_autotuner_is_pruned_by_its_own_rule():
    assert len(record("tuned.py", "fill_pruned", FILL).launches) == 2
    failing = record("tuned.py", "fill_unprunable", FILL)
    assert len(failing.launches) == 3
    assert any(
        "pruning of fill_kernel failed (RuntimeError: no device)" in note for note in failing.notes
    )


def test_what_an_autotuner_sets_cannot_be_passed():
    with pytest.raises(KvproofError, match=r"launched with BLOCK, which its autotuner sets"):
        record("tuned.py", "fill_twice_set", FILL)


@pytest.mark.parametrize(("block", "even"), ((16, True), (32, False)))
def test_heuristics_are_evaluated(block, even):
    _, args = only(record("tuned.py", "fill_by_rule", FILL, ScalarArg("block", block)))
    assert args["EVEN"].value is even


def test_triton_is_put_back_after_an_error():
    before = JITFunction.run, Autotuner.run
    with pytest.raises(ValueError, match="sorted"):
        record("rows.py", "raise_error")
    assert (JITFunction.run, Autotuner.run) == before


def test_a_large_pool_takes_no_memory():
    huge = make_arguments(CallRecipe((TensorArg("pool", "bf16", (1 << 32, 576)),)))["pool"]
    assert huge.numel() == 576 << 32
    assert float(huge[1 << 31, 3]) == 0.0


def test_tensors_are_strided_and_filled():
    strided = TensorArg("x", "i32", (2, 3), strides=(8, 2), values=(1, 2, 3, 4, 5, 6))
    tensor = make_arguments(CallRecipe((strided,)))["x"]
    assert (tensor.stride(), tensor.tolist()) == ((8, 2), [[1, 2, 3], [4, 5, 6]])
    assert tensor.untyped_storage().nbytes() == 13 * 4


@pytest.mark.parametrize(
    ("arg", "message"),
    (
        (TensorArg("x", "i32", (2,), values=(1,)), "1 values for shape"),
        (TensorArg("x", "i32", (1,), values=(1 << 31,)), "does not fit i32"),
        (TensorArg("x", "f32", (1,), values=(1,)), "only integer tensors"),
        (TensorArg("x", "f9", (1,)), "unknown dtype 'f9'"),
        (TensorArg("x", "f32", (2, 2), strides=(1,)), "do not fit shape"),
        (TensorArg("x", "f32", (2,), strides=(-1,)), "do not fit shape"),
    ),
)
def test_tensors_that_cannot_be_made(arg, message):
    with pytest.raises(KvproofError, match=message):
        make_arguments(CallRecipe((arg,)))


def test_an_empty_tensor_is_told_apart():
    recorder = record(
        "rows.py",
        "write_with_options",
        CallRecipe((*ROWS.args[:1], TensorArg("row", "f32", (2, 0)), *ROWS.args[2:])),
    )
    assert only(recorder)[1]["row_ptr"].tensor == "row"
