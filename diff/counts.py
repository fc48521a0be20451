"""How often a campaign has exercised each class of case, clause of the contract, and runner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..spec.job import Job
from .api import Trial
from .cases import classes, clauses
from .store import Store

#: (kind, name) -> times. Kinds: "class" of case, "clause" of the contract, trials of a further
#: "runner", and why the first runner "skipped" one.
Counts = Counter[tuple[str, str]]


def exercised(job: Job, trials: Iterable[Trial]) -> Counts:
    """Return how often trials of a job exercise each class and clause."""
    found: Counts = Counter()
    for trial in trials:
        found.update(("class", name) for name in classes(job, trial))
        found.update(("clause", name) for name in clauses(job, trial))
    return found


def add(store: Store, writer: str, counts: Counts) -> None:
    """Add counts of a writer to the store."""
    with store.transaction():
        for (kind, name), count in counts.items():
            store.change(
                "INSERT INTO coverage VALUES(?, ?, ?, ?) ON CONFLICT(kind, writer, name) "
                "DO UPDATE SET count = count + excluded.count",
                kind,
                writer,
                name,
                count,
            )


@dataclass(frozen=True)
class Coverage:
    """Everything counted, kind -> writer -> name -> times."""

    counts: dict[str, dict[str, dict[str, int]]] = field(
        default_factory=dict[str, dict[str, dict[str, int]]]
    )

    def of(self, kind: str) -> dict[str, int]:
        """Return the times of each name of a kind over all writers, the most frequent first."""
        total: Counter[str] = Counter()
        for names in self.counts.get(kind, {}).values():
            total.update(names)
        return dict(total.most_common())

    def writers(self, kind: str, name: str) -> int:
        """Return how many writers exercised a name."""
        return sum(name in names for names in self.counts.get(kind, {}).values())


def read(store: Store) -> Coverage:
    """Return the counts of all runs."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for kind, writer, name, count in store.rows(
        "SELECT kind, writer, name, count FROM coverage ORDER BY count DESC, name"
    ):
        found.setdefault(kind, {}).setdefault(writer, {})[name] = count
    return Coverage(found)
