"""What a fuzz campaign ran of a writer: how many cases, which, and what they showed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ...spec.errors import KvproofError
from ..request import Request

#: Invariants that every case speaks of: all memory is compared with the reference.
_WHOLE: Final = frozenset({"W1", "W2", "W4", "W7", "W8", "W9", "W10", "W13"})


@dataclass(frozen=True)
class Ran:
    """A finding of a campaign: invariant, kernel line, first configuration, number of them."""

    invariant: str
    line: str
    label: str
    configurations: int


@dataclass(frozen=True, kw_only=True)
class Runs:
    """What a campaign did with one writer.

    Args:
        device: "cpu" or "cuda".
        cases: cases compared.
        reached: configurations that ran a case.
        counts: kind ("class", "clause", "runner", "skipped") -> name -> cases.
        findings: those that still show.
        undecided: crashes, hangs and cases that no runner decided.
    """

    device: str = ""
    cases: int = 0
    reached: int = 0
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    findings: tuple[Ran, ...] = ()
    undecided: int = 0

    def of(self, kind: str) -> list[tuple[str, int]]:
        """Return (name, cases) of a kind, the most frequent first."""
        return sorted(self.counts.get(kind, {}).items(), key=lambda item: (-item[1], item[0]))

    def families(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """Return the classes of case by what they vary: "rows" -> [("17 and more", 120), ...]."""
        found: dict[str, list[tuple[str, int]]] = {}
        for name, count in self.of("class"):
            family, _, value = name.partition(": ")
            found.setdefault(family, []).append((value or family, count))
        return sorted(found.items())

    def told(self, invariant: str) -> str:
        """Return what the runs say of an invariant; "not run" where no case speaks of it."""
        if not self.cases:
            return "not run"
        count = self._counted(invariant)
        if not count:
            return "not run"
        shown = sum(one.invariant == invariant for one in self.findings)
        if not shown:
            return f"{count}, no finding"
        return f"{count}, {shown} finding" + ("s" if shown > 1 else "")

    def _counted(self, invariant: str) -> str:
        if invariant in _WHOLE:
            return _cases(self.cases)
        clauses = self.counts.get("clause", {})
        if invariant == "W6":
            skips = [(name, count) for name, count in clauses.items() if name.startswith("skip: ")]
            return _cases(max(count for _, count in skips), "that skip a row") if skips else ""
        classes = self.counts.get("class", {})
        if invariant == "W12" and "slots: another rank's" in classes:
            return _cases(classes["slots: another rank's"], "with rows of another rank")
        if invariant == "W3":
            layouts = [
                f"{name.removeprefix('layout: ')} {count:,}"
                for name, count in self.of("class")
                if name.startswith("layout: ")
            ]
            return "cases by layout: " + ", ".join(layouts) if layouts else ""
        distinct = [count for name, count in clauses.items() if "distinct slots" in name]
        if invariant == "W5" and distinct:
            return _cases(distinct[0], "with distinct slots")
        return ""


def _cases(count: int, which: str = "") -> str:
    noun = "case" if count == 1 else "cases"
    return f"{count:,} {noun} {which}".rstrip()


def read_runs(folder: Path, request: Request) -> dict[str, Runs]:
    """Return what a campaign did with each writer of a target.

    Args:
        folder: the campaign's folder.
        request: the target; the campaign must be about the same.

    Raises:
        KvproofError: there is no campaign, it is about something else, another process holds it,
            or its file is damaged.
    """
    from ...diff import counts
    from ...diff.findings import findings, incidents
    from ...diff.store import FILE, Store

    path = folder / FILE
    if not path.is_file():
        raise KvproofError(
            "no campaign is there",
            where=f"--campaign {folder}",
            mend="name the folder of a `kvproof fuzz`",
        )
    identity = _identity(path)
    if {key: identity.get(key) for key in request.to_json()} != request.to_json():
        raise KvproofError(
            f"it holds a campaign on {identity.get('target')}, not on {request.target}",
            where=f"--campaign {folder}",
            mend="name the campaign of the same target and options",
        )
    with Store(folder, identity) as store:
        coverage = counts.read(store).counts
        jobs = store.rows("SELECT writer, cases FROM jobs")
        found = [one for one in findings(store) if one.shows]
        open_ = [one.writer for one in incidents(store) if one.counts]
    made: dict[str, Runs] = {}
    for writer in dict.fromkeys(str(name) for name, _ in jobs):
        cases = [int(count) for name, count in jobs if name == writer]
        made[writer] = Runs(
            device=str(identity.get("device", "")),
            cases=sum(cases),
            reached=sum(count > 0 for count in cases),
            counts={kind: names[writer] for kind, names in coverage.items() if writer in names},
            findings=tuple(
                Ran(one.invariant, one.line, one.label, len(one.labels))
                for one in found
                if one.writer == writer
            ),
            undecided=open_.count(writer),
        )
    return made


def _identity(path: Path) -> dict[str, Any]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            row = base.execute("SELECT value FROM meta WHERE key='identity'").fetchone()
            return dict(json.loads(row[0]))
    except (sqlite3.Error, TypeError, ValueError) as fault:
        raise KvproofError(
            f"the campaign's file is damaged ({fault})",
            where=str(path),
            mend="name another --campaign",
        ) from None
