"""The files that `kvproof check` writes: JSON, JUnit XML, SARIF and Markdown."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..spec.errors import KvproofError
from .files import as_json, try_place, write_text

if TYPE_CHECKING:
    from .digest import Digest
    from .outcome import Outcome

Json = Annotated[
    str,
    typer.Option("--json", metavar="FILE", help="Write the report as JSON; - is standard output."),
]
Junit = Annotated[
    str, typer.Option("--junit", metavar="FILE", help="Write it as JUnit XML, for a CI server.")
]
Sarif = Annotated[
    str,
    typer.Option("--sarif", metavar="FILE", help="Write it as SARIF 2.1.0, for a code host."),
]
MarkdownFile = Annotated[
    str,
    typer.Option("--markdown", metavar="FILE", help="Write a summary, for a pull request."),
]


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where reports go: files, "-" for standard output, or "" for nowhere."""

    json: str = ""
    junit: str = ""
    sarif: str = ""
    markdown: str = ""

    @property
    def on_stdout(self) -> bool:
        """Whether a report takes standard output."""
        return "-" in asdict(self).values()

    def try_places(self) -> None:
        """See that every report can be written, before anything is checked.

        Raises KvproofError: a place cannot be written, or two reports go to one.
        """
        taken: dict[str, str] = {}
        for name, place in asdict(self).items():
            if not place:
                continue
            own = place if place == "-" else str(Path(place).absolute())
            if own in taken:
                raise KvproofError(
                    f"--{taken[own]} goes to {place} too", where=f"--{name}", mend="name two places"
                )
            taken[own] = name
            if place != "-":
                try_place(place, f"--{name}")

    def write(self, outcome: Outcome, *, strict: bool) -> None:
        """Write every report, each whole or not at all.

        Raises KvproofError: a file cannot be written; those before it stay.
        """
        from .junit import to_junit
        from .markdown import to_markdown
        from .report import digest_of, to_json
        from .sarif import to_sarif

        @cache
        def digest() -> Digest:
            return digest_of(outcome)

        makers = {
            "json": lambda: as_json(to_json(outcome, strict=strict)),
            "junit": lambda: to_junit(outcome, strict=strict),
            "sarif": lambda: as_json(to_sarif(digest())),
            "markdown": lambda: to_markdown(digest()),
        }
        for name, place in asdict(self).items():
            if place == "-":
                sys.stdout.write(makers[name]())
                sys.stdout.flush()
            elif place:
                write_text(Path(place), makers[name]())
