"""The command line as a process of its own: Ctrl-C, a reader that goes away, nothing imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

#: Numbers that take any solver longer than a test may last.
HARD = """
a, b, c, d = z3.BitVecs("a b c d", 64)
solver = z3.SolverFor("QF_BV")
solver.add(a * b * c == d, z3.UDiv(d, a) != b * c, a > 9, b > 9, c > 9, d > 9)
solver.add(z3.URem(d, a * 7 + 1) == b * 3 - 1, a * a * a == b * c * c + 1)
solver.add(z3.UDiv(a * b, c) == d + a)
"""


def start(*args, cwd, **more):
    # A test run in the background of a shell ignores Ctrl-C, and hands that on.
    return subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, *args],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def children(parent):
    """Return the ids of the processes that a process started."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(number) for number in found]


def test_ctrl_c_is_one_line_and_leaves_nothing_behind(tmp_path):
    process = start(*("-m", "kvproof.cli.main", "check", "--json", "report.json"), cwd=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("checking write_rows")
    started = children(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (2, "", "kvproof: interrupted\n")
    assert list(tmp_path.iterdir()) == []
    for number in started:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def script(body):
    return textwrap.dedent(
        """
        import os, signal, threading
        import z3
        from kvproof.cli.interrupt import interruptible
        """
    ) + textwrap.dedent(body)


def test_ctrl_c_stops_a_question_to_the_solver(tmp_path):
    text = script(
        HARD
        + """
with interruptible():
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        print("answer", solver.check())
    except KeyboardInterrupt:
        print("interrupted")
"""
    )
    process = start("-c", text, cwd=tmp_path)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "interrupted\n", "")


def test_a_question_that_nobody_interrupts_is_answered(tmp_path):
    text = script(
        """
        x = z3.BitVec("x", 8)
        solver = z3.SolverFor("QF_BV")
        solver.add(x * x == 49)
        with interruptible():
            print("answer", solver.check())
        """
    )
    process = start("-c", text, cwd=tmp_path)
    assert process.communicate(timeout=120)[0] == "answer sat\n"


def test_a_process_that_does_not_end_is_ended(tmp_path):
    text = script(
        """
        import kvproof.cli.interrupt as interrupt
        interrupt.PATIENCE = 0.3
        with interruptible():
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                try:
                    while True:
                        pass
                except KeyboardInterrupt:
                    pass
        """
    )
    process = start("-c", text, cwd=tmp_path)
    assert process.communicate(timeout=120) == ("", "kvproof: interrupted\n")
    assert process.returncode == 2


@pytest.mark.parametrize("command", (("list",), ("explain", "mla-row-sharded")))
def test_a_reader_that_goes_away_is_no_fault(tmp_path, command):
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "kvproof.cli.main", *command],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_users_module_and_heavy_packages_stay_outside(tmp_path):
    (tmp_path / "mine.py").write_text(
        "raise SystemExit('imported')\ndef f(kv_buffer, loc, cache_k_nope): ...\n"
    )
    body = """
        import sys
        from kvproof.cli.main import app
        from kvproof.cli.request import Request, jobs
        from kvproof.cli.versions import versions
        found = jobs(Request(target="mine.py::f", contract="mla-row-norope"))
        told = [name for name, text in versions().items() if text != "unknown"]
        print(len(found), sorted({"triton", "z3", "torch", "python"} - set(told)))
        print(sorted({"torch", "triton", "z3", "mine"} & set(sys.modules)))
    """
    process = start("-c", textwrap.dedent(body), cwd=tmp_path)
    out, err = process.communicate(timeout=120)
    assert (out, err) == ("8 []\n[]\n", "")
