"""Running a campaign from a request: budget, folder, jobs, progress."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..diff.campaign import run
from ..diff.plan import Plan, Status, Summary
from ..spec.errors import KvproofError
from ..spec.job import Job
from .layout import counted
from .request import Request, jobs

#: Seconds of a campaign that names no budget.
SECONDS = 60.0
#: Seconds between two lines of progress where there is no terminal.
_EVERY = 10.0


def plan(
    request: Request,
    *,
    writers: Iterable[str] = (),
    seconds: float | None = None,
    cases: int | None = None,
    workers: int | None = None,
    folder: Path | None = None,
    device: str = "cpu",
    limit: float = 30.0,
    console: Console,
) -> Plan:
    """Return what a campaign is to do.

    Args:
        request: the target.
        writers: names of the writers to run; all when empty.
        seconds: budget of time; `SECONDS` when there is no other.
        cases: budget of cases, instead.
        workers: processes; one for each core when None, one on a GPU.
        folder: where everything is kept; a folder of the target's name below .kvproof when None.
        device: "cpu" or "cuda".
        limit: seconds that one case may take.
        console: where a download's progress is told.

    Raises:
        KvproofError: the options contradict each other, or the request does not fit.
    """
    if seconds is not None and cases is not None:
        raise KvproofError("--seconds and --cases exclude each other", mend="give one of them")
    for option, value in (
        ("--seconds", seconds),
        ("--cases", cases),
        ("--workers", workers),
        ("--limit", limit),
    ):
        if value is not None and not value > 0:
            raise KvproofError(f"{value:g} is not above 0", where=option)
    if device not in {"cpu", "cuda"}:
        raise KvproofError(f"unknown device {device!r}", where="--device", mend="use cpu or cuda")
    budget = float(cases) if cases is not None else SECONDS if seconds is None else seconds
    cores = len(os.sched_getaffinity(0))
    return Plan(
        jobs=_chosen(jobs(request, console=console), list(writers)),
        folder=folder if folder is not None else _folder(request),
        identity={**request.to_json(), "device": device},
        kind="seconds" if cases is None else "cases",
        budget=budget,
        workers=workers or (1 if device == "cuda" else cores),
        device=device,
        limit=limit,
    )


def fuzz(what: Plan, *, console: Console) -> Summary:
    """Run a campaign and show how far it has come. Raises KvproofError as `campaign.run` does."""
    try:
        with _progress(console, what) as observe:
            return run(what, observe)
    except KeyboardInterrupt:
        raise KvproofError(
            "interrupted", mend="run the same command again to go on: nothing is lost"
        ) from None


def _chosen(found: list[Job], writers: list[str]) -> list[Job]:
    known = list(dict.fromkeys(job.writer for job in found))
    for name in writers:
        if name not in known:
            raise KvproofError(
                f"no writer {name!r}", where="--writer", mend=f"use one of {', '.join(known)}"
            )
    return [job for job in found if not writers or job.writer in writers]


def _folder(request: Request) -> Path:
    plain = re.sub(r"[^A-Za-z0-9._=]+", "-", request.target).strip("-.") or "target"
    return Path(".kvproof") / f"fuzz-{plain}"


@contextmanager
def _progress(console: Console, what: Plan) -> Generator[Callable[[Status], None]]:
    """Show the state of a campaign: a bar on a terminal, a line now and then elsewhere."""
    if not console.is_terminal:
        last = [time.monotonic()]

        def line(status: Status) -> None:
            if time.monotonic() - last[0] >= _EVERY:
                last[0] = time.monotonic()
                console.print(told(status), markup=False, highlight=False, soft_wrap=True)

        writers = dict.fromkeys(job.writer for job in what.jobs)
        start = (
            f"running {counted(len(writers), 'writer')} in "
            f"{counted(len(what.jobs), 'configuration')} on {counted(what.workers, 'worker')}"
        )
        console.print(start, markup=False, highlight=False, soft_wrap=True)
        yield line
        return
    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=what.budget)

        def draw(status: Status) -> None:
            done = status.cases if what.kind == "cases" else status.seconds
            bar.update(task, completed=min(done, what.budget), description=told(status))

        yield draw


def told(status: Status) -> str:
    """Return how far a campaign has come, in one line."""
    parts = [
        counted(status.cases, "case"),
        f"{status.rate:,.0f} a second",
        counted(status.findings, "finding"),
    ]
    if status.incidents:
        parts.append(f"{status.incidents:,} undecided")
    if status.writer:
        parts.append(status.writer)
    return ", ".join(parts)
