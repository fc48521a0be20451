"""What a proof costs: cold and warm time per writer, time per question, and pools of every size.

    python bench/proof_latency.py [TARGET]          (default: sglang==0.5.23)

One process, one core for the solver. "cold" is the first job of a writer in a fresh checker, with
the capturing child's start, the compile and every obligation; "warm" is the median of its other
jobs. A question that equals an earlier one of the writer is not asked again, and not counted. The
last table proves the first writer for pools of 2^10 to 2^40 places.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from dataclasses import replace
from importlib.metadata import version

from kvproof.checkers.answered import Answered
from kvproof.checkers.check import Checker, JobReport
from kvproof.engines.jobs import engine_jobs
from kvproof.spec.contract import Range
from kvproof.spec.job import Job
from rich.console import Console
from rich.table import Table


def median_ms(values: list[float]) -> str:
    """Return the median in milliseconds, or a dash for no value."""
    return f"{1000 * statistics.median(values):.1f}" if values else "-"


def per_writer(console: Console, jobs: list[Job]) -> list[JobReport]:
    """Print a row per writer: cold, warm, and what a question takes."""
    table = Table("writer", "jobs", "cold s", "warm ms", "question ms (median)", "p95", "max")
    reports: list[JobReport] = []
    for name in dict.fromkeys(job.writer for job in jobs):
        mine = [job for job in jobs if job.writer == name]
        times: list[float] = []
        with Checker(replay=False, workers=1) as checker:
            own: list[JobReport] = []
            for job in mine:
                begun = time.perf_counter()
                own.append(checker.check(job))
                times.append(time.perf_counter() - begun)
        questions = sorted(q for report in own for q in report.queries)
        table.add_row(
            name,
            str(len(mine)),
            f"{times[0]:.2f}",
            median_ms(times[1:]),
            median_ms(questions),
            f"{1000 * questions[int(0.95 * len(questions))]:.1f}",
            f"{1000 * questions[-1]:.0f}",
        )
        reports += own
    console.print(table)
    questions = [q for report in reports for q in report.queries]
    console.print(f"{len(questions)} questions, median {median_ms(questions)} ms")
    return reports


def per_pool(console: Console, job: Job) -> None:
    """Print the time of one job for pools of 2^10 to 2^40 places."""
    table = Table("places", "ms (median of 5)", "questions")
    with Checker(replay=False, drop=False, workers=1) as checker:
        checker.check(job)
        for power in range(10, 41, 5):
            sized = replace(job, instance=replace(job.instance, pool=Range(1, 1 << power)))
            times: list[float] = []
            for _ in range(5):
                checker.answered = Answered()  # else the second round asks nothing
                report = checker.check(sized)
                times.append(sum(report.queries))
            table.add_row(f"2^{power}", median_ms(times), str(len(report.queries)))
    console.print(table)


def whole(console: Console, jobs: list[Job]) -> None:
    """Print the time of the whole check, replays included, on all cores."""
    begun = time.perf_counter()
    with Checker() as checker:
        reports = checker.finish(list(checker.check_all(jobs)))
    seconds = time.perf_counter() - begun
    results = sum(len(report.results) for report in reports)
    console.print(f"whole check: {len(jobs)} jobs, {results} promises, {seconds:.1f} s")


def main() -> None:
    """Print machine, versions and the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="?", default="sglang==0.5.23")
    target = parser.parse_args().target
    console = Console(width=100)
    names = ("kvproof", "triton", "z3-solver", "torch")
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    console.print(f"{platform.machine()}, Python {platform.python_version()}, {versions}")
    jobs = engine_jobs(target, console=console)
    whole(console, jobs)
    per_writer(console, jobs)
    per_pool(console, jobs[0])


def _version(name: str) -> str:
    try:
        return version(name)
    except Exception:  # noqa: BLE001 - a tree that is not installed has no version
        return "?"


if __name__ == "__main__":
    main()
