"""Recorded launches compile to located TTIR, once, for a named target, without a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from kvproof.checkers.capture import capture
from kvproof.checkers.compiling import Compiler
from kvproof.checkers.loading import Loaded, ModuleSource, load_module
from kvproof.checkers.targets import parse_target
from kvproof.spec.call import CallRecipe, ScalarArg, TensorArg
from kvproof.spec.errors import KvproofError
from kvproof.spec.launch import Capture

WRITERS = Path(__file__).parent / "fixtures" / "writers"
ENGINE = ModuleSource(file="toyengine/ops/writer.py", root=str(WRITERS / "engine"))
FILL = CallRecipe(
    (TensorArg("cache", "f32", (8, 16)), TensorArg("slots", "i64", (2,), values=(3, 5)))
)
CACHE = CallRecipe((TensorArg("cache", "f32", (64,)),))
ROWS = CallRecipe((FILL.args[0], TensorArg("row", "f32", (2, 16)), FILL.args[1]))


def grab(
    source: Loaded | str, function: str, recipe: CallRecipe = ROWS, *, target="cuda:90", **lift
) -> Capture:
    """Capture a call of a fixture's function with a compiler of its own."""
    loaded = (
        load_module(ModuleSource(file=str(WRITERS / source))) if isinstance(source, str) else source
    )
    return capture(
        loaded, function, recipe, Compiler(parse_target(target), shown=loaded.shown), lift=lift
    )


def test_the_ir_is_located_in_the_file():
    got = grab(load_module(ENGINE), "fill", FILL)
    (launch,) = got.launches
    assert got.error is None
    assert (launch.kernel, launch.file) == ("fill_kernel", "toyengine/ops/writer.py")
    lines = ENGINE.path.read_text().splitlines()
    assert lines[launch.line - 1].startswith("def fill_kernel")
    store = next(at for at, line in enumerate(lines, 1) if "tl.store" in line)
    assert f'loc("toyengine/ops/writer.py":{store}:' in launch.ttir
    assert str(WRITERS) not in launch.ttir
    assert "tt.store" in launch.ttir
    assert "llvm" not in launch.ttir


def test_no_alignment_is_promised():
    assert "divisibility" not in grab("rows.py", "write_rows").launches[0].ttir


def test_the_hash_is_of_the_program_and_not_of_its_place(tmp_path):
    moved = tmp_path / "tuned.py"
    moved.write_text("\n\n" + (WRITERS / "tuned.py").read_text())
    changed = tmp_path / "changed.py"
    changed.write_text((WRITERS / "tuned.py").read_text().replace("slot > 0", "slot > 1"))
    here, there, other = (
        grab(load_module(ModuleSource(file=str(file))), "fill_by_rule", FILL).launches[0]
        for file in (WRITERS / "tuned.py", moved, changed)
    )
    assert (there.line, there.ttir != here.ttir, there.ttir_hash) == (
        here.line + 2,
        True,
        here.ttir_hash,
    )
    assert other.ttir_hash != here.ttir_hash


def test_equal_programs_are_compiled_once():
    loaded = load_module(ModuleSource(file=str(WRITERS / "rows.py")))
    compiler = Compiler(parse_target("cuda:90"))
    for pool, compiled in ((8, 1), (9, 1)):
        recipe = CallRecipe((TensorArg("cache", "f32", (pool, 16)), *ROWS.args[1:]))
        assert capture(loaded, "write_rows", recipe, compiler).launches[0].args[0].shape == (
            pool,
            16,
        )
        assert compiler.compiled == compiled
    wider = CallRecipe((ROWS.args[0], TensorArg("row", "f32", (2, 8)), ROWS.args[2]))
    capture(loaded, "write_rows", wider, compiler)
    assert compiler.compiled == 2


def test_constants_are_lifted_where_the_body_allows_it():
    plain = grab("rows.py", "write_rows").launches[0]
    assert (plain.arg("D").kind, "%D: i32" in plain.ttir) == ("constexpr", False)
    got = grab("rows.py", "write_rows", D="i32", BLOCK="i32", ABSENT="i32")
    launch = got.launches[0]
    assert (launch.arg("D").kind, launch.arg("D").type, launch.arg("D").value) == (
        "scalar",
        "i32",
        16,
    )
    assert "%D: i32" in launch.ttir
    assert launch.arg("BLOCK").kind == "constexpr"
    (note,) = got.notes
    assert note.startswith("could not lift BLOCK of row_kernel: ")
    assert "arange" in note
    assert grab("rows.py", "write_rows", D="i32").notes == ()


