"""JUnit XML of a check: a suite for each writer, a case for each invariant and configuration.

The file keeps to the schema of Jenkins' xUnit plugin (junit-10.xsd, also that of pytest's files),
which has no attribute for a line: the kernel's file and line begin a failure's message.
"""

from __future__ import annotations

import io
import re

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult
from rich.console import Console

from ..spec.invariants import invariant
from ..spec.job import Job
from ..spec.verdict import Result, Verdict, worst
from .finding import print_claim, print_finding, said_of
from .outcome import Finding, Outcome, is_claim, label_of
from .spot import spot_of
from .versions import versions

#: What XML 1.0 cannot hold.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(outcome: Outcome, *, strict: bool = False) -> str:
    """Return a check's outcome as JUnit XML.

    REFUTED is a failure. UNKNOWN, UNSUPPORTED, VACUOUS and a job that could not be checked are
    errors. A further statement (a claim) that is not proved is skipped, with the reason; when
    `strict`, it counts like an invariant.
    """
    suites: dict[str, TestSuite] = {}
    positions: dict[int, int] = {id(result): number for number, _, result in outcome.results()}
    for report in outcome.reports:
        job = report.job
        name = f"{job.target} {job.writer}"
        if name not in suites:
            suites[name] = _suite(name, outcome)
        if report.error:
            case = _case(job, f"capture [{job.label}]", report.seconds)
            case.result = [Error(_fit(report.error), "NotChecked")]
            suites[name].append(case)
        groups: dict[tuple[str, ...], list[Result]] = {}
        for result in report.results:
            groups.setdefault(_question(job, result), []).append(result)
        for (title, *_), results in groups.items():
            case = _case(job, title, sum(result.seconds for result in results))
            case.result = _verdict(job, results, outcome, positions, strict=strict)
            suites[name].append(case)
    root = JUnitXml("kvproof check")
    for suite in suites.values():
        root.append(suite)
    root.update_statistics()
    root._elem.attrib.pop("skipped", None)  # noqa: SLF001 - the schema has none at the root
    text = io.BytesIO()
    root.write(text)
    return text.getvalue().decode() + "\n"


def _suite(name: str, outcome: Outcome) -> TestSuite:
    suite = TestSuite(_fit(name))
    suite.add_property("command", _fit(outcome.request.command()))
    for tool, version in versions().items():
        suite.add_property(tool, version)
    return suite


def _case(job: Job, title: str, seconds: float) -> TestCase:
    return TestCase(_fit(title), _fit(f"{job.target}.{job.writer}"), round(seconds, 3))


def _question(job: Job, result: Result) -> tuple[str, ...]:
    label = label_of(job, result)
    if is_claim(job, result):
        return (f"{result.invariant} claim: {result.statement} [{label}]", "claim")
    return (f"{result.invariant} {invariant(result.invariant).title} [{label}]", "")


def _verdict(
    job: Job, results: list[Result], outcome: Outcome, positions: dict[int, int], *, strict: bool
) -> list[FinalResult]:
    shown = worst([result.verdict for result in results])
    if shown is Verdict.PROVED:
        return []
    claim = is_claim(job, results[0])
    if claim and not strict:
        message = f"{shown.value}; a further statement, which breaks no contract"
        return [Skipped(message, shown.value)]
    text = io.StringIO()
    console = Console(file=text, width=100, color_system=None, force_terminal=False)
    for result in results:
        if result.verdict is Verdict.PROVED:
            continue
        finding = Finding(job, result, "this configuration", claim)
        path = outcome.files.get(positions[id(result)])
        if claim:
            print_claim(console, finding, path=path)
        else:
            print_finding(console, finding, path=path, again=outcome.request.command())
    first = next(result for result in results if result.verdict is shown)
    said = first.statement if claim else said_of(first)
    message = f"{spot_of(job, first.source)}: {first.invariant} {said}"
    kind = Failure if shown is Verdict.REFUTED else Error
    told = kind(_fit(message), shown.value)
    told.text = _fit(text.getvalue())
    return [told]


def _fit(text: str) -> str:
    return _UNFIT.sub("�", text)
