"""`python -m kvproof.cli.graph TARGET`: the CUDA graph scenario over a target's writers."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from ..diff.graph import GraphReport, run_graph
from ..diff.hosting import LoadedRunner
from ..spec.errors import KvproofError
from .request import Request, jobs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenario, print a line for each job, and return 0, 1 (a fault) or 2 (no run)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="engine==version, or path/to/file.py::function")
    parser.add_argument("--json", type=Path, help="write all replays there")
    parser.add_argument("--root", help="folder with kvproof's cache of fetched engines")
    parser.add_argument("--contract", default="", help="name of a built-in contract, for a file")
    parser.add_argument("--writer", action="append", default=[], help="only this writer")
    options = parser.parse_args(arguments)
    if options.root:
        os.environ["KVPROOF_CACHE"] = options.root
    try:
        reports = _run(options.target, options.contract, tuple(options.writer))
    except KvproofError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    if options.json:
        content = {"machine": machine(), "jobs": [report.to_json() for report in reports]}
        options.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    broken = sum(bool(report.mismatches) for report in reports)
    unrun = sum(not report.captured for report in reports)
    sys.stdout.write(
        f"{len(reports)} jobs, {broken} with a fault, {unrun} not captured; {machine()}\n"
    )
    return 1 if broken else 2 if unrun else 0


def _run(target: str, contract: str, writers: tuple[str, ...]) -> list[GraphReport]:
    runner = LoadedRunner()
    reports: list[GraphReport] = []
    for job in jobs(Request(target=target, contract=contract)):
        if writers and job.writer not in writers:
            continue
        report = run_graph(job, runner=runner)
        reports.append(report)
        seen = {f"{item.invariant}: {item.text}": None for item in report.mismatches}
        bad = [str(r.real) for r in report.replays if r.outcome.mismatches]
        said = f"replays with {', '.join(bad)} real rows: {next(iter(seen))}" if bad else "agrees"
        if not report.captured:
            said = f"not captured: {report.reason}"
        sys.stdout.write(f"{job.writer}, {job.label}: {said}\n")
    return reports


def machine() -> str:
    """Return the GPU and the versions in one line."""
    import torch
    import triton

    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return (
        f"{name}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"triton {triton.__version__}"
    )


if __name__ == "__main__":
    sys.exit(main())
