"""The campaign's memory: one SQLite file in the campaign's folder, behind a lock on the folder.

Everything of one slice of work is one transaction, so that a process killed at any moment leaves
the file as it was before or after the slice; what the slice had done until then is in its journal.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from ..spec.errors import KvproofError

#: Version of the tables below. A folder of a newer one is refused.
FORMAT = 1
FILE, LOCK = "campaign.sqlite", "lock"

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE runs(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, budget REAL NOT NULL,
    cases INTEGER NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0);
CREATE TABLE jobs(writer TEXT, label TEXT, cases INTEGER NOT NULL DEFAULT 0,
    slices INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(writer, label));
CREATE TABLE coverage(kind TEXT, writer TEXT, name TEXT, count INTEGER NOT NULL,
    PRIMARY KEY(kind, writer, name));
CREATE TABLE findings(id INTEGER PRIMARY KEY, writer TEXT NOT NULL, invariant TEXT NOT NULL,
    line TEXT NOT NULL, value TEXT NOT NULL, shape TEXT NOT NULL, label TEXT NOT NULL,
    data TEXT NOT NULL,
    shows INTEGER NOT NULL DEFAULT 1, UNIQUE(writer, invariant, line, value, shape));
CREATE TABLE sightings(finding INTEGER NOT NULL REFERENCES findings(id), label TEXT NOT NULL,
    PRIMARY KEY(finding, label));
CREATE TABLE outcomes(id INTEGER PRIMARY KEY, writer TEXT NOT NULL, label TEXT NOT NULL,
    kind TEXT NOT NULL, how TEXT NOT NULL, "case" TEXT, repeats INTEGER);
CREATE TABLE pending(id INTEGER PRIMARY KEY, writer TEXT NOT NULL, label TEXT NOT NULL,
    "case" TEXT NOT NULL, outcome INTEGER REFERENCES outcomes(id));
CREATE TABLE journals(name INTEGER PRIMARY KEY);
"""


@dataclass(frozen=True)
class Run:
    """One run of a campaign: its budget, "cases" or "seconds", and what is used up of it."""

    id: int
    kind: str
    budget: float
    cases: int
    seconds: float

    @property
    def left(self) -> float:
        """What remains of the budget."""
        return self.budget - (self.cases if self.kind == "cases" else self.seconds)


@contextmanager
def told(path: Path) -> Generator[None]:
    """Turn faults of the database or the disk into one line about `path`."""
    try:
        yield
    except sqlite3.Error as fault:
        raise _database_error(fault, path) from fault
    except OSError as fault:
        raise disk_error(fault, path) from fault


def disk_error(fault: OSError, path: Path) -> KvproofError:
    """Return one line about a file that cannot be written."""
    import errno

    if fault.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return _full(path)
    reason = fault.strerror or str(fault)
    return KvproofError(f"cannot write it ({reason})", where=str(path), mend="name another --dir")


def _full(path: Path) -> KvproofError:
    return KvproofError(
        "no space left on the disk",
        where=str(path),
        mend="free some and run the same command again: findings already made are kept",
    )


def _database_error(fault: sqlite3.Error, path: Path) -> KvproofError:
    text = str(fault)
    if "full" in text:
        return _full(path)
    if "not a database" in text or "malformed" in text or "no such" in text:
        return KvproofError(
            f"the campaign's file is damaged ({text})", where=str(path), mend="name another --dir"
        )
    return KvproofError(
        f"the campaign's file cannot be used ({text})", where=str(path), mend="name another --dir"
    )


class Store:
    """A campaign's folder, held by this process alone. Use it in a `with` block.

    Args:
        folder: the folder; made when it is missing.
        identity: what the campaign is about: target and options. A folder keeps its first.

    Raises:
        KvproofError: another campaign holds the folder, it is about something else or of a newer
            format, it is damaged, or it cannot be written.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._guard = threading.RLock()
        with told(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / LOCK)
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise KvproofError(
                    "another campaign is running there",
                    where=str(folder),
                    mend="wait for it, or name another --dir",
                ) from None
        try:
            with told(self.path):
                self._base = sqlite3.connect(
                    self.path, isolation_level=None, check_same_thread=False
                )
            try:
                with told(self.path):
                    self._prepare(dict(identity))
            except BaseException:
                self._base.close()
                raise
        except BaseException:
            self._lock.release()
            raise

    def _prepare(self, identity: dict[str, Any]) -> None:
        base = self._base
        version = int(base.execute("PRAGMA user_version").fetchone()[0])
        if version > FORMAT:
            raise KvproofError(
                f"it was written by a newer kvproof (format {version}, this one knows {FORMAT})",
                where=str(self.folder),
                mend="update kvproof, or name another --dir",
            )
        base.execute("PRAGMA journal_mode=WAL")
        # What is committed survives the end of any process; only a power cut may take the last of
        # it, never the file's consistency.
        base.execute("PRAGMA synchronous=NORMAL")
        text = json.dumps(identity, sort_keys=True)
        if version == 0:
            with self.transaction():
                for statement in _TABLES.split(";"):
                    base.execute(statement)
                base.execute("INSERT INTO meta VALUES('identity', ?)", (text,))
                base.execute(f"PRAGMA user_version={FORMAT}")
            return
        row = base.execute("SELECT value FROM meta WHERE key='identity'").fetchone()
        if row is None or row[0] != text:
            whose = json.loads(row[0]) if row is not None else {}
            named = whose.get("target", "nothing")
            what = (
                f"it holds a campaign on {named}"
                if named != identity.get("target")
                else f"it holds a campaign on {named} with other options"
            )
            raise KvproofError(what, where=str(self.folder), mend="name another --dir")

    def close(self) -> None:
        """Give the folder free. Safe to call again."""
        with self._guard, suppress(sqlite3.Error):
            self._base.close()
        self._lock.release()

    def __enter__(self) -> Store:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the folder free."""
        self.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Do all of it or nothing; nested ones join the outer. Raises KvproofError as `told`."""
        with self._guard:
            if self._base.in_transaction:
                yield
                return
            with told(self.path):
                self._base.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._base.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        self._base.execute("ROLLBACK")
                    raise

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what a query selects."""
        with self._guard, told(self.path):
            return self._base.execute(query, values).fetchall()

    def change(self, statement: str, *values: Any) -> int:
        """Run one statement and return the id of a row that it inserted."""
        with self.transaction():
            return int(self._base.execute(statement, values).lastrowid or 0)

    def begin_run(self, kind: str, budget: float) -> Run:
        """Return the last run when it was stopped early and had this budget, else a new one."""
        found = self.rows(
            "SELECT id, kind, budget, cases, seconds, ended FROM runs ORDER BY id DESC LIMIT 1"
        )
        if found:
            last = Run(*found[0][:5])
            if not found[0][5] and (last.kind, last.budget) == (kind, budget) and last.left > 0:
                return last
        return Run(
            self.change("INSERT INTO runs(kind, budget) VALUES(?, ?)", kind, budget),
            kind,
            budget,
            0,
            0.0,
        )

    def total(self) -> int:
        """Return the cases run by all runs."""
        return int(self.rows("SELECT coalesce(sum(cases), 0) FROM jobs")[0][0])
