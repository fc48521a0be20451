"""A whole check on a terminal or in a pipe: the table, the findings, what was left open."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ..spec.verdict import Verdict
from .finding import print_claim, print_finding
from .layout import counted, fancy, heading, joined, labelled, sign, word, wrapped, write
from .outcome import Outcome
from .table import print_table
from .versions import versions


def print_outcome(console: Console, outcome: Outcome) -> None:
    """Write everything that a check found, the most important first and a summary last."""
    write(console, Text(f"kvproof check: {outcome.request.target}", style="bold"))
    console.print()
    print_table(console, outcome)
    again = outcome.request.command()
    for position, finding in outcome.findings():
        console.print()
        print_finding(console, finding, path=outcome.files.get(position), again=again)
    _claims(console, outcome)
    _errors(console, outcome)
    _assumptions(console, outcome)
    _lines(console, "Not proved: paths that no proof above speaks for", outcome.unproved())
    _lines(console, "Notes", outcome.notes())
    _summary(console, outcome)


def _claims(console: Console, outcome: Outcome) -> None:
    found = outcome.findings(claims=True)
    if not found:
        return
    heading(console, "Further statements, which break no contract")
    for position, finding in found:
        print_claim(console, finding, path=outcome.files.get(position))


def _errors(console: Console, outcome: Outcome) -> None:
    groups: dict[tuple[str, str], list[str]] = {}
    for job, text in outcome.errors():
        groups.setdefault((job.writer, text), []).append(job.label)
    if groups:
        heading(console, "Not checked")
    for (writer, text), labels in groups.items():
        wrapped(console, f"{writer}: {text}")
        labelled(console, "seen in", joined(labels, most=3, comma="; "))


def _assumptions(console: Console, outcome: Outcome) -> None:
    found = outcome.assumptions()
    if not found:
        return
    heading(console, "What the assumptions keep out")
    for sentence, shown in found.items():
        wrapped(console, f'without "{sentence}":')
        for (shows, invariants), writers in shown.items():
            rest = [name for name in invariants if name not in shows.split()]
            more = "and " if len(rest) < len(invariants) else ""
            also = f" ({more}{', '.join(rest)})" if rest else ""
            wrapped(console, f"{joined(writers, most=6)}: {shows}{also}", indent=4)


def _lines(console: Console, title: str, found: dict[str, tuple[str, ...]]) -> None:
    if not found:
        return
    heading(console, title)
    for text, writers in found.items():
        wrapped(console, f"{joined(writers, most=6)}: {text}")


def _summary(console: Console, outcome: Outcome) -> None:
    verdicts = [result.verdict for _, _, result in outcome.results()]
    writers = {report.job.writer for report in outcome.reports}
    console.print()
    line = Text(
        f"{counted(len(writers), 'writer')}, "
        f"{counted(len(outcome.reports), 'configuration')}, "
        f"{counted(len(verdicts), 'promise')}: "
    )
    parts: list[Text] = []
    for verdict in Verdict:
        if count := verdicts.count(verdict):
            part = sign(console, verdict)
            parts.append(part.append(f" {count:,} {word(verdict)}"))
    if errors := len(outcome.errors()):
        parts.append(Text(f"{errors:,} not checked", style="bold red"))
    line.append_text(Text(", ").join(parts)).append(f"; {outcome.seconds:.1f} s")
    write(console, line)
    told = ", ".join(f"{name} {version}" for name, version in versions().items())
    dash = "—" if fancy(console) else "-"
    wrapped(
        console,
        f"Proved of the compiler's IR (TTIR), not of machine code {dash} {told}",
        indent=0,
    )
