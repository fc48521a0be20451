"""Time the evaluator against Triton's interpreter on a writer of latent rows, in one run.

`python bench/evaluator.py [rows ...]` prints a table: medians of the whole call, and the ratio.
Both run `kernels.rope_rows` on the same bytes (bf16, nope 512, rope 64, block 1024, int64 slots,
an eighth of the rows at the reserved slot), and must leave the same cache.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROWS = (8, 64, 1024, 8192)
NOPE, ROPE = 512, 64
WIDTHS = {"row_stride": NOPE + ROPE, "nope_stride": NOPE, "rope_stride": ROPE}
CONSTEXPRS = {**WIDTHS, "NOPE": NOPE, "ROPE": ROPE, "BLOCK": 1024, "RANK": 0, "WORLD": 1}


def tensors(rows: int) -> dict:
    """Return cache, sources and slots as bf16 and int64 tensors, the same for the same rows."""
    import torch

    generator = torch.Generator().manual_seed(rows)

    def noise(count: int) -> torch.Tensor:
        bits = torch.randint(-(1 << 15), 1 << 15, (count,), generator=generator)
        return bits.to(torch.int16).view(torch.bfloat16)

    slots = torch.randperm(2 * rows, generator=generator)[:rows] + 1
    slots[::8] = 0
    cache = noise((2 * rows + 1) * (NOPE + ROPE))
    return {"cache": cache, "nope": noise(rows * NOPE), "rope": noise(rows * ROPE), "slots": slots}


def digest(given: dict) -> str:
    """Return a hash of the cache's bytes."""
    import torch

    return hashlib.sha256(given["cache"].view(torch.uint8).numpy().tobytes()).hexdigest()


def timed(call: Callable[[], object], repeats: int) -> float:
    """Return the median time of a call in seconds, after one that is not counted."""
    call()
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def evaluate_rows(rows: int) -> dict:
    """Time the evaluator in this process."""
    import kernels
    import triton
    from kvproof.checkers.evaluator import Buffer, compile_program
    from kvproof.checkers.ttir_parser import parse_ttir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {"cache": "*bf16", "nope": "*bf16", "rope": "*bf16", "slots": "*i64", "skip": "i32"}
    function = kernels.rope_rows
    signature = {arg: types.get(arg, "constexpr") for arg in function.arg_names}
    source = ASTSource(function, signature, CONSTEXPRS)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    program = compile_program(parse_ttir(compiled.asm["ttir"]))
    given = tensors(rows)
    arguments = {name: Buffer.of(tensor) for name, tensor in given.items()} | {"skip": 0}
    median = timed(lambda: program.run((rows, 1, 1), arguments), max(5, min(400, 20_000 // rows)))
    return {"median": median, "digest": digest(given)}


def interpret_rows(rows: int) -> dict:
    """Time Triton's interpreter in this process, in which it was chosen by the environment."""
    import kernels

    given = tensors(rows)
    median = timed(
        lambda: kernels.rope_rows[rows, 1](**given, skip=0, **CONSTEXPRS),
        1 if rows > 4000 else 3 if rows > 500 else 7,
    )
    return {"median": median, "digest": digest(given)}


def child(part: str, rows: int) -> dict:
    """Run one part in a process of its own and return what it printed."""
    environment = {**os.environ, "TRITON_INTERPRET": "1" if part == "interpreter" else "0"}
    done = subprocess.run(
        [sys.executable, __file__, "--part", part, str(rows)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{part} with {rows} rows failed: {done.stderr[-800:]}")
    return json.loads(done.stdout)


def machine() -> str:
    """Describe the processor and the versions in one line."""
    import torch
    import triton

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    threads = f"{os.cpu_count()} cores, {torch.get_num_threads()} torch threads"
    return f"{model}, {threads}; {versions}, triton {triton.__version__}"


def main() -> None:
    """Print the table, or run one part for a parent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--part", choices=("evaluator", "interpreter"))
    options = parser.parse_args()
    if options.part:
        run = evaluate_rows if options.part == "evaluator" else interpret_rows
        print(json.dumps(run(options.rows[0])))
        return
    print(machine())
    print(f"{'rows':>6} {'evaluator ms':>13} {'interpreter ms':>15} {'ratio':>7} {'cases/s':>9}")
    for rows in options.rows:
        ours, theirs = child("evaluator", rows), child("interpreter", rows)
        if ours["digest"] != theirs["digest"]:
            raise SystemExit(f"{rows} rows: the two caches differ")
        fast, slow = ours["median"], theirs["median"]
        times = f"{fast * 1e3:>13.2f} {slow * 1e3:>15.1f}"
        print(f"{rows:>6} {times} {slow / fast:>6.0f}x {1 / fast:>9.0f}")


if __name__ == "__main__":
    main()
