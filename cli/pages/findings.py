"""Findings as a page shows them, with their drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...spec.errors import KvproofError
from ...spec.invariants import invariant
from ..finding import place_of, replay_of, said_of
from ..layout import word
from ..outcome import Finding, Outcome, label_of
from ..statement import statement_at
from .evidence import Mark, mark
from .figures import Figure
from .hits import draw_hits, hits_text, is_broken
from .programs import replayed
from .text import code

if TYPE_CHECKING:
    from ...checkers.replay import Task


@dataclass(frozen=True)
class Shown:
    """A finding, or a further statement that does not hold.

    Args:
        id: an anchor.
        mark: the verdict.
        title: the invariant or the statement.
        said: what is wrong, in words.
        source: "file.py:line" of the statement that does it.
        code: that statement; empty where it is left out.
        facts: (label, text) lines.
        figure: the counterexample; None where there is none.
        case: name of its file, beside the page; empty where there is none.
    """

    id: str
    mark: Mark
    title: str
    said: str
    source: str
    code: str
    facts: tuple[tuple[str, str], ...]
    figure: Figure | None
    case: str = ""


def shown(
    outcome: Outcome, *, claims: bool, source: bool, stem: str, files: Mapping[int, Path]
) -> list[Shown]:
    """Return the findings of one writer.

    Args:
        outcome: what was found of that writer alone.
        claims: the further statements instead of what breaks the contract.
        source: whether the kernel's line is shown.
        stem: of the page's files.
        files: counterexample file of a result, by its position in `outcome`.
    """
    tasks = _tasks(outcome)
    found: list[Shown] = []
    times: Counter[str] = Counter()
    for position, finding in outcome.findings(claims=claims):
        key = f"{finding.result.invariant}{'-claim' if claims else ''}"
        times[key] += 1
        anchor = key if times[key] == 1 else f"{key}-{times[key]}"
        found.append(
            _shown(
                finding,
                anchor,
                claims=claims,
                source=source,
                figure=_figure(tasks.get(position), f"{stem}.{anchor}"),
                case=files[position].name if position in files else "",
            )
        )
    return found


def _tasks(outcome: Outcome) -> dict[int, Task]:
    found: dict[int, Task] = {}
    start = 0
    for report in outcome.reports:
        for index, task in report.tasks:
            if task is not None:
                found[start + index] = task
        start += len(report.results)
    return found


def _shown(
    finding: Finding, anchor: str, *, claims: bool, source: bool, figure: Figure | None, case: str
) -> Shown:
    result = finding.result
    about = invariant(result.invariant)
    facts: list[tuple[str, str]] = []
    if result.statement and result.statement != about.sentence and not claims:
        facts.append(("asked", result.statement))
    if result.detail:
        facts.append(("why", result.detail))
    facts.append(("at", f"{place_of(result)}{label_of(finding.job, result)}"))
    if result.safe_up_to is not None:
        facts.append(("safe", f"up to {result.safe_of or 'slot'} {result.safe_up_to:,}"))
    if result.replay:
        facts.append(("replayed", replay_of(result)))
    facts.append(("seen in", finding.seen))
    if claims:
        name = finding.job.instance.contract.name
        facts.append(("explained", f"`kvproof explain {name}`"))
    title = sentence_of(result.statement) if claims else f"{about.id} {about.title}"
    said = said_of(result)
    if claims:
        refuted = result.verdict.value == "REFUTED"
        said = "does not hold" if refuted else f"{word(result.verdict)}: {result.detail}"
    return Shown(
        id=anchor,
        mark=mark(result.verdict, claim=claims),
        title=title,
        said=said,
        source=result.source,
        code=statement_at(finding.job, result.source) if source else "",
        facts=tuple(facts),
        figure=figure,
        case=case,
    )


def sentence_of(text: str) -> str:
    """Return a statement with a capital first."""
    return f"{text[:1].upper()}{text[1:]}"


def _figure(task: Task | None, name: str) -> Figure | None:
    if task is None:
        return None
    try:
        calls = replayed(task)
    except KvproofError as problem:
        return Figure(name, "Counterexample", None, (f"It cannot be drawn: {problem}.",))
    # Of several caches, the first in which something is wrong.
    call = next((one for one in calls if is_broken(one)), calls[0])
    caption = f"The counterexample on {code(call.cache)}, run from the kernel's IR."
    return Figure(name, caption, draw_hits(call, key=_id(name)), (hits_text(call),))


def _id(name: str) -> str:
    return name.replace(".", "-")
