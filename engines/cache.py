"""Fetched files on disk: one folder for each engine version, whole or seen to be damaged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

import platformdirs

from .archive import matches

_FORMAT = 1
_WORK = ".fetch-"


@dataclass(frozen=True)
class Manifest:
    """What an entry holds.

    Args:
        artifact: file name of the wheel or sdist that the files came from.
        sha256: hash of that file.
        patterns: the requests that these files answer.
        files: hash (sha256) of each file by its path.
    """

    artifact: str
    sha256: str
    patterns: tuple[str, ...]
    files: Mapping[str, str]

    def chosen(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Return the paths that fit one of `patterns`, sorted."""
        asked = tuple(patterns)
        return tuple(
            sorted(path for path in self.files if any(matches(path, each) for each in asked))
        )


def cache_directory() -> Path:
    """Return the folder of fetched engines: $KVPROOF_CACHE, or `kvproof` in the user's cache."""
    chosen = os.environ.get("KVPROOF_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_cache_dir("kvproof", appauthor=False))


@dataclass(frozen=True)
class Entry:
    """The folder of one engine version. Only the holder of its lock may write to it."""

    folder: Path

    @property
    def root(self) -> Path:
        """The folder that the files' paths start from."""
        return self.folder / "files"

    @property
    def lock_file(self) -> Path:
        """The file that two processes lock against each other."""
        return self.folder.with_name(self.folder.name + ".lock")

    @property
    def _manifest_file(self) -> Path:
        return self.folder / "manifest.json"

    def load(self) -> tuple[Manifest | None, str]:
        """Read the manifest and hash every file it names.

        Returns:
            The manifest and "", or None and what is damaged ("" where nothing was stored yet).
        """
        try:
            manifest = _parse(self._manifest_file.read_bytes())
        except FileNotFoundError:
            return None, ""
        except (KeyError, TypeError, ValueError):
            return None, "its manifest cannot be read"
        for path, digest in manifest.files.items():
            try:
                content = (self.root / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None, f"{path} is missing"
            if hashlib.sha256(content).hexdigest() != digest:
                return None, f"{path} has changed"
        return manifest, ""

    def store(self, manifest: Manifest, contents: Mapping[str, bytes], work: Path) -> Manifest:
        """Write files, then the manifest that names them; the order keeps a torn write visible.

        Args:
            manifest: the entry's new manifest, its `files` still to be filled in.
            contents: the files by path.
            work: a folder on the same file system for unfinished files.
        """
        for path, content in contents.items():
            _write(self.root / path, content, work)
        digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
        finished = replace(manifest, files=digests)
        text = json.dumps({"format": _FORMAT, **asdict(finished)}, indent=2, sort_keys=True)
        _write(self._manifest_file, text.encode(), work)
        return finished

    def clear(self) -> None:
        """Remove everything that is stored, the manifest first."""
        self._manifest_file.unlink(missing_ok=True)
        if self.root.is_dir() and not self.root.is_symlink():
            shutil.rmtree(self.root)
        else:
            self.root.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what a killed process left unfinished."""
        for left in self.folder.glob(f"{_WORK}*"):
            shutil.rmtree(left, ignore_errors=True)

    @property
    def work_prefix(self) -> str:
        """How the names of folders for unfinished files begin."""
        return _WORK


def _write(path: Path, content: bytes, work: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = work / "unfinished"
    unfinished.write_bytes(content)
    os.replace(unfinished, path)  # noqa: PTH105  # the same call, and the name says what it does


def _parse(content: bytes) -> Manifest:
    data = cast("dict[str, Any]", json.loads(content))
    if data["format"] != _FORMAT:
        raise ValueError(data["format"])
    files = {str(path): str(digest) for path, digest in data["files"].items()}
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(name)
    patterns = tuple(str(pattern) for pattern in data["patterns"])
    return Manifest(str(data["artifact"]), str(data["sha256"]), patterns, files)
