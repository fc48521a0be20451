"""What a worker is running, on disk before it runs: one file for each worker and slice of work.

A line for a trial before it runs, a line for its end. When a worker or the whole campaign is
killed, the file tells what was finished but not yet in the store, and what was running.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..spec.errors import KvproofError
from .api import Trial
from .store import disk_error

#: What tells one fault from another before shrinking: invariant, kernel line, kind of value.
Key = tuple[str, str, str]


class Journal:
    """The writing end, in a worker.

    Args:
        path: the file; emptied here.
        heading: what the slice is about, JSON-able; the first line.
        parent: process id of the campaign.

    Raises KvproofError when the disk is full. Ends the process once its parent is gone: the next
    campaign reads this file, so nothing may be added to it any more.
    """

    def __init__(self, path: Path, heading: dict[str, Any], *, parent: int) -> None:
        self.path = path
        self._parent = parent
        self._alive()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        except OSError as fault:
            raise disk_error(fault, path) from fault
        self._line(json.dumps(heading))

    def begin(self, trial: Trial, pending: int = 0) -> None:
        """Note a trial that is about to run; `pending` is its number among the pending ones."""
        self._line(json.dumps([pending, trial.to_json()], separators=(",", ":")))

    def end(self, keys: Iterable[Key] = ()) -> None:
        """Note that the last trial came to an end, and the new findings that it shows."""
        found = list(keys)
        self._line(f"={json.dumps(found)}" if found else "=")

    def close(self) -> None:
        """Close the file, which stays."""
        os.close(self._file)

    def _alive(self) -> None:
        if os.getppid() != self._parent:
            os._exit(1)

    def _line(self, text: str) -> None:
        self._alive()
        data = f"{text}\n".encode()
        try:
            written = os.write(self._file, data)
        except OSError as fault:
            raise disk_error(fault, self.path) from fault
        if written != len(data):
            raise disk_error(OSError(errno.ENOSPC, "short write"), self.path)


@dataclass(frozen=True)
class Entry:
    """A trial of a journal.

    Args:
        trial: the trial.
        pending: its number among the pending ones, 0 for none.
        ended: whether it came to an end.
        keys: new findings that it shows.
    """

    trial: Trial
    pending: int
    ended: bool
    keys: tuple[Key, ...] = ()


def read_journal(path: Path) -> tuple[dict[str, Any], list[Entry]]:
    """Return a journal's heading and entries; a last line that was cut off is left out.

    An empty file gives an empty heading. Raises KvproofError when the file cannot be read.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as fault:
        raise KvproofError(
            f"cannot read it ({fault.strerror or fault})",
            where=str(path),
            mend="name another --dir",
        ) from fault
    try:
        return _parsed(lines)
    except (ValueError, KeyError, TypeError, IndexError) as fault:
        raise KvproofError(
            f"the journal is damaged ({fault})", where=str(path), mend="delete it"
        ) from fault


def _parsed(lines: list[bytes]) -> tuple[dict[str, Any], list[Entry]]:
    heading: dict[str, Any] = {}
    entries: list[Entry] = []
    for number, line in enumerate(lines):
        if number == 0:
            heading = json.loads(line)
        elif line.startswith(b"="):
            last = entries[-1]
            keys = tuple((str(a), str(b), str(c)) for a, b, c in json.loads(line[1:] or b"[]"))
            entries[-1] = Entry(last.trial, last.pending, True, keys)
        else:
            pending, data = json.loads(line)
            entries.append(Entry(Trial.from_json(data), int(pending), False))
    return heading, entries
