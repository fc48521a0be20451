"""From what was seen of each case to the table: pure counting, no process and no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from peers_child import CLEAN, FLAGGED, PARTS

#: Columns of a peer: (which cases, with or without the reference).
COLUMNS = tuple((cases, part) for cases in ("plain", "telling") for part in PARTS)


@dataclass(frozen=True)
class Seen:
    """What a tool said about one writer in one column.

    Args:
        status: "flagged", "clean", or why it says nothing ("timeout", "crash", ...).
        detail: the tool's words, in one line.
        seconds: time spent.
    """

    status: str
    detail: str = ""
    seconds: float = 0.0

    @property
    def decided(self) -> bool:
        """Whether the tool says anything: flagged or clean."""
        return self.status in (FLAGGED, CLEAN)


@dataclass(frozen=True)
class Verdict:
    """What a tool said about a pair in one column: its right and its faulty writer."""

    pair: str
    right: Seen
    wrong: Seen


@dataclass
class Row:
    """The counts of one tool in one column.

    Args:
        found, missed: faulty writers flagged, and called clean.
        false, clean: right writers flagged, and called clean.
        undecided: writers of either kind about which nothing was said, by reason.
        seconds: time of each pair.
    """

    found: int = 0
    missed: int = 0
    false: int = 0
    clean: int = 0
    undecided: Counter[str] = field(default_factory=Counter[str])
    seconds: list[float] = field(default_factory=list[float])

    def add(self, verdict: Verdict) -> None:
        """Count a pair. What says nothing counts neither as found nor as clean."""
        self.seconds.append(verdict.right.seconds + verdict.wrong.seconds)
        for seen, right in ((verdict.right, True), (verdict.wrong, False)):
            if not seen.decided:
                self.undecided[seen.status] += 1
            elif right:
                self.false += seen.status == FLAGGED
                self.clean += seen.status == CLEAN
            else:
                self.found += seen.status == FLAGGED
                self.missed += seen.status == CLEAN

    @property
    def median(self) -> float:
        """Median seconds of a pair; 0 without any."""
        return median(self.seconds) if self.seconds else 0.0


def judged(cases: Sequence[Mapping[str, Any]], part: str, left_out: int = 0) -> Seen:
    """Return what a tool said about a writer over several cases.

    Args:
        cases: an item of a job's answer for each case.
        part: "alone" or "compared".
        left_out: cases of the set that fit in no memory.

    One flagged case flags the writer. Without one, a case about which nothing was said leaves the
    writer undecided: it is clean only where every case is.
    """
    seconds = sum(case["alone"]["seconds"] for case in cases)
    if part == "compared":
        seconds += sum(case["compared"]["seconds"] for case in cases)
    for case in cases:
        if case[part]["status"] == FLAGGED:
            return Seen(FLAGGED, case[part]["detail"], seconds)
    for case in cases:
        if case[part]["status"] != CLEAN:
            return Seen(case[part]["status"], case[part]["detail"], seconds)
    if left_out or not cases:
        return Seen("memory", "a case fits in no memory", seconds)
    return Seen(CLEAN, "", seconds)


def columns(
    answer: Mapping[str, Any], plain: Iterable[int], left_out: int
) -> dict[tuple[str, str], Seen]:
    """Return what an answer says in each column of `COLUMNS`."""
    cases = answer["cases"]
    chosen = {"plain": [cases[number] for number in plain], "telling": cases}
    return {
        (which, part): judged(chosen[which], part, left_out if which == "telling" else 0)
        for which, part in COLUMNS
    }


def lost(status: str, detail: str, seconds: float) -> dict[tuple[str, str], Seen]:
    """Return the columns of a writer whose job had no answer at all."""
    return dict.fromkeys(COLUMNS, Seen(status, detail, seconds))


HEAD = (
    f"{'tool':<30} {'cases':<8} {'reference':<9} {'found':>6} {'missed':>7} {'false':>6} "
    f"{'clean':>6} {'undecided':>10} {'s/pair':>7} {'total s':>8}"
)


def line(tool: str, cases: str, reference: str, row: Row) -> str:
    """Return a line of the table."""
    return (
        f"{tool:<30} {cases:<8} {reference:<9} {row.found:>6} {row.missed:>7} {row.false:>6} "
        f"{row.clean:>6} {sum(row.undecided.values()):>10} {row.median:>7.2f} "
        f"{sum(row.seconds):>8.1f}"
    )


def reasons(row: Row) -> str:
    """Return why a tool was undecided, in words; empty where it never was."""
    return ", ".join(f"{count} {status}" for status, count in row.undecided.most_common())


def absent(tool: str, why: str) -> str:
    """Return the line of a tool that did not run: words, and no number that could be a zero."""
    return f"{tool:<30} {why}"


def matrix(names: Sequence[str], found: Mapping[str, Mapping[str, Verdict]]) -> list[str]:
    """Return a line for each pair: what every tool said of the faulty and of the right writer.

    Args:
        names: pairs, in order.
        found: tool -> pair -> verdict.

    Each tool has two signs: `+` the fault is found, `-` it is missed, `?` nothing is said; then
    `!` where the right writer is flagged, `?` where nothing is said of it.
    """
    tools = list(found)
    width = max((len(name) for name in names), default=0)
    lines = [f"{'':<{width}}  " + "  ".join(tools)]
    for name in names:
        signs = [_sign(found[tool].get(name)).ljust(len(tool)) for tool in tools]
        lines.append(f"{name:<{width}}  " + "  ".join(signs).rstrip())
    return lines


def _sign(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    wrong = {FLAGGED: "+", CLEAN: "-"}.get(verdict.wrong.status, "?")
    right = {FLAGGED: "!", CLEAN: ""}.get(verdict.right.status, "?")
    return wrong + right
