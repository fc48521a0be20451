"""Files that are whole or absent: written beside their place, then moved there."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..spec.errors import KvproofError


def write_json(path: Path, data: Any) -> None:
    """Write JSON so that the file is the old one or the new one, never half of it.

    Missing folders are made. Raises KvproofError when the disk is full or the place cannot be
    written.
    """
    write_text(path, as_json(data))


def as_json(data: Any) -> str:
    """Return data as the text of a JSON file."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text so that the file is the old one or the new one, never half of it.

    Missing folders are made. Raises KvproofError when the disk is full or the place cannot be
    written.
    """
    part: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)  # noqa: PTH101 - mkstemp makes it private
        os.replace(part, path)  # noqa: PTH105
    except OSError as fault:
        raise _error(fault, path) from fault
    finally:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)  # noqa: PTH108 - gone when it was moved


def try_place(place: str, option: str) -> None:
    """See that a file can be written before the work that it reports on begins.

    Nothing is left behind; missing folders are made when the file is written.

    Args:
        place: the file.
        option: the option that names it, for the error.

    Raises KvproofError: it is a folder, or the place cannot be written.
    """
    path = Path(place).absolute()
    folder = next(parent for parent in path.parents if parent.exists())
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as fault:
        raise KvproofError(
            f"cannot write {place} ({fault.strerror or fault})",
            where=option,
            mend="name another place",
        ) from None


def _error(fault: OSError, path: Path) -> KvproofError:
    if fault.errno in {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}:
        return KvproofError(
            "no space left on the disk", where=str(path), mend="free some, or name another place"
        )
    reason = fault.strerror or str(fault)
    return KvproofError(f"cannot write it ({reason})", where=str(path), mend="name another place")
