"""Random programs on a GPU: each worker draws, compiles from IR, launches and compares its own.

Every program's IR text goes through Triton's own pipeline, so what is compared is the compiler and
the hardware, not the front end. Products are not fused into sums (`enable_fp_fusion` off): the IR
says which operation rounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .programs import Program, Step, memory_of
from .tally import Disagreement, Tally

OPTIONS = {"num_warps": 1, "enable_fp_fusion": False}


class Refused(Exception):
    """A program that Triton does not compile, with the compiler's reason."""


def run_gpu(program: Program, folder: Path) -> dict[str, bytes]:
    """Compile a program from its IR text, run it and return its final memory.

    Raises Refused when it does not compile.
    """
    import torch
    import triton

    file = folder / "kernel.ttir"
    file.write_text(program.ttir, encoding="utf-8")
    try:
        compiled: Any = triton.compile(str(file), options=dict(OPTIONS))
    except Exception as problem:
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        raise Refused(lines[0][:90]) from None
    tensors = {
        name: torch.frombuffer(bytearray(data), dtype=torch.uint8).cuda()
        for name, data in memory_of(program).items()
    }
    order = (*sorted(program.inputs), *sorted(program.outputs))
    compiled[program.grid](*(tensors[name] for name in order))
    torch.cuda.synchronize()
    return {name: tensor.cpu().numpy().tobytes() for name, tensor in tensors.items()}


def check(program: Program, folder: Path, tally: Tally) -> list[Disagreement]:
    """Run a program in the torch domain and on the GPU; return the first disagreement, or none."""
    from .reality import compare, gpu_fault, run_torch

    want = run_torch(program)
    try:
        got = run_gpu(program, folder)
    except Refused as why:
        tally.add("refused", "gpu", str(why))
        return []
    tally.holds(program)
    tally.ran["gpu"] += 1
    return compare(program, want, got, "gpu", tally, fault_at=gpu_fault)


def shrink(
    program: Program, fails: Callable[[Program], Disagreement | None]
) -> tuple[Program, Disagreement] | None:
    """Drop steps one after another while the same op still disagrees; None when none ever does."""
    from .program_steps import build

    def made(steps: Sequence[Step]) -> Program:
        return build(
            steps, lanes=program.lanes, grid=program.grid, seed=program.seed, gpu=program.gpu
        )

    found = fails(program)
    if found is None:
        return None
    steps = list(program.steps)
    at = 0
    while at < len(steps):
        trial = steps[:at] + steps[at + 1 :]
        now = fails(made(trial)) if trial else None
        if now is not None and now.label == found.label:
            steps, found = trial, now
        else:
            at += 1
    return made(steps), found


def draw(count: int, seed: int) -> list[Program]:
    """Return programs that Hypothesis draws."""
    import hypothesis

    from .program_strategy import programs

    found: list[Program] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate,),
    )
    @hypothesis.given(programs(gpu=True))
    def collect(program: Program) -> None:
        found.append(program)

    collect()
    return found[:count]


def work(count: int, seed: int, seconds: float) -> dict[str, Any]:
    """Draw and check programs on this process's GPU; return tally and disagreements."""
    import torch

    torch.set_num_threads(1)
    tally = Tally()
    wrong: list[dict[str, Any]] = []
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "cache"))
        for program in draw(count, seed):
            if time.perf_counter() - begun > seconds:
                break
            if not check(program, folder, tally):
                continue

            def fails(trial: Program) -> Disagreement | None:
                return next(iter(check(trial, folder, Tally())), None)

            small = shrink(program, fails)
            if small is None:
                continue
            shown, found = small
            wrong.append({"text": str(found), "label": found.label, "ttir": shown.ttir})
            if len(wrong) > 10:
                break
    return {"tally": tally.to_json(), "wrong": wrong}


def run_workers(
    *, programs: int, seconds: float, workers: int, seed: int = 0
) -> tuple[Tally, list[dict[str, Any]]]:
    """Check programs on a GPU with several processes.

    Args:
        programs: how many.
        seconds: the longest time for drawing and running.
        workers: processes.
        seed: of the first draw.

    A worker that dies loses its programs and is a disagreement of its own.
    """
    share = -(-programs // workers)

    def one(number: int) -> dict[str, Any]:
        order = {"count": share, "seed": seed + 7919 * number, "seconds": seconds}
        made = subprocess.run(
            [sys.executable, "-m", "kvproof.diff.selftest_gpu"], input=json.dumps(order),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode != 0:
            last = (made.stderr.strip().splitlines() or ["no message"])[-1]
            text = f"gpu: the worker with seed {order['seed']} ended: {last}"
            return {"tally": Tally().to_json(), "wrong": [{"text": text, "label": "", "ttir": ""}]}
        return json.loads(made.stdout.splitlines()[-1])

    tally, wrong = Tally(), []
    with ThreadPoolExecutor(workers) as pool:
        for answer in pool.map(one, range(workers)):
            tally.merge(Tally.from_json(answer["tally"]))
            wrong += answer["wrong"]
    return tally, wrong


if __name__ == "__main__":
    order: dict[str, Any] = json.loads(sys.stdin.read())
    sys.stdout.write("\n" + json.dumps(work(**order)) + "\n")
