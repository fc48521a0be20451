"""The catalogue: which released files hold which writers, and how each is to be called."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

from packaging.version import Version

from ..spec.errors import KvproofError
from .entries import (
    Axes,
    Configuration,
    Engine,
    EngineModule,
    Parameters,
    Platform,
    Row,
    Shard,
    Unproved,
    Writer,
)
from .sglang import SGLANG

__all__ = [
    "ENGINES",
    "Axes",
    "Configuration",
    "Engine",
    "EngineModule",
    "Parameters",
    "Platform",
    "Row",
    "Shard",
    "Unproved",
    "Writer",
    "configurations",
    "files",
    "modules",
    "release",
    "writers",
]

#: The catalogued engines by normalised distribution name.
ENGINES: Mapping[str, Engine] = MappingProxyType({SGLANG.name: SGLANG})


def release(engine: str, version: str) -> str:
    """Return the catalogued release equal to `version` ("0.5.23.0" is "0.5.23").

    Raises:
        KvproofError: the engine or the version is not catalogued.
    """
    if engine not in ENGINES:
        raise KvproofError(
            "not in the catalogue", where=engine, mend=f"known engines: {', '.join(ENGINES)}"
        )
    wanted = Version(version)
    for known in ENGINES[engine].releases:
        if Version(known) == wanted:
            return known
    raise KvproofError(
        "no writer of this version is catalogued",
        where=f"{engine}=={version}",
        mend=f"catalogued versions: {', '.join(ENGINES[engine].releases)}",
    )


def modules(engine: str, version: str) -> tuple[EngineModule, ...]:
    """Return the files of a release that hold writers. Raises KvproofError as `release` does."""
    known = release(engine, version)
    return tuple(module for module in ENGINES[engine].modules if module.covers(known))


def writers(engine: str, version: str) -> tuple[Writer, ...]:
    """Return the writers of a release. Raises KvproofError as `release` does."""
    known = release(engine, version)
    return tuple(writer for writer in ENGINES[engine].writers if writer.module.covers(known))


def files(engine: str, version: str) -> tuple[str, ...]:
    """Return the paths to fetch for a release. Raises KvproofError as `release` does."""
    return tuple(dict.fromkeys(module.file for module in modules(engine, version)))


def configurations(writer: Writer) -> tuple[Configuration, ...]:
    """Return every combination of a writer's axes, the most common one first."""
    axes = writer.axes
    return tuple(
        Configuration(row, slots, shard, platform)
        for row, slots, shard, platform in product(
            axes.rows, axes.slots, axes.shards, axes.platforms
        )
    )
