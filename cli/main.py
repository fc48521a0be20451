"""The command line: `kvproof check`, `fuzz`, `explain`, `replay` and `list`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..spec.errors import KvproofError
from . import init, mutate, selftest
from .front import FrontDoor
from .layout import Front
from .second import Certify, DumpSmt, Second

_EXITS = (
    "Exit code: 0 everything is proved, 1 a contract is broken, 2 wrong usage or input, "
    "3 something is neither proved nor refuted, 4 two solvers contradict each other."
)

app = typer.Typer(
    cls=FrontDoor,
    name="kvproof",
    help="Prove or refute that KV-cache writers keep their contract.",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer's callback
    if asked:
        from .versions import versions

        typer.echo(f"kvproof {versions()['kvproof']}")
        raise typer.Exit


@app.callback()
def start(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001, FBT002 - a flag whose callback ends the command
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Show the help when no command is given."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(epilog=_EXITS)
def check(
    target: Annotated[
        str,
        typer.Argument(
            help="A release, e.g. sglang==0.5.23, or a function of yours, "
            "path/to/file.py::function. Without one, the bundled examples.",
            show_default=False,
        ),
    ] = "",
    contract: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The contract of a function of yours; `kvproof list` names them.",
            show_default=False,
        ),
    ] = "",
    bind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARG=PARAM",
            help="The parameter that takes a contract's argument, where the names differ. "
            "WORLD and RANK can be bound too.",
        ),
    ] = None,
    stub: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PACKAGE", help="A package that your file imports and that is not installed."
        ),
    ] = None,
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
    report: Annotated[
        str,
        typer.Option(
            "--json", metavar="FILE", help="Write the report as JSON; - is standard output."
        ),
    ] = "",
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
    from .report import write_report
    from .request import BUNDLED, Request

    request = Request(
        target=target or BUNDLED,
        contract=contract,
        bind=tuple(bind or ()),
        stubs=tuple(stub or ()),
        symbolic=symbolic_dims,
    )
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
        if report:
            write_report(report, outcome, strict=strict)
    except KvproofError as problem:
        fault = problem  # what was found is shown all the same
    print_outcome(Front(stderr=report == "-"), outcome)
    forced = print_certificate(errors, outcome) if certify else None
    if fault is not None:
        raise fault
    raise typer.Exit(forced or outcome.exit_code(strict=strict))


@app.command(
    epilog="Exit code: 0 nothing was found, 1 a finding, 2 wrong usage or input, 3 only crashes, "
    "hangs or cases that nothing decided."
)
def fuzz(
    target: Annotated[
        str,
        typer.Argument(
            help="A release or a function of yours, as for `check`. Without one, the bundled "
            "examples.",
            show_default=False,
        ),
    ] = "",
    seconds: Annotated[
        float | None,
        typer.Option(metavar="N", help="Stop after N seconds; 60 when neither is given."),
    ] = None,
    cases: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N cases, instead.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes; one a core when not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="Where everything is kept, and gone on with. Default: .kvproof/fuzz-TARGET.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="What runs the kernels.")] = "cpu",
    writer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run only this writer; may be repeated."),
    ] = None,
    limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="A case that takes longer hangs.")
    ] = 30.0,
    contract: Annotated[
        str, typer.Option(metavar="NAME", help="As for `check`.", show_default=False)
    ] = "",
    bind: Annotated[
        list[str] | None, typer.Option(metavar="ARG=PARAM", help="As for `check`.")
    ] = None,
    stub: Annotated[
        list[str] | None, typer.Option(metavar="PACKAGE", help="As for `check`.")
    ] = None,
) -> None:
    """Run generated cases through writers and compare all memory with the contract."""
    from .campaigning import print_summary
    from .fuzz import fuzz as run
    from .fuzz import plan
    from .request import BUNDLED, Request

    request = Request(
        target=target or BUNDLED,
        contract=contract,
        bind=tuple(bind or ()),
        stubs=tuple(stub or ()),
    )
    errors = Console(stderr=True)
    what = plan(
        request,
        writers=writer or (),
        seconds=seconds,
        cases=cases,
        workers=workers,
        folder=out,
        device=device,
        limit=limit,
        console=errors,
    )
    summary = run(what, console=errors)
    print_summary(Front(), what, request.target, summary)
    raise typer.Exit(summary.exit_code())


@app.command()
def explain(
    name: Annotated[
        str, typer.Argument(help="An invariant, e.g. W6, or a contract, e.g. mla-row.")
    ],
) -> None:
    """Explain an invariant or a contract in plain sentences."""
    from .explain import print_explanation

    print_explanation(Front(), name)


@app.command(
    epilog="Exit code: 1 the counterexample is confirmed, 0 it is not, 2 wrong usage or input, "
    "3 no runner could run it."
)
def replay(
    file: Annotated[Path, typer.Argument(help="A counterexample that `check` wrote.")],
) -> None:
    """Run a counterexample again on every runner at hand."""
    from .replay import print_replay, run_replay

    code, found, outcomes = run_replay(file, console=Console(stderr=True))
    print_replay(Front(), found, outcomes)
    raise typer.Exit(code)


@app.command("list")
def list_(
    engine: Annotated[
        str,
        typer.Argument(
            metavar="[TARGET]",
            help="A release whose writers are listed; without one, the newest of each engine.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """List engines, writers, contracts and invariants."""
    from .listing import print_listing

    print_listing(Front(), engine)


app.command(epilog=init.EXITS)(init.init)
app.command(epilog=mutate.EXITS)(mutate.mutate)
app.command(epilog=selftest.EXITS)(selftest.selftest)


if __name__ == "__main__":
    app()
