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
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
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


def _error(fault: OSError, path: Path) -> KvproofError:
    if fault.errno in {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}:
        return KvproofError(
            "no space left on the disk", where=str(path), mend="free some, or name another place"
        )
    reason = fault.strerror or str(fault)
    return KvproofError(f"cannot write it ({reason})", where=str(path), mend="name another place")
