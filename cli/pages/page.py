"""What is on a page: one writer of a target, and the index of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...spec.invariants import INVARIANTS
from ...spec.verdict import SEVERITY, Verdict
from ..outcome import Outcome
from .evidence import (
    Assumption,
    Configuration,
    Evidence,
    Mark,
    assumptions_of,
    configurations_of,
    evidence_of,
    mark,
)
from .figures import Figure, program_figures, row_figures, slot_figure
from .findings import Shown, shown
from .promise import Promise, promise_of
from .runs import Runs
from .text import code, slug

if TYPE_CHECKING:
    from ...checkers.child import Child


@dataclass(frozen=True, kw_only=True)
class Options:
    """How pages are made.

    Args:
        source: show the kernel's line beside its place.
        volatile: show times and versions, which change from run to run.
        files: counterexample file of a result, by its position in the whole outcome.
        runs: what a campaign ran, by writer; None where none was named.
        versions: by name.
    """

    source: bool = True
    volatile: bool = True
    files: Mapping[int, Path] = field(default_factory=dict[int, Path])
    runs: Mapping[str, Runs] | None = None
    versions: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, kw_only=True)
class Page:
    """One writer. Fields are in the order in which the page shows them."""

    target: str
    writer: str
    stem: str
    function: str
    contract: str
    headline: Mark
    summary: str
    assumptions: tuple[Assumption, ...]
    host: tuple[tuple[str, str], ...]
    stubs: tuple[str, ...]
    says: str
    promise: Promise
    figures: tuple[Figure, ...]
    asked: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    configurations: tuple[Configuration, ...]
    runs: Runs | None
    findings: tuple[Shown, ...]
    claims: tuple[Shown, ...]
    claimed: tuple[tuple[str, Mark, str], ...]
    unproved: tuple[str, ...]
    notes: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]
    again: str
    seconds: float

    @property
    def kernels(self) -> list[str]:
        """The kernels that the configurations launch."""
        return list(dict.fromkeys(one.kernel for one in self.configurations if one.kernel))

    @property
    def drawings(self) -> list[Figure]:
        """Every figure of the page."""
        more = [one.figure for one in (*self.findings, *self.claims) if one.figure is not None]
        return [*self.figures, *more]


def pages_of(outcome: Outcome, child: Child, options: Options) -> list[Page]:
    """Return a page for each writer of an outcome, in its order."""
    writers = list(dict.fromkeys(report.job.writer for report in outcome.reports))
    stems: dict[str, str] = {}
    for name in writers:
        stem = slug(name)
        taken = sum(other == stem or other.startswith(f"{stem}-~") for other in stems.values())
        stems[name] = f"{stem}-{taken + 1}" if taken or stem == "index" else stem
    return [_page(outcome, name, stems[name], child, options) for name in writers]


def _page(outcome: Outcome, writer: str, stem: str, child: Child, options: Options) -> Page:
    mine, files = _part(outcome, writer, options.files)
    jobs = [report.job for report in mine.reports]
    first = jobs[0]
    assumptions = assumptions_of(mine)
    configurations = configurations_of(mine.reports)
    evidence = evidence_of(mine.reports, configurations, assumptions)
    promise = promise_of([(job.label, job.instance) for job in jobs])
    programs = program_figures(child, first, stem)

    def told(*, claims: bool) -> tuple[Shown, ...]:
        how = {"claims": claims, "source": options.source}
        return tuple(shown(mine, **how, stem=stem, files=files))

    headline, summary = headline_of(evidence, configurations)
    return Page(
        target=first.target,
        writer=writer,
        stem=stem,
        function=f"{first.source.module}.{first.function}",
        contract=first.instance.contract.name,
        headline=headline,
        summary=summary,
        assumptions=tuple(assumptions),
        host=tuple(_host(mine)),
        stubs=tuple(dict.fromkeys(name for job in jobs for name in job.source.stubs)),
        says=first.instance.contract.promise,
        promise=promise,
        figures=(*row_figures(promise.rows, stem), slot_figure(jobs, stem), *programs),
        asked=tuple(one.id for one in evidence if one.verdict is not None),
        evidence=tuple(evidence),
        configurations=tuple(configurations),
        runs=None if options.runs is None else options.runs.get(writer, Runs()),
        findings=told(claims=False),
        claims=told(claims=True),
        claimed=tuple(_claimed(mine)),
        unproved=tuple(mine.unproved()),
        notes=tuple(mine.notes()),
        errors=tuple((job.label, text) for job, text in mine.errors()),
        again=outcome.request.command(),
        seconds=sum(report.seconds for report in mine.reports),
    )


def _part(
    outcome: Outcome, writer: str, files: Mapping[int, Path]
) -> tuple[Outcome, dict[int, Path]]:
    """Return one writer's part of an outcome, and its counterexample files by position there."""
    reports = tuple(report for report in outcome.reports if report.job.writer == writer)
    positions = [position for position, job, _ in outcome.results() if job.writer == writer]
    mine = {at: files[position] for at, position in enumerate(positions) if position in files}
    return replace(outcome, reports=reports, files={}), mine


