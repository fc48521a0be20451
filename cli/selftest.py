"""`kvproof selftest`: the op table held to the interpreter, to the compiler and to a GPU."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..spec.errors import KvproofError

if TYPE_CHECKING:
    from ..diff.tally import Tally

EXITS = "Exit code: 0 every run agrees, 1 two runs disagree, 2 wrong usage or input."
_SCHEMA = "kvproof.selftest/1"


def selftest(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    programs: Annotated[int, typer.Option(help="How many random programs.")] = 1000,
    seconds: Annotated[float, typer.Option(help="Stop after that many seconds.")] = 3600.0,
    seed: Annotated[int, typer.Option(help="Seed of the first draw.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; one a core when 0.")] = 0,
    report: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the counts.")
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE", help="Add the counts of an earlier --json."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table as Markdown.")
    ] = None,
) -> None:
    """Run random programs in every domain, and name any op on which two of them disagree."""
    from ..diff.selftest import versions
    from ..diff.selftest_workers import run_workers
    from ..diff.tally import Tally

    if device not in ("cpu", "cuda"):
        raise KvproofError(f"unknown device {device!r}", mend="use cpu or cuda")
    console = Console()
    tally, wrong = Tally(), []
    found: dict[str, str] = {}
    for file in add or ():
        found |= _read(file, tally)
    if programs:
        _need(device)
        count = workers or min(os.cpu_count() or 1, programs)
        own, wrong = run_workers(
            device=device, programs=programs, seconds=seconds, workers=count, seed=seed
        )
        tally.merge(own)
        found |= versions(device)
    for item in wrong:
        console.print(f"✘ {item['text']}", style="red", markup=False, soft_wrap=True)
    _summary(console, tally)
    if report is not None:
        data = {"schema": _SCHEMA, "versions": found, "tally": tally.to_json(), "wrong": wrong}
        report.write_text(json.dumps(data), encoding="utf-8")
    if page is not None:
        from ..diff.semantics_page import page as made

        page.write_text(made(tally, found), encoding="utf-8")
    raise typer.Exit(1 if wrong else 0)


def _need(device: str) -> None:
    if device == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise KvproofError("torch finds no GPU", where="--device cuda", mend="leave it out")


def _read(file: Path, tally: Tally) -> dict[str, str]:
    from ..diff.tally import Tally

    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
        tally.merge(Tally.from_json(data["tally"]))
        return dict(data["versions"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise KvproofError(
            f"no counts of a self-test ({type(problem).__name__})", where=str(file)
        ) from None


def _summary(console: Console, tally: Tally) -> None:
    for domain, count in sorted(tally.ran.items()):
        if domain == "torch":
            continue
        agreed = sum(tally.compared.get(domain, {}).values())
        refused = sum(tally.refused.get(domain, {}).values())
        more = f", {refused:,} programs refused" if refused else ""
        console.print(
            f"{domain}: {count:,} programs, {agreed:,} values agree{more}", highlight=False
        )
