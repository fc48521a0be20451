"""The options that say what a command speaks of, shared by every command that takes a target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from .request import BUNDLED, Request

Target = Annotated[
    str,
    typer.Argument(
        help="A release, e.g. sglang==0.5.23, or a function of yours, path/to/file.py::function. "
        "Without one, the bundled examples.",
        show_default=False,
    ),
]
Contract = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The contract of a function of yours; `kvproof list` names them.",
        show_default=False,
    ),
]
Bind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ARG=PARAM",
        help="The parameter that takes a contract's argument, where the names differ. "
        "WORLD and RANK can be bound too.",
    ),
]
Stub = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PACKAGE", help="A package that your file imports and that is not installed."
    ),
]


def asked(
    target: str,
    contract: str = "",
    bind: Iterable[str] | None = None,
    stub: Iterable[str] | None = None,
    *,
    symbolic: bool = False,
) -> Request:
    """Return the options as data; without a target, the bundled examples are meant."""
    return Request(
        target=target or BUNDLED,
        contract=contract,
        bind=tuple(bind or ()),
        stubs=tuple(stub or ()),
        symbolic=symbolic,
    )
