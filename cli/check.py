"""`kvproof check`: its options, and what it does with them in order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..spec.errors import KvproofError
from .layout import Front
from .outputs import Json, Junit, MarkdownFile, Outputs, Sarif
from .second import Certify, DumpSmt, Second
from .targeting import Bind, Contract, Stub, Target, asked

EXITS = (
    "Exit code: 0 everything is proved, 1 a contract is broken, 2 wrong usage or input, "
    "3 something is neither proved nor refuted, 4 two solvers contradict each other."
)


def check(
    target: Target = "",
    contract: Contract = "",
    bind: Bind = None,
    stub: Stub = None,
    invariant: Annotated[
        list[str] | None,
        typer.Option(metavar="W6", help="Decide only this invariant; may be repeated."),
    ] = None,
    symbolic_dims: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option("--symbolic-dims", help="Prove for all widths, strides and row counts."),
    ] = False,
    no_drop: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option("--no-drop", help="Do not show what each assumption keeps out: faster."),
    ] = False,
    strict: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--strict",
            help="Also exit 3 when a path was not proved or a capture left a note, and 1 when a "
            "further statement does not hold.",
        ),
    ] = False,
    json: Json = "",
    junit: Junit = "",
    sarif: Sarif = "",
    markdown: MarkdownFile = "",
    certify: Certify = False,  # noqa: FBT002 - a flag
    dump_smt: DumpSmt = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where counterexamples are written.")
    ] = Path(".kvproof"),
) -> None:
    """Check the writers of a release, or one of yours."""
    from .casefile import write_cases
    from .certifying import print_certificate
    from .checking import check as run
    from .checking import wanted
    from .render import print_outcome

    outputs = Outputs(json=json, junit=junit, sarif=sarif, markdown=markdown)
    outputs.try_places()
    request = asked(target, contract, bind, stub, symbolic=symbolic_dims)
    errors = Console(stderr=True)
    second = Second(certify=certify, dump=dump_smt)
    outcome = run(
        request,
        invariants=wanted(invariant or ()),
        drop=not no_drop,
        console=errors,
        second=second,
    )
    fault: KvproofError | None = None
    try:
        write_cases(outcome, out)
        outputs.write(outcome, strict=strict)
    except KvproofError as problem:
        fault = problem  # what was found is shown all the same
    print_outcome(Front(stderr=outputs.on_stdout), outcome)
    forced = print_certificate(errors, outcome) if certify else None
    if fault is not None:
        raise fault
    raise typer.Exit(forced or outcome.exit_code(strict=strict))
