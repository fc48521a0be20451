"""A folder of pages that is whole or absent: made beside its place, then moved there."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ...spec.errors import KvproofError
from ..casefile import SCHEMA
from .svg import MARK

#: Bytes from a file's start in which the mark of `kvproof docs` stands.
_HEAD: Final = 400


def check_place(folder: Path) -> None:
    """Refuse a place before any work is done.

    Raises:
        KvproofError: it is a file, it holds something that `kvproof docs` did not write, or
            nothing can be written beside it.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise KvproofError("it is a file", where=f"--out {folder}", mend="name a folder")
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not _is_mine(path):
                raise KvproofError(
                    f"it holds {path.name}, which `kvproof docs` did not write",
                    where=f"--out {folder}",
                    mend="name a new folder, or move that away: the folder is replaced as a whole",
                )
        # Nothing is left behind where the check that follows is interrupted.
        there = next(one for one in folder.absolute().parents if one.exists())
        with tempfile.TemporaryDirectory(prefix=".kvproof-docs-", dir=there):
            pass
    except OSError as fault:
        raise _error(fault, folder) from fault


def _is_mine(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(_HEAD).decode("utf-8", errors="replace")
    return MARK in head or (path.suffix == ".json" and f'"schema": "{SCHEMA}"' in head)


@contextmanager
def _beside(folder: Path) -> Generator[Path]:
    """Make a folder beside the place; what is left of it at the end is removed."""
    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def new_folder(folder: Path) -> Generator[Path]:
    """Yield an empty folder that takes the place of `folder` when the block ends well.

    Where it does not, or is interrupted, the place stays as it was. Raises KvproofError when the
    disk is full or the place cannot be written.
    """
    try:
        with _beside(folder) as made:
            inner, old = made / "new", made / "old"
            inner.mkdir()
            yield inner
            if folder.is_dir():
                folder.rename(old)
            try:
                inner.rename(folder)
            except BaseException:
                with suppress(OSError):
                    old.rename(folder)
                raise
    except OSError as fault:
        raise _error(fault, folder) from fault


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder. Raises OSError."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _error(fault: OSError, folder: Path) -> KvproofError:
    where = f"--out {folder}"
    if fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return KvproofError("no space left on the disk", where=where, mend="name another --out")
    reason = os.strerror(fault.errno) if fault.errno else str(fault)
    return KvproofError(f"cannot write it ({reason})", where=where, mend="name another --out")
