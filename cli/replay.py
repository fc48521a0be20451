"""Running a counterexample file again."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..spec.errors import KvproofError
from ..spec.invariants import invariant
from . import checking
from .casefile import CaseFile, read_case
from .checking import Replayed
from .layout import labelled, wrapped, write
from .outcome import BROKEN, PROVED, UNDECIDED

#: Characters of a case that are shown.
_LONGEST = 600

_SAID = {
    BROKEN: "confirmed: the contract is broken",
    PROVED: "not confirmed: the call keeps the contract now",
    UNDECIDED: "no runner could run it",
}


def run_replay(path: Path, *, console: Console) -> tuple[int, CaseFile, Replayed]:
    """Run a counterexample file; return the exit code, the file and the outcome per runner.

    Raises KvproofError: the file is damaged, or its target, writer or configuration is gone.
    """
    file = read_case(path)
    job = checking.find_job(file, console=console)
    missing = [name for name in job.instance.dims if name not in file.case.dims]
    if missing:
        raise KvproofError(
            f"its case has no dimension {missing[0]}",
            where=str(path),
            mend="run `kvproof check` again",
        )
    outcomes = checking.run_case(job, file.case, file.invariant, file.statement)
    return exit_code(outcomes), file, outcomes


def exit_code(outcomes: Replayed) -> int:
    """Return 1 when a runner confirms the case, 3 when none ran it, else 0."""
    said = {item["outcome"] for item in outcomes.values()} - {"skipped"}
    if "confirmed" in said:
        return BROKEN
    return PROVED if said else UNDECIDED


def print_replay(console: Console, file: CaseFile, outcomes: Replayed) -> None:
    """Write what was run and what came of it."""
    about = invariant(file.invariant)
    write(console, Text(f"{about.id} {about.title}: {file.writer} ({file.request.target})", "bold"))
    if file.statement:
        labelled(console, "asked", file.statement)
    labelled(console, "at", file.label)
    labelled(console, "case", _cut(repr(file.case)))
    for runner, item in outcomes.items():
        labelled(
            console, runner, ": ".join(part for part in (item["outcome"], item["text"]) if part)
        )
    wrapped(console, _SAID[exit_code(outcomes)], indent=0)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (in the file)"
