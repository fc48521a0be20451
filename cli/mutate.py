"""`kvproof mutate`: which invariant kills which mutant of a right writer, by proof and by runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..spec.errors import KvproofError
from .request import jobs
from .targeting import Contract, Target, asked

if TYPE_CHECKING:
    from ..diff.mutants import Mutation, Outcome

EXITS = (
    "Exit code: 0 every mutant is killed or proved equivalent, 1 one survives, 2 wrong usage or "
    "input, 3 one is undecided."
)


def mutate(
    target: Target = "",
    contract: Contract = "",
    writer: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this writer; may be repeated.")
    ] = None,
    most: Annotated[
        int | None, typer.Option(metavar="N", help="At most N mutants of each writer.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds per question to the solver.")] = 5.0,
    no_run: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--no-run", help="Only prove; do not run mutants.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write every outcome.")
    ] = None,
) -> None:
    """Put small faults into the IR of right writers, and see that the proof refutes each."""
    from ..checkers.child import Child
    from ..diff.mutants import mutate as run
    from ..diff.mutants import right_jobs

    console, errors = Console(), Console(stderr=True)
    request = asked(target, contract)
    chosen = jobs(request, console=errors)
    if writer:
        known = {job.writer for job in chosen}
        unknown = [name for name in writer if name not in known]
        if unknown:
            raise KvproofError(
                f"no writer {unknown[0]!r}", mend=f"use one of {', '.join(sorted(known))}"
            )
        chosen = [job for job in chosen if job.writer in writer]
    found: list[Mutation] = []
    with Child() as child:
        for laboratory in right_jobs(chosen, child, timeout=timeout):
            found.append(run(laboratory, most=most, run=not no_run))
            _writer(console, found[-1])
    if not found:
        raise KvproofError("no writer is proved right as it is", where=request.target)
    _table(console, found)
    if report is not None:
        report.write_text(json.dumps([to_json(item) for item in found], indent=1), "utf-8")
    raise typer.Exit(_code(found))


def _code(found: list[Mutation]) -> int:
    outcomes = [outcome for item in found for outcome in item.outcomes]
    if any(outcome.kind == "survived" or _missed(outcome) for outcome in outcomes):
        return 1
    return 3 if any(outcome.kind == "undecided" for outcome in outcomes) else 0


def _missed(outcome: Outcome) -> bool:
    """Tell whether a run shows a fault that no proof refutes."""
    return outcome.run == "differs" and not outcome.killers


def score(found: list[Mutation]) -> tuple[int, int]:
    """Return how many mutants the proof refutes, and how many are not proved equivalent."""
    killed = sum(item.count("killed") for item in found)
    return killed, sum(len(item.outcomes) - item.count("equivalent") for item in found)


def _writer(console: Console, item: Mutation) -> None:
    killed, total = score([item])
    console.print(
        f"{item.job.writer} ({item.job.label}): {len(item.outcomes)} mutants, {killed} of {total} "
        f"refuted, {item.count('equivalent')} proved equivalent, {item.seconds:.0f} s",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
    for outcome in item.outcomes:
        if outcome.kind in ("survived", "undecided") or _missed(outcome):
            mutant = outcome.mutant
            why = "; ".join(outcome.undecided)
            console.print(
                f"  {outcome.kind}: {mutant.kind}, {mutant.change}, at {mutant.line}; "
                f"run: {outcome.run}" + (f"; {why}" if why else ""),
                markup=False, highlight=False, soft_wrap=True,
            )  # fmt: skip


def _table(console: Console, found: list[Mutation]) -> None:
    """Print which invariant kills which kind of mutant."""
    outcomes = [outcome for item in found for outcome in item.outcomes]
    names = sorted({k for outcome in outcomes for k in outcome.killers}, key=lambda n: int(n[1:]))
    table = Table(title="Mutants that each invariant refutes")
    for column in ("mutation", "mutants", "equivalent", "run differs", *names):
        table.add_column(column, justify="left" if column == "mutation" else "right")
    kinds = Counter(outcome.mutant.kind for outcome in outcomes)
    for kind in sorted(kinds):
        mine = [outcome for outcome in outcomes if outcome.mutant.kind == kind]
        killers = Counter(name for outcome in mine for name in outcome.killers)
        table.add_row(
            kind,
            str(len(mine)),
            str(sum(outcome.kind == "equivalent" for outcome in mine)),
            str(sum(outcome.run == "differs" for outcome in mine)),
            *(str(killers[name] or "") for name in names),
        )
    console.print(table)
    killed, total = score(found)
    share = 100 * killed / total if total else 100.0
    console.print(
        f"{killed:,} of {total:,} mutants that are not proved equivalent are refuted by proof: "
        f"{share:.2f} %",
        highlight=False,
    )


def to_json(item: Mutation) -> dict[str, Any]:
    """Return one writer's outcomes, JSON-able."""
    return {
        "writer": item.job.writer,
        "label": item.job.label,
        "seconds": round(item.seconds, 3),
        "mutants": [
            {
                "kind": outcome.mutant.kind,
                "change": outcome.mutant.change,
                "line": outcome.mutant.line,
                "outcome": outcome.kind,
                "killers": list(outcome.killers),
                "undecided": list(outcome.undecided),
                "run": outcome.run,
            }
            for outcome in item.outcomes
        ],
    }
