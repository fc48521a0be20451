"""A self-test on several processes: each draws and checks its own programs."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .tally import Tally


def run_workers(
    *,
    device: str,
    programs: int,
    seconds: float,
    workers: int,
    seed: int = 0,
    interpreter: bool = True,
) -> tuple[Tally, list[dict[str, str]]]:
    """Check programs with several processes; return what was compared and every disagreement.

    Args:
        device: "cpu" or "cuda".
        programs: how many.
        seconds: the longest time.
        workers: processes.
        seed: of the first draw.
        interpreter: whether Triton's interpreter runs them as well, on the CPU.

    A disagreement is its line ("text"), the op ("label") and the program ("ttir"). A worker that
    dies loses its programs and is a disagreement of its own.
    """
    share = -(-programs // workers)

    def one(number: int) -> dict[str, Any]:
        order = {
            "device": device, "count": share, "seed": seed + 7919 * number, "seconds": seconds,
            "interpreter": interpreter,
        }  # fmt: skip
        made = subprocess.run(
            [sys.executable, "-m", "kvproof.diff.selftest_workers"], input=json.dumps(order),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode != 0:
            last = (made.stderr.strip().splitlines() or ["no message"])[-1]
            text = f"the worker with seed {order['seed']} ended: {last}"
            return {"tally": Tally().to_json(), "wrong": [{"text": text, "label": "", "ttir": ""}]}
        return json.loads(made.stdout.splitlines()[-1])

    tally = Tally()
    wrong: list[dict[str, str]] = []
    with ThreadPoolExecutor(workers) as pool:
        for answer in pool.map(one, range(workers)):
            tally.merge(Tally.from_json(answer["tally"]))
            wrong += answer["wrong"]
    return tally, wrong


def work(
    *, device: str, count: int, seed: int, seconds: float, interpreter: bool
) -> dict[str, Any]:
    """Draw and check programs in this process; return tally and disagreements, JSON-able."""
    if device == "cuda":
        from .selftest_gpu import work as on_gpu

        return on_gpu(count, seed, seconds)
    from .selftest import run_cpu

    report = run_cpu(programs=count, seconds=seconds, seed=seed, interpreter=interpreter)
    wrong = [
        {"text": str(found), "label": found.label, "ttir": program.ttir}
        for found, program in report.disagreements
    ]
    return {"tally": report.tally.to_json(), "wrong": wrong}


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(work(**json.loads(sys.stdin.read()))) + "\n")
