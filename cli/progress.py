"""How far a check has come: a bar on a terminal, a line per writer elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..spec.job import Job
from .layout import counted

#: Called with the number of jobs that are done, from 0 on.
Report = Callable[[int], None]


@contextmanager
def progress(console: Console, jobs: Sequence[Job]) -> Generator[Report]:
    """Show how far the jobs have come; the bar is gone afterwards.

    Args:
        console: where; standard error, so that a report in a pipe stays clean.
        jobs: the jobs, in order.
    """
    if not console.is_terminal:
        yield _plain(console, jobs)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=len(jobs))

        def report(number: int) -> None:
            what = jobs[number].writer if number < len(jobs) else "replaying counterexamples"
            bar.update(task, completed=number, description=what)

        yield report


def _plain(console: Console, jobs: Sequence[Job]) -> Report:
    def report(number: int) -> None:
        if number == len(jobs):
            return
        writer = jobs[number].writer
        if number == 0 or jobs[number - 1].writer != writer:
            count = sum(job.writer == writer for job in jobs)
            line = f"checking {writer} in {counted(count, 'configuration')}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    return report
