"""The options of a check that ask a second solver."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

Certify = Annotated[
    bool,
    typer.Option(
        "--certify",
        help="Ask every UNSAT again of a second solver, bitwuzla; exit 4 when it contradicts.",
    ),
]
DumpSmt = Annotated[
    Path | None,
    typer.Option(
        "--dump-smt",
        metavar="DIR",
        help="Write every UNSAT question as SMT-LIB.",
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Second:
    """Whether a second solver is asked, and the folder where questions are written."""

    certify: bool = False
    dump: Path | None = None

    def __bool__(self) -> bool:
        """Tell whether anything is asked for."""
        return self.certify or self.dump is not None


NO_SECOND = Second()
