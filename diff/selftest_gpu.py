"""Random programs on a GPU: each worker draws, compiles from IR, launches and compares its own.

Every program's IR text goes through Triton's own pipeline, so what is compared is the compiler and
the hardware, not the front end. Products are not fused into sums (`enable_fp_fusion` off): the IR
says which operation rounds.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
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
    except Exception as problem:  # noqa: BLE001 - whatever the compiler raises is its answer
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
        suppress_health_check=tuple(hypothesis.HealthCheck),  # pyright: ignore[reportArgumentType]
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
