"""`kvproof docs`: a contract page for each writer of a target, and an index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from .targeting import Bind, Contract, Stub, Target, asked

if TYPE_CHECKING:
    from .outcome import Outcome
    from .pages.page import Options
    from .request import Request

EXITS = (
    "Exit code: 0 the pages are written, whatever their verdicts are; 2 wrong usage or input: "
    "nothing is written. `kvproof check` is the command whose exit code says what was decided."
)


def docs(
    target: Target = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to make; one that `docs` wrote is replaced. "
            "Default: .kvproof/docs-TARGET.",
        ),
    ] = None,
    campaign: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of a `kvproof fuzz` on the same target."),
    ] = None,
    no_source: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option("--no-source", help="Show file and line of a kernel, never its text."),
    ] = False,
    stable: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--stable", help="Leave out times and versions, so that pages can be compared."
        ),
    ] = False,
    contract: Contract = "",
    bind: Bind = None,
    stub: Stub = None,
) -> None:
    """Write contract pages: what is promised, drawn, proved, broken, and left unchecked."""
    from .checking import check
    from .layout import counted
    from .pages.page import Options
    from .pages.runs import read_runs
    from .pages.writing import check_place
    from .versions import versions

    request = asked(target, contract, bind, stub)
    folder = out if out is not None else _folder(request)
    check_place(folder)
    runs = None if campaign is None else read_runs(campaign, request)
    told = versions()
    options = Options(
        source=not no_source,
        volatile=not stable,
        runs=runs,
        # The compiler belongs to the IR's hash, so it is told even where versions are not.
        versions={"triton": told["triton"]} if stable else told,
    )
    errors = Console(stderr=True)
    outcome = check(request, invariants=None, drop=True, console=errors)
    count = write_pages(outcome, folder, options, console=errors)
    typer.echo(f"wrote {counted(count, 'page')} and an index: {folder / 'index.html'}")


def write_pages(outcome: Outcome, folder: Path, options: Options, *, console: Console) -> int:
    """Write the pages of a check and return how many writers have one.

    Args:
        outcome: the check.
        folder: the folder to make; it is replaced as a whole, or stays as it was.
        options: how the pages are made.
        console: where progress is told.

    Raises:
        KvproofError: the folder cannot be written, or a child process fails.
    """
    from dataclasses import replace

    from ..checkers.child import Child
    from .casefile import write_cases
    from .interrupt import interruptible
    from .pages.page import index_of, pages_of
    from .pages.rendering import render
    from .pages.writing import new_folder, write_files

    with interruptible(), Child() as child, new_folder(folder) as made:
        console.print("drawing pages", markup=False, highlight=False)
        write_cases(outcome, made)
        options = replace(options, files=dict(outcome.files))
        pages = pages_of(outcome, child, options)
        index = index_of(outcome, pages, _eager(outcome.request))
        write_files(made, render(index, options))
    return len(pages)


def _eager(request: Request) -> list[tuple[str, str]]:
    """Return the writers of a release that launch no kernel, each with why it has no page."""
    from ..engines.catalogue import writers
    from ..engines.target import parse_target
    from .request import BUNDLED

    if request.is_file or request.target == BUNDLED:
        return []
    parsed = parse_target(request.target)
    return [
        (writer.name, f"{writer.module.module}.{writer.callable} is eager torch: no proof")
        for writer in writers(parsed.engine, parsed.version)
        if writer.launches != "triton"
    ]


def _folder(request: Request) -> Path:
    plain = re.sub(r"[^A-Za-z0-9._=]+", "-", request.target).strip("-.") or "target"
    return Path(".kvproof") / f"docs-{plain}"
