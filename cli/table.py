"""The table of a check: a row for each writer, a column for each invariant."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..spec.invariants import PROVED_BY_CHECK
from ..spec.verdict import SEVERITY, Verdict, worst
from .layout import sign, word, write
from .outcome import Outcome, is_claim


def print_table(console: Console, outcome: Outcome) -> None:
    """Write the table and a legend of the signs in it.

    A cell shows the worst verdict over the writer's configurations, and in how many of them it is
    that one when it is not all. Further statements (claims) are not in it.
    """
    cells = _cells(outcome)
    asked = {name for _, name in cells}
    columns = [name for name in PROVED_BY_CHECK if name in asked]
    columns += sorted(asked - set(columns))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("writer", overflow="fold", min_width=12)
    table.add_column("n", justify="right")
    for name in columns:
        table.add_column(name, no_wrap=True)
    seen: set[Verdict] = set()
    for writer, (total, failed) in _jobs(outcome).items():
        row: list[Text] = [Text(writer), Text(str(total))]
        if failed:
            row[1] = Text(f"{total}-{failed}", style="bold red")
        for name in columns:
            verdicts = cells.get((writer, name))
            row.append(Text("") if verdicts is None else _cell(console, verdicts, seen))
        table.add_row(*row)
    console.print(table)
    legend = Text("n: configurations", style="dim")
    for verdict in SEVERITY:
        if verdict in seen:
            legend.append("   ")
            legend.append_text(sign(console, verdict))
            legend.append(f" {word(verdict)}")
    write(console, legend)
    if any(len(set(verdicts)) > 1 for verdicts in cells.values()):
        write(console, Text("a number beside a sign: in so many of them", style="dim"))


def _jobs(outcome: Outcome) -> dict[str, tuple[int, int]]:
    """Return configurations, and those that could not be checked, by writer."""
    counts: dict[str, tuple[int, int]] = {}
    for report in outcome.reports:
        total, failed = counts.get(report.job.writer, (0, 0))
        counts[report.job.writer] = (total + 1, failed + (report.error is not None))
    return counts


def _cells(outcome: Outcome) -> dict[tuple[str, str], list[Verdict]]:
    """Return the worst verdict of each configuration, by writer and invariant."""
    by_job: dict[tuple[str, str], dict[int, list[Verdict]]] = {}
    for number, report in enumerate(outcome.reports):
        for result in report.results:
            if not is_claim(report.job, result):
                inner = by_job.setdefault((report.job.writer, result.invariant), {})
                inner.setdefault(number, []).append(result.verdict)
    return {key: [worst(found) for found in inner.values()] for key, inner in by_job.items()}


def _cell(console: Console, verdicts: list[Verdict], seen: set[Verdict]) -> Text:
    shown = worst(verdicts)
    seen.update(verdicts)
    count = verdicts.count(shown)
    cell = sign(console, shown)
    if count != len(verdicts):
        cell.append(f" {count}")
    return cell
