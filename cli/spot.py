"""Where a finding points to, for reports that are read away from the machine that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..spec.job import Job
from .statement import statement_at

REPOSITORY, RELEASE = "repository", "release"


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A statement of a kernel.

    Args:
        file: path with forward slashes, relative to `base`; absolute where `base` is empty.
        base: "repository": the repository (or working folder) that holds a user's file;
            "release": the folder of an engine's released packages.
        line: from 1; 0 where no line is known.
        code: the statement on one line; empty where it cannot be read.
    """

    file: str
    base: str = ""
    line: int = 0
    code: str = ""

    def __str__(self) -> str:
        """Return "file:line"."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Spot:
        """Rebuild a spot from `to_json`'s form."""
        return Spot(**data)


def spot_of(job: Job, place: str) -> Spot:
    """Return the spot of a place as results name it.

    Args:
        job: says below which folder the file is.
        place: "file.py:line", relative to the engine's root, the working folder, or the folder of
            the user's file; or nothing, for the writer's own file.
    """
    file, _, number = place.rpartition(":")
    if not file or not number.isdigit():
        file, number, place = str(job.source.path), "0", ""
    base, shown = _relative(job, file)
    return Spot(file=shown, base=base, line=int(number), code=statement_at(job, place))


def _relative(job: Job, file: str) -> tuple[str, str]:
    if job.source.root:
        root = Path(job.source.root).absolute()
        path = (root / file).resolve()
        inside = path.is_relative_to(root.resolve())
        return (RELEASE, path.relative_to(root.resolve()).as_posix()) if inside else ("", file)
    folders = (Path.cwd(), job.source.path.parent)
    path = next(
        (folder / file for folder in folders if (folder / file).is_file()), folders[0] / file
    ).resolve()
    root = _repository(path.parent)
    return (REPOSITORY, path.relative_to(root).as_posix()) if root else ("", path.as_posix())


@lru_cache(maxsize=64)
def _repository(folder: Path) -> Path | None:
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent
    here = Path.cwd().resolve()
    return here if folder.is_relative_to(here) else None
