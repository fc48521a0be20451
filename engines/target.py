"""A target as a person writes it: `sglang==0.5.23`."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ..spec.errors import KvproofError
from .catalogue import ENGINES, Engine


@dataclass(frozen=True)
class Target:
    """One released version of a catalogued engine.

    Args:
        engine: normalised distribution name, e.g. "sglang".
        version: version as PEP 440 prints it, e.g. "0.5.23".
    """

    engine: str
    version: str

    def __str__(self) -> str:
        """Return the form that `parse_target` reads."""
        return f"{self.engine}=={self.version}"


def parse_target(text: str) -> Target:
    """Read `engine==version`.

    The engine's name is normalised as package indexes do ("SGLang" is "sglang"). The version need
    not be catalogued; `kvproof.engines.catalogue` says so when its writers are asked for.

    Raises:
        KvproofError: the text is no such pair, the engine is unknown, or it names no version.
    """
    try:
        requirement = Requirement(text)
    except InvalidRequirement as fault:
        raise _malformed(text) from fault
    name = canonicalize_name(requirement.name)
    engine = ENGINES.get(name)
    if engine is None:
        raise KvproofError(
            f"unknown engine {name!r}",
            where=f"target {text!r}",
            mend=f"known engines: {', '.join(sorted(ENGINES))}",
        )
    if requirement.extras or requirement.marker or requirement.url:
        raise _malformed(text)
    specifiers = list(requirement.specifier)
    if not specifiers:
        raise KvproofError(
            "no version", where=f"target {text!r}", mend=f"write one of {_listed(engine)}"
        )
    if len(specifiers) > 1 or specifiers[0].operator != "==":
        raise _malformed(text)
    try:
        version = Version(specifiers[0].version)
    except InvalidVersion as fault:
        raise _malformed(text) from fault
    return Target(engine.name, str(version))


def _malformed(text: str) -> KvproofError:
    example = next(f"{name}=={ENGINES[name].releases[-1]}" for name in sorted(ENGINES))
    return KvproofError(
        "not an engine and one exact version",
        where=f"target {text!r}",
        mend=f"write it as engine==version, e.g. {example}",
    )


def _listed(engine: Engine) -> str:
    return ", ".join(f"{engine.name}=={release}" for release in engine.releases)
