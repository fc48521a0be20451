"""A failing trial as text: the script shows the fault by itself, and only where there is one."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest
from kvproof.diff.api import Layout
from kvproof.diff.runner import EvaluatorRunner
from kvproof.diff.script import one_line, stand_alone

from tests.jobs import WRITERS
from tests.trials import BARE, FP8, SHARDED, prepared, trial, uncaptured


def script(folder, function, slots, contract=BARE, *, layout=None, payload=None, **more):
    """Write the script of a trial and return its path."""
    call, made = prepared(function, contract, **more)
    case = trial(made, slots, layout=layout, payload=payload or {})
    text = stand_alone(call, case, EvaluatorRunner().run(call, case))
    path = folder / "fault.py"
    path.write_text(text, encoding="utf-8")
    return path


def run(path, *arguments):
    """Run a script without kvproof on the path."""
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "TRITON_INTERPRET"}}
    env["CUDA_VISIBLE_DEVICES"] = ""
    command = [sys.executable, str(path), *arguments]
    done = subprocess.run(
        command, cwd=path.parent, env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("function", "slots", "contract", "more", "says"),
    (
        ("masked_without_skip", (0,), BARE, {}, "slot 0, nope column 0"),
        ("sharded_by_all", (2,), SHARDED, {"world": 2, "rank": 1}, "W12"),
        ("clearing", (2,), BARE, {}, "cache_k_nope: 6 elements"),
        (
            "plus_zero",
            (1,),
            BARE,
            {"payload": {("cache_k_nope", 0, 0): 0x80000000}},
            "0x00000000 instead of 0x80000000",
        ),
        ("masked_refuses_none", (), BARE, {}, "ValueError: no rows"),
    ),
)
def test_the_script_exits_1_where_the_fault_shows(tmp_path, function, slots, contract, more, says):
    code, text = run(script(tmp_path, function, slots, contract, **more))
    assert code == 1, text
    assert says in text


@pytest.mark.parametrize("layout", (Layout(), Layout(cache_offset=1, source_offset=3)))
def test_the_script_exits_0_for_a_right_writer(tmp_path, layout):
    path = script(tmp_path, "masked", (0, 3, 1), layout=layout)
    assert run(path) == (0, "all memory is as the contract says\n")


def test_the_script_takes_another_file_and_says_when_there_is_none(tmp_path):
    path = script(tmp_path, "masked_without_skip", (0,))
    other = tmp_path / "other.py"
    text = (WRITERS / "styles.py").read_text(encoding="utf-8")
    other.write_text(text.replace("skip=False", "skip=True"), encoding="utf-8")
    assert run(path)[0] == 1
    assert run(path, str(other))[0] == 0
    code, said = run(path, str(tmp_path / "gone.py"))
    assert (code, said.startswith("no file")) == (2, True)


def test_the_script_refuses_where_the_interpreter_is_wrong(tmp_path):
    code, said = run(script(tmp_path, "plus_zero", (0,), dtype="bf16"))
    assert (code, "needs a GPU: the interpreter is wrong for bf16" in said) == (2, True)


def test_the_script_s_cast_is_the_contract_s():
    call, made = uncaptured(FP8, dtype="bf16")
    text = stand_alone(call, trial(made, (1,)), EvaluatorRunner().run(call, trial(made, (1,))))
    tree = ast.parse(text)
    names = {"encode"}
    wanted = [
        node
        for node in tree.body
        if (isinstance(node, ast.FunctionDef) and node.name in names)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in _CONSTANTS)
    ]
    space: dict[str, object] = {}
    exec(compile(ast.Module(wanted, []), "script", "exec"), space)  # noqa: S102 - its own text
    from kvproof.spec.dtypes import cast_table

    table = cast_table("bf16", "f8e4m3fn", saturate=True)
    encode = space["encode"]
    assert [encode(bits) for bits in range(1 << 16)] == list(table)  # type: ignore[operator]


_CONSTANTS = {"(SOURCE, TARGET)", "SOURCE, TARGET", "SATURATE"}


def test_the_script_holds_no_line_of_the_writer_s_file(tmp_path):
    text = script(tmp_path, "masked_without_skip", (0,)).read_text(encoding="utf-8")
    source = (WRITERS / "styles.py").read_text(encoding="utf-8")
    lines = {line.strip() for line in source.splitlines() if len(line.strip()) > 24}
    assert not lines & {line.strip() for line in text.splitlines()}
    assert "kvproof" not in text


def test_one_line_is_one_line_and_names_the_job():
    _, made = uncaptured(BARE)
    text = one_line(made, trial(made, (0,), payload={("cache_k_nope", 0, 0): 1}))
    assert "\n" not in text
    assert "contract='mla-row-norope'" in text
    assert repr(made.label) in text
    ast.parse(text)
