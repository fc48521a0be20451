"""Holds the op table to reality: random programs in every domain, on the interpreter, on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .programs import FILL, Program
from .tally import Disagreement, Tally

#: Programs that one run of Hypothesis draws.
CHUNK = 250


@dataclass
class Report:
    """The outcome of a self-test.

    Args:
        tally: what was compared.
        disagreements: every disagreement found, with the shrunk program that shows it.
        device: "cpu" or "cuda".
        seconds: time spent.
    """

    tally: Tally = field(default_factory=Tally)
    disagreements: list[tuple[Disagreement, Program]] = field(default_factory=list)
    device: str = "cpu"
    seconds: float = 0.0


class Interpreter:
    """Triton's interpreter in a child process, which is started again when it dies."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._child: subprocess.Popen[str] | None = None

    def run(self, program: Program) -> dict[str, bytes] | str:
        """Return the final memory, or one line that says why there is none."""
        if self._child is None or self._child.poll() is not None:
            env = {**os.environ, "TRITON_INTERPRET": "1"}
            self._child = subprocess.Popen(
                [sys.executable, "-m", "kvproof.diff.program_child"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, env=env,
            )  # fmt: skip
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps({**program.to_json(), "fill": FILL}) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self.close()
            return "the interpreter's process ended"
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            return str(answer["refused"])
        return {name: bytes.fromhex(text) for name, text in answer["memory"].items()}

    def close(self) -> None:
        """End the child. Safe to call again."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for stream in (self._child.stdin, self._child.stdout):
                if stream is not None:
                    stream.close()
            self._child = None


class Differs(AssertionError):
    """Two runs of a program differ; Hypothesis shrinks what raises it."""

    def __init__(self, found: Disagreement) -> None:
        """Keep the disagreement."""
        super().__init__(str(found))
        self.found = found


def check_program(program: Program, tally: Tally, interpreter: Interpreter | None) -> None:
    """Run one program in every domain at hand. Raises Differs at the first disagreement."""
    from .reality import compare, interpreter_fault, run_torch
    from .symbolic_programs import check

    memory = run_torch(program)
    tally.holds(program)
    for found in check(program, memory, tally, points=1, seed=program.seed):
        raise Differs(found)
    if interpreter is None:
        return
    got = interpreter.run(program)
    if isinstance(got, str):
        tally.add("refused", "interpreter", got)
        return
    tally.ran["interpreter"] += 1
    for found in compare(program, memory, got, "interpreter", tally, fault=interpreter_fault):
        raise Differs(found)


def run_cpu(
    *,
    programs: int,
    seconds: float,
    seed: int = 0,
    interpreter: bool = True,
    told: Callable[[int], None] | None = None,
) -> Report:
    """Draw and check programs until one of the limits is reached.

    Args:
        programs: the largest number of programs.
        seconds: the longest time.
        seed: of the first draw; later draws count on from it.
        interpreter: whether Triton's interpreter runs them as well.
        told: called with the number of programs so far.
    """
    import torch

    torch.set_num_threads(1)
    report = Report()
    begun = time.perf_counter()
    runner = Interpreter() if interpreter else None
    done = 0
    try:
        while done < programs and time.perf_counter() - begun < seconds:
            count = min(CHUNK, programs - done)
            found = _draw(count, seed + done, report.tally, runner)
            if found is not None:
                report.disagreements.append(found)
            done += count
            if told is not None:
                told(done)
            if len(report.disagreements) > 20:
                break
    finally:
        if runner is not None:
            runner.close()
    report.seconds = time.perf_counter() - begun
    return report


def _draw(
    count: int, seed: int, tally: Tally, runner: Interpreter | None
) -> tuple[Disagreement, Program] | None:
    """Draw and check programs; return the shrunk one that differs, or None."""
    import hypothesis

    from .program_strategy import programs

    last: list[Program] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=tuple(hypothesis.HealthCheck),  # pyright: ignore[reportArgumentType]
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        report_multiple_bugs=False,
    )
    @hypothesis.given(programs())
    def draw(program: Program) -> None:
        last[:] = [program]
        check_program(program, tally, runner)

    try:
        draw()
    except Differs as differs:
        return differs.found, last[0]
    return None


def versions(device: str) -> dict[str, str]:
    """Return the versions of what ran, named apart for each device."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for name in ("torch", "triton", "z3-solver"):
        try:
            found[f"{name} ({device})"] = version(name)
        except PackageNotFoundError:
            continue
    if device == "cuda":
        import torch

        found["GPU"] = torch.cuda.get_device_name()
    return found
