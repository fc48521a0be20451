"""A campaign's summary on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..diff.findings import Finding, Incident
from ..diff.plan import Plan, Summary
from ..spec.invariants import INVARIANTS
from ..spec.job import Job
from ..spec.verdict import Verdict
from .axes import seen_in
from .layout import counted, heading, joined, labelled, sign, width, wrapped, write
from .statement import statement_at
from .versions import versions

#: Findings of one writer, invariant and line that are shown in full; the rest are counted.
_SHOWN = 1


def print_summary(console: Console, plan: Plan, target: str, summary: Summary) -> None:
    """Write what a campaign found, what it could not decide, and what it has tried."""
    write(console, Text(f"kvproof fuzz: {target}", style="bold"))
    _taken_over(console, summary)
    for group in _groups(summary.findings):
        console.print()
        _finding(console, plan.jobs, group)
    gone = [finding for finding in summary.findings if not finding.shows]
    if gone:
        heading(console, "No longer seen")
        for finding in gone:
            wrapped(console, f"{finding.writer}: {finding.invariant} {finding.line}")
    _incidents(console, summary.incidents)
    if summary.notes:
        heading(console, "Notes")
        for text, writers in summary.notes.items():
            wrapped(console, f"{joined(writers, most=6)}: {text}")
    _coverage(console, summary)
    _last(console, plan, summary)


def _taken_over(console: Console, summary: Summary) -> None:
    if summary.resumed or summary.recovered:
        wrapped(
            console,
            f"went on with a run that was stopped after {counted(summary.resumed, 'case')}; "
            f"{summary.recovered:,} more were taken over from its journals",
        )


def _groups(found: Sequence[Finding]) -> list[list[Finding]]:
    """Return the findings that show, those of one writer, invariant and line together."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in found:
        if finding.shows:
            key = (finding.writer, *finding.key)
            groups.setdefault(key, []).append(finding)
    return sorted(groups.values(), key=lambda group: group[0].writer)


def _finding(console: Console, jobs: Sequence[Job], group: list[Finding]) -> None:
    first = min(group, key=_telling)
    known = INVARIANTS.get(first.invariant)
    line = sign(console, Verdict.REFUTED)
    kind = f" of {first.value}" if first.value else ""
    line.append(
        f" {known.id} {known.title}{kind}" if known else f" {first.invariant}", style="bold"
    )
    line.append(f": {known.broken}" if known else ": the function raises on a legal call")
    gap = width(console) - line.cell_len - len(first.writer)
    if gap >= 2:
        write(console, line.append(" " * gap).append(first.writer, style="bold"))
    else:
        write(console, line)
        write(console, Text(f"  {first.writer}", style="bold"))
    job = next(
        (job for job in jobs if (job.writer, job.label) == (first.writer, first.label)), None
    )
    code = statement_at(job, first.line) if job is not None and ":" in first.line else ""
    write(console, Text.assemble((f"  {first.line}", "cyan"), f"  {code}" if code else ""))
    for mismatch in first.outcome.mismatches[:1]:
        labelled(console, "seen", mismatch.text)
    for other in first.others:
        if other.runner == "reference":
            continue  # it stands for the contract, not for the writer
        said = other.mismatches[0].text if other.mismatches else other.reason
        labelled(console, other.runner, f"{other.status}: {said}" if said else other.status)
    labelled(console, "at", first.label)
    labels = [label for finding in group for label in finding.labels]
    mine = [job for job in jobs if job.writer == first.writer]
    found = [job for job in mine if job.label in labels]
    if found:
        where = seen_in(
            [job.instance.config for job in found],
            [job.instance.config for job in mine],
            [job.label for job in found],
        )
        labelled(console, "seen in", where)
    if len(group) > 1:
        scripts = [_shown(finding.script) for finding in group if finding is not first]
        labelled(console, "other cases", joined(scripts, most=3))
    labelled(console, "case", first.repr, whole=True)
    labelled(console, "script", f"python {_shown(first.script)}", whole=True)


def _telling(finding: Finding) -> tuple[bool, int, int]:
    """Sort first what a second runner confirms: its script runs without a GPU too."""
    confirmed = any(other.status == "differs" for other in finding.others)
    return not confirmed, finding.trial.case.rows, finding.id


def _shown(path: Path) -> str:
    here = Path.cwd()
    whole = path.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def _incidents(console: Console, found: Sequence[Incident]) -> None:
    if not found:
        return
    heading(console, "Undecided")
    groups: dict[tuple[str, str, str, bool], list[Incident]] = {}
    for one in found:
        groups.setdefault((one.writer, one.kind, one.how, one.counts), []).append(one)
    for (writer, kind, how, counts), members in groups.items():
        times = f" ({len(members)} times)" if len(members) > 1 else ""
        after = "" if counts else "; not when it was run again"
        wrapped(console, f"{writer}: {kind}: {how}{times}{after}")
        labelled(console, "at", members[0].label)
        if members[0].trial is not None:
            labelled(console, "case", repr(members[0].trial), whole=True)


def _coverage(console: Console, summary: Summary) -> None:
    titles = (
        ("clause", "Clauses of the contract, by how many cases exercised them"),
        ("class", "Classes of case"),
        ("runner", "Also run on"),
        ("skipped", "Not run"),
    )
    for kind, title in titles:
        counts = summary.coverage.of(kind)
        if counts:
            heading(console, title)
            text = "; ".join(f"{name} {count:,}" for name, count in counts.items())
            wrapped(console, text)


def _last(console: Console, plan: Plan, summary: Summary) -> None:
    status = summary.status
    shown = len(_groups(summary.findings))
    open_ = sum(incident.counts for incident in summary.incidents)
    console.print()
    wrapped(
        console,
        f"{counted(status.cases, 'case')} in {status.seconds:.1f} s ({status.rate:,.0f} a second), "
        f"{summary.total:,} in all; {summary.reached} of {counted(summary.jobs, 'configuration')} "
        f"reached; {counted(shown, 'finding')}, {open_:,} undecided",
        indent=0,
    )
    told = ", ".join(f"{name} {version}" for name, version in versions().items())
    wrapped(console, f"kept in {_shown(plan.folder)} - {told}", indent=0)
