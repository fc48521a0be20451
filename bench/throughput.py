"""Whole-memory cases per second: the torch domain, Triton's interpreter, ttsem; and a GPU.

    python bench/throughput.py                              # CPU: torch domain, interpreter
    python bench/throughput.py --ttsem PATH/TO/PYTHON       # and ttsem, from its own environment
    python bench/throughput.py --device cuda                # one at a time, and in batches

All run the same trials of one writer of latent rows (bench/kernels.py) and compare every byte of
every storage. Each runs in a process of its own, one after the other, on one thread. ttsem
(`pip install ttsem` with torch, triton and kvproof's needs beside it) takes Python 3.12 or newer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BURSTS, SINGLE = "torch domain, bursts", "torch domain"
PARTS = (BURSTS, SINGLE, "interpreter", "ttsem", "GPU, one at a time", "GPU, batches")


def job() -> Any:
    """Return the job of bench/kernels.py at 512 + 64 bf16 columns."""
    from kvproof.spec.builtin import MLA_ROW
    from kvproof.spec.contract import Instance, Range
    from kvproof.spec.job import Job, ModuleSource

    dims = {
        "NOPE": 512, "ROPE": 64, "BUFFER_STRIDE": 576,
        "NOPE_STRIDE": 704, "ROPE_STRIDE": 640, "WORLD": 1, "RANK": 0,
    }  # fmt: skip
    kinds = dict.fromkeys(("kv_buffer", "cache_k_nope", "cache_k_rope"), "bf16")
    instance = Instance(
        contract=MLA_ROW, dtypes={**kinds, "loc": "i64"}, dims=dims, pool=Range(1, 1 << 20)
    )
    return Job(
        target="bench/kernels.py::store_rows", writer="store_rows", label="512 + 64 bf16",
        source=ModuleSource(file=str(HERE / "kernels.py")), function="store_rows",
        instance=instance,
    )  # fmt: skip


def trials(count: int, rows: int) -> list[Any]:
    """Return the trials that every part runs: `rows` rows in a pool of three times as many."""
    from kvproof.diff.api import Trial
    from kvproof.diff.variants import variants
    from kvproof.spec.case import Case

    made = job()
    case = Case(dims=made.instance.numbers(), pool=3 * rows + 4, slots=tuple(range(1, rows + 1)))
    batch = variants(made, Trial(case=case), count, seed=1)
    return [batch.at(index) for index in range(count)]


def run_part(part: str, rows: int, seconds: float) -> dict[str, float]:
    """Run one part for a while and return its cases per second."""
    import torch
    from kvproof.diff.hosting import LoadedRunner
    from kvproof.diff.runner import EvaluatorRunner

    torch.set_num_threads(1)
    made, todo = prepared(capture=part in (BURSTS, SINGLE)), trials(128, rows)
    if part in (BURSTS, "GPU, batches"):
        return run_batches(part, made, todo[0], seconds)
    device = "cpu" if part in PARTS[:4] else "cuda"
    runner = EvaluatorRunner() if part == SINGLE else LoadedRunner(device=device)
    done = 0
    first = runner.run(made, todo[0])
    begun, spent = time.perf_counter(), time.process_time()
    while time.perf_counter() - begun < seconds:
        outcome = runner.run(made, todo[done % len(todo)])
        if outcome.status != "agrees":
            raise SystemExit(f"{part}: {outcome} (the first: {first})")
        done += 1
    return measured(done, begun, spent)


def prepared(*, capture: bool) -> Any:
    """Return the prepared job; without its launches where a part needs none."""
    from kvproof.diff.api import Prepared
    from kvproof.diff.prepare import LocalCapture, Preparer
    from kvproof.spec.case import Case

    made = job()
    if not capture:
        return Prepared(made, ())
    case = Case(dims=made.instance.numbers(), pool=1, slots=())
    return Preparer(LocalCapture()).prepare(made, case)


def run_batches(part: str, made: Any, trial: Any, seconds: float) -> dict[str, float]:
    """Run batches of variants: made, filled, run and compared, one wait each."""
    from kvproof.diff.batch import BatchRunner
    from kvproof.diff.bursts import BurstRunner
    from kvproof.diff.hosting import LoadedRunner
    from kvproof.diff.variants import variants

    size = 64 if part == BURSTS else 512
    runner = BurstRunner() if part == BURSTS else BatchRunner(LoadedRunner(device="cuda"))
    runner.run(made, variants(made.job, trial, size, seed=0))
    done, turn = 0, 1
    begun, spent = time.perf_counter(), time.process_time()
    while time.perf_counter() - begun < seconds:
        wrong = runner.run(made, variants(made.job, trial, size, seed=turn))
        if wrong:
            raise SystemExit(f"{part} differs: {wrong}")
        done, turn = done + size, turn + 1
    return measured(done, begun, spent)


def measured(done: int, begun: float, spent: float) -> dict[str, float]:
    """Return cases per second, and per second of this process's own processor time."""
    wall, own = time.perf_counter() - begun, time.process_time() - spent
    return {"rate": done / wall, "own": done / max(own, 1e-9)}


def child(part: str, rows: int, seconds: float, python: str) -> dict[str, float]:
    """Run one part in a process of its own and return what it printed."""
    environment = {**os.environ, "TRITON_INTERPRET": "1" if part == "interpreter" else "0"}
    command = [python]
    if part == "ttsem":
        command += ["-m", "ttsem.sanitize"]
    command += [__file__, "--part", part, "--rows", str(rows), "--seconds", str(seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SystemExit(f"{part} failed: {(done.stderr or done.stdout)[-800:]}")
    return json.loads(lines[-1])


def machine() -> str:
    """Describe the processor, the GPU and the versions in one line."""
    import torch
    import triton

    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    model = names[0] if names else platform.machine()
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    return f"{model}, {os.cpu_count()} cores{gpu}; {versions}, triton {triton.__version__}"


def main() -> None:
    """Print the table, or run one part for a parent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", type=int, default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=5.0, help="per part and row count")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--ttsem", default="", help="the Python of an environment with ttsem")
    parser.add_argument("--out", help=argparse.SUPPRESS)  # ttsem hands one to every program
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(run_part(options.part, options.rows[0], options.seconds)))
        return
    chosen = list(PARTS[:3] if options.device == "cpu" else PARTS[4:])
    if options.ttsem:
        chosen.append("ttsem")
    print(machine())
    print(f"{'rows':>5}  {'runner':<20} {'cases/s':>9} {'per CPU second':>15} {'of the first':>13}")
    for rows in options.rows:
        base = 0.0
        for part in chosen:
            python = options.ttsem if part == "ttsem" else sys.executable
            try:
                found = child(part, rows, options.seconds, python)
            except SystemExit as problem:
                if part != "ttsem":
                    raise
                print(f"{rows:>5}  {part:<20} not run: {' '.join(str(problem).split())[-160:]}")
                continue
            base = base or found["own"]
            rates = f"{found['rate']:>9,.0f} {found['own']:>15,.0f}"
            print(f"{rows:>5}  {part:<20} {rates} {found['own'] / base:>13.3f}")


if __name__ == "__main__":
    main()
