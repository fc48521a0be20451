"""The command line: `kvproof check`, `fuzz`, `explain`, `replay` and `list`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import check, docs, init, mutate, selftest
from .front import FrontDoor
from .layout import Front
from .targeting import Bind, Contract, Stub, Target, asked

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


app.command(epilog=check.EXITS)(check.check)


@app.command(
    epilog="Exit code: 0 nothing was found, 1 a finding, 2 wrong usage or input, 3 only crashes, "
    "hangs or cases that nothing decided."
)
def fuzz(
    target: Target = "",
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
    contract: Contract = "",
    bind: Bind = None,
    stub: Stub = None,
) -> None:
    """Run generated cases through writers and compare all memory with the contract."""
    from .campaigning import print_summary
    from .fuzz import fuzz as run
    from .fuzz import plan

    request = asked(target, contract, bind, stub)
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


app.command(epilog=docs.EXITS)(docs.docs)
app.command(epilog=init.EXITS)(init.init)
app.command(epilog=mutate.EXITS)(mutate.mutate)
app.command(epilog=selftest.EXITS)(selftest.selftest)


if __name__ == "__main__":
    app()
