"""One finding, as a person reads it: what is broken, where, what shows it, how to see it again."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..spec.invariants import invariant
from ..spec.verdict import Result, Verdict
from .layout import labelled, sign, width, word, write
from .outcome import Finding, label_of
from .statement import statement_at


def print_finding(
    console: Console, finding: Finding, *, path: Path | None = None, again: str = ""
) -> None:
    """Write one finding in full.

    Args:
        console: where.
        finding: the finding.
        path: its counterexample file.
        again: the command that checks it again, shown where there is no such file.
    """
    result = finding.result
    about = invariant(result.invariant)
    _title(console, finding, f"{about.id} {about.title}", said_of(finding.result))
    code = statement_at(finding.job, result.source)
    room = width(console) - 4 - len(result.source)
    if code and len(code) > max(room, 40):
        write(console, Text(f"  {result.source}", style="cyan"))
        write(console, Text(f"    {_cut(code, width(console) - 4)}"))
    else:
        write(console, Text.assemble((f"  {result.source}", "cyan"), f"  {code}" if code else ""))
    if _asked(result, about.sentence):
        labelled(console, "asked", result.statement)
    if result.detail:
        labelled(console, "why", result.detail)
    labelled(console, "at", f"{place_of(result)}{label_of(finding.job, result)}")
    if result.safe_up_to is not None:
        labelled(console, "safe", f"up to {result.safe_of or 'slot'} {result.safe_up_to:,}")
    if result.replay:
        labelled(console, "replayed", replay_of(result))
    if result.assumes:
        labelled(console, "assuming", "; ".join(result.assumes))
    labelled(console, "seen in", finding.seen)
    if path is not None:
        labelled(console, "reproduce", f"kvproof replay {path}", whole=True)
    elif again:
        command = f"{again} --invariant {result.invariant}"
        labelled(console, "reproduce", command, whole=True)


def print_claim(console: Console, finding: Finding, *, path: Path | None = None) -> None:
    """Write one further statement that does not hold, or is open."""
    result = finding.result
    refuted = result.verdict is Verdict.REFUTED
    said = "does not hold" if refuted else f"{word(result.verdict)}: {result.detail}"
    _title(console, finding, result.statement, said)
    labelled(console, "at", f"{place_of(result)}{label_of(finding.job, result)}")
    if result.replay:
        labelled(console, "replayed", replay_of(result))
    labelled(console, "seen in", finding.seen)
    contract = finding.job.instance.contract.name
    labelled(console, "explained", f"kvproof explain {contract}", whole=True)
    if path is not None:
        labelled(console, "reproduce", f"kvproof replay {path}", whole=True)


def _title(console: Console, finding: Finding, head: str, said: str) -> None:
    """Write the first line, with the writer at its right end where there is room."""
    line = sign(console, finding.result.verdict)
    line.append(f" {head}", style="bold")
    line.append(f": {said}")
    writer = f"{finding.result.writer} ({finding.job.target})"
    gap = width(console) - line.cell_len - len(writer)
    if gap >= 2:
        write(console, line.append(" " * gap).append(writer, style="bold"))
    else:
        write(console, line)
        write(console, Text(f"  {writer}", style="bold"))


def said_of(result: Result) -> str:
    """Return what a result other than PROVED says of its invariant."""
    verdict = result.verdict
    if verdict is Verdict.REFUTED:
        return invariant(result.invariant).broken
    said = {
        Verdict.UNKNOWN: "neither proved nor refuted",
        Verdict.UNSUPPORTED: "the kernel does something that kvproof does not model",
        Verdict.VACUOUS: "holds only because nothing is ever stored",
    }
    return said[verdict]


def _asked(result: Result, sentence: str) -> bool:
    return bool(result.statement) and result.statement != sentence


def place_of(result: Result) -> str:
    """Return "slot 0, row 0, column 0; ", as far as it is known."""
    parts: list[str] = []
    if result.slot is not None:
        parts.append(f"slot {result.slot:,}")
    if result.row is not None:
        parts.append(f"row {result.row:,}")
    if result.column is not None:
        parts.append(f"column {result.column:,}")
    return f"{', '.join(parts)}; " if parts else ""


def replay_of(result: Result) -> str:
    """Return what each runner made of the counterexample, in one line."""
    parts: list[str] = []
    for runner, outcome in result.replay.items():
        seen = result.observed.get(runner, "") if outcome == "confirmed" else ""
        parts.append(f"{runner}: {seen or outcome}")
    said = " · ".join(parts)
    if any(outcome.startswith("not confirmed") for outcome in result.replay.values()):
        return f"{said} - a run that disagrees with a proof is a fault of kvproof: please report it"
    return said


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