def headline_of(
    evidence: Sequence[Evidence], configurations: Sequence[Configuration]
) -> tuple[Mark, str]:
    """Return the verdict on a writer, and one sentence."""
    decided = [one for one in evidence if one.verdict is not None]
    failed = sum(bool(one.error) for one in configurations)
    total = len(configurations)
    where = "proved in the one configuration"
    if total > 1:
        where = f"proved wherever they apply, in {total} configurations"
    if not decided:
        return mark(Verdict.UNKNOWN), "Nothing was decided."
    worst = max((one.verdict for one in decided if one.verdict), key=SEVERITY.index)
    broken = [f"{one.id} {one.title}" for one in decided if one.verdict is Verdict.REFUTED]
    open_ = [
        f"{one.id} {one.title}" for one in decided
        if one.verdict not in (Verdict.PROVED, Verdict.REFUTED)
    ]  # fmt: skip
    proved = len(decided) - len(broken) - len(open_)
    parts: list[str] = []
    if broken:
        parts.append(f"The contract is broken: {', '.join(broken)}.")
    if open_:
        parts.append(f"Neither proved nor refuted: {', '.join(open_)}.")
    if failed:
        parts.append(f"{failed} of {total} configurations could not be checked.")
    if not parts:
        return mark(worst), f"The contract is kept: {proved} invariants, {where}."
    if proved:
        parts.append(f"{proved} further invariants are proved wherever they apply.")
    if worst is Verdict.PROVED:
        worst = Verdict.UNKNOWN
    return mark(worst), " ".join(parts)


def _host(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what stands in for the machine: (what is read, what it gives)."""
    found: dict[str, list[tuple[object, str]]] = {}
    for report in outcome.reports:
        for name, (how, value) in report.job.switches.items():
            pair = (value, report.job.platform or "every machine")
            seen = found.setdefault(f"{name}()" if "call" in how else name, [])
            if pair not in seen:
                seen.append(pair)
    return [(what, _given(pairs)) for what, pairs in found.items()]


def _given(pairs: Sequence[tuple[object, str]]) -> str:
    """Return the values of a stand-in: one, one for each platform, or those of each attribute."""
    maps = [value for value, _ in pairs if isinstance(value, Mapping)]
    if len(maps) == len(pairs):
        keys = dict.fromkeys(str(key) for value in maps for key in value)
        told = {key: dict.fromkeys(str(value.get(key)) for value in maps) for key in keys}
        return "; ".join(f"{code(key)} {_or(list(values))}" for key, values in told.items())
    values = dict.fromkeys(str(value) for value, _ in pairs)
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{value} ({platform})" for value, platform in pairs)


def _or(values: Sequence[str]) -> str:
    return " or ".join((", ".join(values[:-1]), values[-1])) if len(values) > 1 else values[0]


def _claimed(outcome: Outcome) -> list[tuple[str, Mark, str]]:
    """Return each further statement with its verdict over the configurations."""
    found: dict[str, list[Verdict]] = {}
    claims = {
        claim.sentence
        for report in outcome.reports
        for claim in report.job.instance.contract.claims
    }
    for _, _, result in outcome.results():
        if result.statement in claims:
            found.setdefault(result.statement, []).append(result.verdict)
    made: list[tuple[str, Mark, str]] = []
    for statement, verdicts in found.items():
        worst = max(verdicts, key=SEVERITY.index)
        count = verdicts.count(worst)
        where = f"in {count} of {len(verdicts)} configurations"
        made.append((statement, mark(worst, claim=True), where))
    return made


@dataclass(frozen=True, kw_only=True)
class Index:
    """All writers of a target."""

    target: str
    pages: tuple[Page, ...]
    asked: tuple[str, ...]
    unproved: Mapping[str, tuple[str, ...]]
    eager: tuple[tuple[str, str], ...]
    again: str
    seconds: float


def index_of(outcome: Outcome, pages: Sequence[Page], eager: Sequence[tuple[str, str]]) -> Index:
    """Return the index; `eager` are writers of the target that launch no kernel, with why."""
    asked = {name for page in pages for name in page.asked}
    return Index(
        target=outcome.request.target,
        pages=tuple(pages),
        asked=tuple(name for name in INVARIANTS if name in asked),
        unproved=outcome.unproved(),
        eager=tuple(eager),
        again=outcome.request.command(),
        seconds=outcome.seconds,
    )
