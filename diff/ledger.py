"""What slices found, entered into the store: reports, journals of dead processes, findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..spec.job import Job
from . import counts
from .api import Trial
from .findings import write_scripts
from .journal import Entry, Key, read_journal
from .orders import Found, Report, shape
from .store import Run, Store

#: Folder of the journals, inside the campaign's.
JOURNALS = "journals"


class Ledger:
    """Enters what slices found into a store.

    Args:
        store: the store.
        jobs: every job of the target, for the coverage of trials that a dead process ran.
    """

    def __init__(self, store: Store, jobs: Iterable[Job]) -> None:
        self.store = store
        self.folder = store.folder
        self._jobs = {(job.writer, job.label): job for job in jobs}

    def enter(self, name: int, job: Job, report: Report, run: Run, seconds: float) -> None:
        """Enter a slice's report once, with the run's seconds so far, and drop its journal."""
        with self.store.transaction():
            if not self._first_time(name):
                return
            self._add(job.writer, job.label, report.cases, report.coverage, run)
            self.store.change("UPDATE runs SET seconds=? WHERE id=?", seconds, run.id)
            for found in report.findings:
                self._add_finding(job, found)
            for key, trial in report.sightings:
                self._sight(job, key, trial)
            for number, shows in report.rechecked.items():
                self.store.change("UPDATE findings SET shows=? WHERE id=?", int(shows), number)
            for number in report.settled:
                self._settle(number, repeats=False)
            for trial, how in report.undecided:
                self.add_incident(job, "undecided", how, trial)
        self.journal(name).unlink(missing_ok=True)
        write_scripts(self.store)

    def journal(self, name: int) -> Path:
        """Return the path of a slice's journal."""
        return self.folder / JOURNALS / f"{name}.log"

    def next_name(self) -> int:
        """Return a slice name that neither the store nor any journal has."""
        used = [int(self.store.rows("SELECT coalesce(max(name), 0) FROM journals")[0][0])]
        used += [int(path.stem) for path in self._journals()]
        return max(used) + 1

    def recover(self, run: Run) -> int:
        """Enter the journals that a killed campaign left behind; return how many trials.

        What was running is put on the list of pending trials: it is the campaign that was killed,
        and the trial is not to blame.
        """
        found = 0
        for path in self._journals():
            _, entries = read_journal(path)
            found += len(entries)
            self.close_journal(int(path.stem), run)
        return found

    def close_journal(self, name: int, run: Run, *, kind: str = "", how: str = "") -> Entry | None:
        """Enter a journal without a report and drop it; return what was running when it ended.

        Args:
            name: the slice.
            run: whose trials they are.
            kind: "crashed", "hung" or "undecided"; empty when the campaign ended, not the worker.
            how: how it ended, in one line.
        """
        path = self.journal(name)
        if not path.exists():
            return None
        heading, entries = read_journal(path)
        running = next((entry for entry in entries if not entry.ended), None)
        with self.store.transaction():
            if heading and self._first_time(name):
                job = self._jobs.get((heading["writer"], heading["label"]))
                ended = [entry for entry in entries if entry.ended]
                done = counts.exercised(job, [e.trial for e in ended]) if job else None
                self._add(heading["writer"], heading["label"], len(ended), done, run)
                for entry in ended:
                    if entry.pending:
                        self._settle(entry.pending, repeats=False)
                    if self._unknown(heading, entry.keys):
                        self._add_pending(heading, entry.trial)
                if running is not None:
                    self._enter_running(heading, running, kind, how)
        path.unlink(missing_ok=True)
        return running

    def _enter_running(
        self, heading: Mapping[str, str], running: Entry, kind: str, how: str
    ) -> None:
        if not kind:
            if not running.pending:
                self._add_pending(heading, running.trial)
        elif running.pending:
            found = self.store.rows("SELECT outcome FROM pending WHERE id=?", running.pending)
            if found and found[0][0] is None:  # a killed campaign left it: no worker died of it yet
                number = self._incident(heading, kind, how, running.trial, repeats=None)
                self.store.change(
                    "UPDATE pending SET outcome=? WHERE id=?", number, running.pending
                )
                return
            self._settle(running.pending, repeats=True)
        elif kind == "undecided":
            self._incident(heading, kind, how, running.trial, repeats=None)
        else:
            number = self._incident(heading, kind, how, running.trial, repeats=None)
            self._add_pending(heading, running.trial, number)

    def add_incident(self, job: Job, kind: str, how: str, trial: Trial | None) -> None:
        """Record a trial, or a job, that no runner decided; the same is recorded once."""
        heading = {"writer": job.writer, "label": job.label}
        known = self.store.rows(
            "SELECT 1 FROM outcomes WHERE writer=? AND label=? AND kind=? AND how=?",
            job.writer,
            job.label,
            kind,
            how,
        )
        if not known:
            self._incident(heading, kind, how, trial, repeats=None)

    def _journals(self) -> list[Path]:
        found = (self.folder / JOURNALS).glob("*.log")
        return sorted((p for p in found if p.stem.isdigit()), key=lambda path: int(path.stem))

    def _first_time(self, name: int) -> bool:
        if self.store.rows("SELECT 1 FROM journals WHERE name=?", name):
            return False
        self.store.change("INSERT INTO journals VALUES(?)", name)
        return True

    def _add(
        self, writer: str, label: str, cases: int, exercised: counts.Counts | None, run: Run
    ) -> None:
        self.store.change(
            "INSERT INTO jobs VALUES(?, ?, ?, 1) ON CONFLICT(writer, label) DO UPDATE SET "
            "cases = cases + excluded.cases, slices = slices + 1",
            writer,
            label,
            cases,
        )
        self.store.change("UPDATE runs SET cases = cases + ? WHERE id=?", cases, run.id)
        if exercised:
            counts.add(self.store, writer, exercised)

    def _add_finding(self, job: Job, found: Found) -> None:
        data = {
            "trial": found.trial.to_json(),
            "outcome": found.outcome.to_json(),
            "others": [other.to_json() for other in found.others],
            "repr": found.repr,
            "script": found.script,
        }
        self.store.change(
            "INSERT INTO findings(writer, invariant, line, value, shape, label, data) "
            "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET shows=1",
            job.writer,
            *found.key,
            shape(found.trial),
            job.label,
            json.dumps(data),
        )
        self._sight(job, found.key, found.trial)

    def _sight(self, job: Job, key: Key, trial: Trial) -> None:
        self.store.change(
            "INSERT OR IGNORE INTO sightings SELECT id, ? FROM findings "
            "WHERE writer=? AND invariant=? AND line=? AND value=? AND shape=?",
            job.label,
            job.writer,
            *key,
            shape(trial),
        )

    def _unknown(self, heading: Mapping[str, str], keys: Iterable[Key]) -> bool:
        known = set(self.keys(heading["writer"], heading["label"]))
        return any(key not in known for key in keys)

    def _add_pending(
        self, heading: Mapping[str, str], trial: Trial, outcome: int | None = None
    ) -> None:
        self.store.change(
            'INSERT INTO pending(writer, label, "case", outcome) VALUES(?, ?, ?, ?)',
            heading["writer"],
            heading["label"],
            json.dumps(trial.to_json()),
            outcome,
        )

    def _incident(
        self,
        heading: Mapping[str, str],
        kind: str,
        how: str,
        trial: Trial | None,
        *,
        repeats: bool | None,
    ) -> int:
        return self.store.change(
            'INSERT INTO outcomes(writer, label, kind, how, "case", repeats) '
            "VALUES(?, ?, ?, ?, ?, ?)",
            heading["writer"],
            heading["label"],
            kind,
            how,
            None if trial is None else json.dumps(trial.to_json()),
            repeats,
        )

    def _settle(self, number: int, *, repeats: bool) -> None:
        self.store.change(
            "UPDATE outcomes SET repeats=? WHERE id=(SELECT outcome FROM pending WHERE id=?)",
            int(repeats),
            number,
        )
        self.store.change("DELETE FROM pending WHERE id=?", number)

    def keys(self, writer: str, label: str) -> list[Key]:
        """Return the findings that a job is known to have."""
        rows = self.store.rows(
            "SELECT DISTINCT invariant, line, value FROM findings JOIN sightings ON finding = id "
            "WHERE writer=? AND sightings.label=?",
            writer,
            label,
        )
        return [(str(a), str(b), str(c)) for a, b, c in rows]

    def owing(self) -> list[tuple[str, str]]:
        """Return the jobs, by writer and label, that have pending trials."""
        rows = self.store.rows("SELECT DISTINCT writer, label FROM pending ORDER BY writer, label")
        return [(str(writer), str(label)) for writer, label in rows]

    def pending(self, job: Job, most: int = 50) -> tuple[tuple[int, Trial], ...]:
        """Return trials of a job that a killed process left behind."""
        rows = self.store.rows(
            'SELECT id, "case" FROM pending WHERE writer=? AND label=? ORDER BY id LIMIT ?',
            job.writer,
            job.label,
            most,
        )
        return tuple((int(number), Trial.from_json(json.loads(text))) for number, text in rows)
