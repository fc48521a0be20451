"""What a campaign found: faults of writers, and trials that nothing decided."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .api import Outcome, Trial
from .journal import Key
from .store import Store, told

#: Folder of the scripts, inside the campaign's.
FINDINGS = "findings"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A fault of a writer that the campaign found.

    Args:
        id: its number.
        writer, invariant, line: whose it is, what is broken, and the kernel line that does it.
        value: for W10 the kind of value that is encoded wrongly, else "".
        label: the configuration that it was first found in; `labels` are all it was seen in.
        trial: the shrunk trial.
        outcome: what the first runner made of it; `others` what further runners did.
        repr: one line of Python that shows it.
        script: the stand-alone script that shows it.
        shows: whether it still shows; False when it did not in the last run that tried it.
    """

    id: int
    writer: str
    invariant: str
    line: str
    value: str
    label: str
    labels: tuple[str, ...]
    trial: Trial
    outcome: Outcome
    others: tuple[Outcome, ...]
    repr: str
    script: Path
    shows: bool

    @property
    def key(self) -> Key:
        """What tells it from other findings before shrinking."""
        return self.invariant, self.line, self.value


@dataclass(frozen=True, kw_only=True)
class Incident:
    """A trial that no runner decided.

    Args:
        writer, label: the job.
        kind: "crashed", "hung" or "undecided".
        how: in one line.
        trial: the trial, where there is one.
        repeats: whether it happened again in a fresh process; None when that was not tried.
    """

    writer: str
    label: str
    kind: str
    how: str
    trial: Trial | None
    repeats: bool | None

    @property
    def counts(self) -> bool:
        """Whether it leaves something open: all but what did not happen again."""
        return self.repeats is not False


def findings(store: Store) -> list[Finding]:
    """Return all findings, in the order in which they were made."""
    labels: dict[int, list[str]] = {}
    for number, label in store.rows("SELECT finding, label FROM sightings ORDER BY rowid"):
        labels.setdefault(number, []).append(label)
    found: list[Finding] = []
    for number, writer, invariant, line, value, label, text, shows in store.rows(
        "SELECT id, writer, invariant, line, value, label, data, shows FROM findings ORDER BY id"
    ):
        data: dict[str, Any] = json.loads(text)
        found.append(
            Finding(
                id=number,
                writer=writer,
                invariant=invariant,
                line=line,
                value=value,
                label=label,
                labels=tuple(labels.get(number, ())),
                trial=Trial.from_json(data["trial"]),
                outcome=Outcome.from_json(data["outcome"]),
                others=tuple(Outcome.from_json(item) for item in data["others"]),
                repr=data["repr"],
                script=_script(store, number, invariant, writer),
                shows=bool(shows),
            )
        )
    return found


def incidents(store: Store) -> list[Incident]:
    """Return the trials that no runner decided, in order."""
    rows = store.rows('SELECT writer, label, kind, how, "case", repeats FROM outcomes ORDER BY id')
    return [
        Incident(
            writer=writer,
            label=label,
            kind=kind,
            how=how,
            trial=None if text is None else Trial.from_json(json.loads(text)),
            repeats=None if repeats is None else bool(repeats),
        )
        for writer, label, kind, how, text, repeats in rows
    ]


def write_scripts(store: Store) -> None:
    """Write the script of every finding that has none on disk yet.

    Raises KvproofError when the disk is full; the texts are in the store all the same.
    """
    for number, writer, invariant in store.rows("SELECT id, writer, invariant FROM findings"):
        path = _script(store, number, invariant, writer)
        if not path.exists():
            (text,) = store.rows("SELECT data FROM findings WHERE id=?", number)[0]
            _write(path, json.loads(text)["script"])


def _script(store: Store, number: int, invariant: str, writer: str) -> Path:
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", writer).strip("-.") or "writer"
    return store.folder / FINDINGS / f"{number}-{invariant}-{plain}.py"


def _write(path: Path, text: str) -> None:
    """Write a file so that it is whole or absent."""
    part: str | None = None
    with told(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(part).chmod(0o644)
            Path(part).replace(path)
        finally:
            if part is not None:
                with suppress(OSError):
                    Path(part).unlink()