def test_a_kernel_that_does_not_compile_is_told_by_line():
    line = next(
        n
        for n, text in enumerate((WRITERS / "broken.py").read_text().splitlines(), 1)
        if "lanes =" in text
    )
    got = grab("broken.py", "write_broken", CACHE)
    assert got.launches == ()
    assert got.error is not None
    assert f"broken.py:{line}: kernel broken_kernel does not compile: " in got.error
    assert "power of 2" in got.error
    assert "\n" not in got.error
    assert (
        grab("broken.py", "write_broken", CallRecipe((*CACHE.args, ScalarArg("width", 16)))).error
        is None
    )


def test_an_unknown_option_is_told():
    error = grab("rows.py", "write_with_wrong_option").error
    assert error is not None
    assert "row_kernel: it is launched with warps, which it does not take" in error
    assert grab("rows.py", "write_with_options").error is None


def test_a_kernel_sees_the_named_target():
    nvidia = grab("broken.py", "write_target", CACHE).launches[0].ttir
    amd = grab("broken.py", "write_target", CACHE, target="hip:gfx942").launches[0].ttir
    assert ("1.000000e+00" in nvidia, "2.000000e+00" in nvidia) == (True, False)
    assert ("1.000000e+00" in amd, "2.000000e+00" in amd) == (False, True)
    for wrong in ("cuda", "cuda:sm90", "hip:90", "tpu:4"):
        with pytest.raises(KvproofError, match="unknown target"):
            parse_target(wrong)


def test_a_configuration_that_the_kernel_rejects_is_left_out():
    got = grab("tuned.py", "fill_every", FILL)
    assert [launch.options["num_warps"] for launch in got.launches] == [1, 2]
    assert any("BLOCK=64" in note and "is rejected" in note for note in got.notes)
    alone = grab("tuned.py", "fill_too_wide", FILL)
    assert alone.launches == ()
    assert alone.error is not None
    assert "block too wide" in alone.error


def test_every_kind_of_argument_compiles():
    got = grab("kinds.py", "launch_kinds", CallRecipe((TensorArg("out", "f32", (4,)),)))
    assert got.error is None
    assert got.launches[0].ttir.count("%large: i64") == 1


def test_a_path_without_triton_is_noted():
    assert grab("rows.py", "launch_nothing") == Capture((), None, ())
    assert grab("rows.py", "write_in_torch").notes == (
        "torch itself wrote to cache, outside any kernel",
    )
    fast = {
        "toyengine.ops.vendor.can_fill": ("call", True),
        "toyengine.platform.current.fast": ("value", True),
    }
    got = grab(load_module(ENGINE, fast), "fill", FILL)
    assert got.launches == ()
    assert "called stub toyengine.ops.vendor.vendor_fill with tensors cache, slots" in got.notes
    slow = grab(load_module(ENGINE), "fill", FILL)
    assert len(slow.launches) == 1
    assert "called stub toyengine.ops.vendor.can_fill, which answers false" in slow.notes


def test_a_switch_decides_a_constant():
    waiting = load_module(ENGINE, {"toyengine.platform.supports_wait": ("call", True)})
    assert grab(waiting, "fill", FILL).launches[0].arg("WAIT").value is True
    assert grab(load_module(ENGINE), "fill", FILL).launches[0].arg("WAIT").value is False


def test_a_stub_is_no_argument():
    error = grab(load_module(ENGINE), "fill_by_stub", FILL).error
    assert error is not None
    assert "<stub toyengine.platform.current.lanes> is passed to kernel fill_kernel" in error
    given = load_module(ENGINE, {"toyengine.platform.current.lanes": ("value", 16)})
    assert grab(given, "fill_by_stub", FILL).error is None


def test_torch_is_asked_through_a_switch():
    assert grab(load_module(ENGINE), "fill_on_device", FILL).error is not None
    given = load_module(ENGINE, {"torch.cuda.get_device_capability": ("call", [9, 0])})
    assert grab(given, "fill_on_device", FILL).launches[0].grid == (9, 1, 1)


def test_an_error_of_the_host_is_one_line():
    error = grab("rows.py", "raise_error").error
    assert error is not None
    assert "raise_error raises ValueError: slots must be sorted by the caller" in error
    assert "\n" not in error


def test_the_whole_compiler_stands_in_where_its_steps_changed(monkeypatch, tmp_path):
    def changed(*_):
        raise AttributeError("no such step")

    steps = grab("rows.py", "write_rows").launches[0]
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    monkeypatch.setattr(Compiler, "_first_stage", changed)
    assert grab("rows.py", "write_rows").launches[0].ttir == steps.ttir
    assert list(tmp_path.iterdir()) == []
