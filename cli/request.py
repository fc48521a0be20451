"""What the user asked to check, as data, and the jobs that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..spec.errors import KvproofError
from ..spec.job import Job

if TYPE_CHECKING:
    from rich.console import Console

#: Target of the writers that come with kvproof.
BUNDLED = "examples"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A target with its options; a counterexample file holds one, so that it can be run again.

    Args:
        target: "engine==version", "path/to/file.py::function", or "examples".
        contract: name of a built-in contract, for a file.
        bind: "ARG=PARAMETER" pairs, for a file.
        stubs: packages that stand-ins replace while the file is imported.
        symbolic: whether widths and strides are left symbolic.
    """

    target: str = BUNDLED
    contract: str = ""
    bind: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()
    symbolic: bool = False

    @property
    def is_file(self) -> bool:
        """Whether the target is a file of the user's."""
        return "::" in self.target or self.target.endswith(".py")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        return {
            "target": self.target,
            "contract": self.contract or None,
            "bind": list(self.bind),
            "stubs": list(self.stubs),
            "symbolic": self.symbolic,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Request:
        """Rebuild a request from `to_json`'s form. Raises KeyError where the target is missing."""
        return Request(
            target=str(data["target"]),
            contract=str(data.get("contract") or ""),
            bind=tuple(str(pair) for pair in data.get("bind", ())),
            stubs=tuple(str(name) for name in data.get("stubs", ())),
            symbolic=bool(data.get("symbolic", False)),
        )

    def command(self) -> str:
        """Return the `kvproof check` command line that asks for the same."""
        words = ["kvproof", "check"]
        if self.target != BUNDLED:
            words.append(_quoted(self.target))
        if self.contract:
            words += ["--contract", self.contract]
        for option, values in (("--bind", self.bind), ("--stub", self.stubs)):
            for value in values:
                words += [option, _quoted(value)]
        if self.symbolic:
            words.append("--symbolic-dims")
        return " ".join(words)


def jobs(request: Request, *, console: Console | None = None) -> list[Job]:
    """Return the jobs of a request, in the order in which they are checked.

    Args:
        request: what is asked.
        console: where a download's progress is told; None means standard error.

    Raises:
        KvproofError: the target, or one of its options, does not fit.
    """
    if request.is_file:
        from .user import user_jobs

        return user_jobs(request)
    for option, given in (
        ("--contract", request.contract),
        ("--bind", request.bind),
        ("--stub", request.stubs),
    ):
        if given:
            raise KvproofError(
                f"{option} is for a file of yours",
                where=f"target {request.target!r}",
                mend="name one as path/to/file.py::function",
            )
    if request.target == BUNDLED:
        from .user import bundled_jobs

        return bundled_jobs(request)
    from ..engines.jobs import engine_jobs

    return engine_jobs(request.target, console=console, symbolic=request.symbolic)


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
