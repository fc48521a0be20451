"""The child answers with plain data, and its end is an error that names the call."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kvproof.checkers.child import Child
from kvproof.checkers.loading import ModuleSource
from kvproof.spec.call import CallRecipe, TensorArg
from kvproof.spec.errors import KvproofError

WRITERS = Path(__file__).parent / "fixtures" / "writers"
ENGINE = ModuleSource(file="toyengine/ops/writer.py", root=str(WRITERS / "engine"))
ROWS = ModuleSource(file=str(WRITERS / "rows.py"))
CALL = CallRecipe(
    (
        TensorArg("cache", "f32", (8, 16)),
        TensorArg("row", "f32", (2, 16)),
        TensorArg("slots", "i64", (2,), values=(3, 5)),
    )
)


@pytest.fixture(scope="module")
def child():
    """Give one child to all tests; it starts again after those that end it."""
    with Child() as started:
        yield started


def pid(child: Child) -> int:
    """Return the process id of the running child."""
    assert child._process is not None
    return child._process.pid


def alive(process: int) -> bool:
    """Tell whether a process of that id runs (one that waits to be reaped does not)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_capture_crosses_the_border(child):
    got = child.capture(ROWS, "write_rows", CALL, lift={"D": "i32"})
    (launch,) = got.launches
    assert (got.error, got.notes, launch.grid) == (None, (), (2, 1, 1))
    assert launch.arg("D").kind == "scalar"
    assert launch.arg("cache_ptr").strides == (16, 1)
    assert "tt.store" in launch.ttir


def test_one_process_serves_many(child):
    child.capture(ROWS, "write_rows", CALL)
    first = pid(child)
    assert "fill" in child.load(ENGINE)
    fill = CallRecipe((CALL.args[0], CALL.args[2]))
    values = [
        child.capture(ENGINE, "fill", fill, switches=switches).launches[0].arg("WAIT").value
        for switches in ({}, {"toyengine.platform.supports_wait": ("call", True)}, {})
    ]
    assert values == [False, True, False]
    assert pid(child) == first


def test_prints_are_no_answers(child):
    assert len(child.capture(ROWS, "print_and_write", CALL).launches) == 1


def test_errors_cross_the_border(child):
    with pytest.raises(KvproofError, match=r"no function 'write_row' - nearest: write_rows"):
        child.capture(ROWS, "write_row", CALL)
    with pytest.raises(KvproofError, match=r"cannot read the file"):
        child.load(ModuleSource(file="absent.py"))
    error = child.capture(ROWS, "leave_politely", CALL).error
    assert error is not None
    assert "leave_politely raises SystemExit: 4" in error


def test_a_crash_names_the_call_and_the_next_call_works(child):
    with pytest.raises(
        KvproofError, match=r"^leave: its process ended \(exit status 3\) - .*going away"
    ):
        child.capture(ROWS, "leave", CALL)
    assert len(child.capture(ROWS, "write_rows", CALL).launches) == 1


def test_a_hang_is_killed_and_the_next_call_works(child):
    child.load(ROWS)
    first = pid(child)
    with pytest.raises(KvproofError, match=r"^hang: no answer within 0\.5 s"):
        child.capture(ROWS, "hang", CALL, timeout=0.5)
    assert not alive(first)
    assert len(child.capture(ROWS, "write_rows", CALL).launches) == 1


def test_closing_ends_the_process():
    with Child() as own:
        own.load(ENGINE)
        process = pid(own)
        assert alive(process)
    assert not alive(process)
    own.close()


def test_a_main_that_does_not_exist_is_told():
    with (
        Child(main="kvproof.checkers.absent") as own,
        pytest.raises(
            KvproofError, match=r"its process ended .* No module named kvproof\.checkers\.absent"
        ),
    ):
        own.load(ROWS)


def test_the_child_sees_no_gpu_and_no_interpreter(tmp_path, monkeypatch):
    file = tmp_path / "look.py"
    names = ("CUDA_VISIBLE_DEVICES", "TRITON_INTERPRET", "OWN")
    file.write_text(f"import os\ndef f(): raise ValueError([os.environ.get(n) for n in {names}])\n")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    for env, seen in (
        ({"OWN": "x"}, "['', None, 'x']"),
        ({"TRITON_INTERPRET": "1"}, "['', '1', None]"),
    ):
        with Child(env=env) as own:
            error = own.capture(ModuleSource(file=str(file)), "f", CallRecipe(())).error
        assert error is not None
        assert error.endswith(f"f raises ValueError: {seen}")


def test_the_parent_imports_no_torch_and_its_death_ends_the_child():
    program = f"""
import sys, time
from kvproof.checkers.child import Child
from kvproof.checkers.loading import ModuleSource
child = Child()
child.load(ModuleSource(file={str(WRITERS / "lanes.py")!r}))
print(child._process.pid, "torch" in sys.modules, "triton" in sys.modules, flush=True)
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(  # the child outlives its parent by a second at most
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    process, torch, triton = done.stdout.split()
    assert (torch, triton) == ("False", "False")
    deadline = time.monotonic() + 30
    while alive(int(process)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(int(process))
