"""What a whole check found: findings with the configurations they appear in, and the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec.job import Job
from ..spec.verdict import Result, Verdict
from .axes import seen_in
from .request import Request

if TYPE_CHECKING:
    from ..checkers.check import JobReport

#: Exit codes of `check` and `replay`.
PROVED, BROKEN, USAGE, UNDECIDED = 0, 1, 2, 3


@dataclass(frozen=True)
class Finding:
    """One verdict other than PROVED, in every configuration of a writer where it is the same.

    Args:
        job, result: the first configuration, and what was found there.
        seen: the configurations in which it was found, in words.
        claim: whether it speaks of a further statement, which breaks no contract.
    """

    job: Job
    result: Result
    seen: str
    claim: bool


@dataclass(frozen=True)
class Outcome:
    """Everything that a check found.

    Args:
        request: what was asked.
        reports: one for each job, in order.
        seconds: time from the first job to the last replay.
        files: counterexample file of a result, by the result's position (`positions`).
    """

    request: Request
    reports: tuple[JobReport, ...]
    seconds: float = 0.0
    files: dict[int, Path] = field(default_factory=dict[int, Path])

    def results(self) -> Iterator[tuple[int, Job, Result]]:
        """Yield every result with its position and its job."""
        position = 0
        for report in self.reports:
            for result in report.results:
                yield position, report.job, result
                position += 1

    def findings(self, *, claims: bool = False) -> list[tuple[int, Finding]]:
        """Return each distinct finding with the position of its first result, broken ones first.

        Args:
            claims: return those on further statements instead of those on the contract.
        """
        groups: dict[tuple[str, ...], list[tuple[int, Job, Result]]] = {}
        asked: dict[tuple[str, str, bool, str], list[Mapping[str, Any]]] = {}
        for position, job, result in self.results():
            claim = is_claim(job, result)
            question = (result.writer, result.invariant, claim, result.statement if claim else "")
            asked.setdefault(question, []).append(result.config)
            if claim is claims and result.verdict is not Verdict.PROVED:
                key = (
                    result.writer,
                    result.invariant,
                    result.verdict.value,
                    result.source,
                    result.statement,
                    result.detail if result.verdict is not Verdict.REFUTED else "",
                )
                groups.setdefault(key, []).append((position, job, result))
        found: list[tuple[int, Finding]] = []
        for members in groups.values():
            position, job, result = members[0]
            question = (result.writer, result.invariant, claims, result.statement if claims else "")
            labels = [label_of(job, result) for _, job, result in members]
            configs = [result.config for _, _, result in members]
            seen = seen_in(configs, asked[question], labels)
            found.append((position, Finding(job, result, seen, claims)))
        return sorted(found, key=lambda item: item[1].result.verdict is not Verdict.REFUTED)

    def errors(self) -> list[tuple[Job, str]]:
        """Return the jobs that could not be checked, each with its one line."""
        return [(report.job, report.error) for report in self.reports if report.error]

    def exit_code(self, *, strict: bool = False) -> int:
        """Return 0 when all is proved, 1 when the contract is broken, 3 when a result is open.

        A further statement (a claim) that does not hold breaks no contract; it counts when
        `strict`. So does, as undecided, whatever no proof speaks for: a path that was not proved,
        a note of the capture.
        """
        counted = [
            result.verdict
            for _, job, result in self.results()
            if strict or not is_claim(job, result)
        ]
        if Verdict.REFUTED in counted:
            return BROKEN
        if self.errors() or not counted or any(not verdict.decided for verdict in counted):
            return UNDECIDED
        if strict and (self.unproved() or self.capture_notes()):
            return UNDECIDED
        return PROVED

    def unproved(self) -> dict[str, tuple[str, ...]]:
        """Return the paths that no proof speaks for, each with the writers that have it."""
        return _by_line((report.job.writer, report.job.unproved) for report in self.reports)

    def notes(self) -> dict[str, tuple[str, ...]]:
        """Return what a reader must know, each with the writers it is about."""
        return _by_line((report.job.writer, report.notes) for report in self.reports)

    def capture_notes(self) -> dict[str, tuple[str, ...]]:
        """Return the notes that a capture made; those of the catalogue are left out."""
        return _by_line(
            (report.job.writer, [line for line in report.notes if line not in report.job.notes])
            for report in self.reports
        )

    def assumptions(self) -> dict[str, dict[tuple[str, tuple[str, ...]], tuple[str, ...]]]:
        """Return what each assumption keeps out.

        Sentence of the assumption -> (what dropping it shows, the invariants that fall) -> writers.
        """
        found: dict[tuple[str, str], dict[str, str]] = {}
        for _, job, result in self.results():
            sentences = {given.key: given.sentence for given in job.instance.contract.given}
            for item in result.dropped:
                if item.verdict is not Verdict.PROVED:
                    key = (sentences.get(item.key, item.key), result.writer)
                    shows = item.shows or "undecided"
                    found.setdefault(key, {}).setdefault(result.invariant, shows)
        merged: dict[str, dict[tuple[str, tuple[str, ...]], tuple[str, ...]]] = {}
        for (sentence, writer), shown in found.items():
            ordered = sorted(shown, key=_number)
            # An address that wraps says less than a place that is stored.
            telling = next((name for name in ordered if name != "W4"), ordered[0])
            inner = merged.setdefault(sentence, {})
            what = (shown[telling], tuple(ordered))
            inner[what] = (*inner.get(what, ()), writer)
        return merged


def _number(invariant: str) -> int:
    return int(invariant[1:])


def is_claim(job: Job, result: Result) -> bool:
    """Tell whether a result speaks of a further statement of the contract."""
    return any(result.statement == claim.sentence for claim in job.instance.contract.claims)


def label_of(job: Job, result: Result) -> str:
    """Return a result's configuration in one phrase."""
    tuned = result.config.get("autotune")
    return f"{job.label}, {tuned}" if tuned else job.label


def _by_line(lines: Iterator[tuple[str, object]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for writer, texts in lines:
        assert isinstance(texts, (tuple, list))
        for text in texts:
            found.setdefault(str(text), {}).setdefault(writer)
    return {text: tuple(writers) for text, writers in found.items()}
