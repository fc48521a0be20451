"""What was decided of one writer, folded over its configurations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...spec.contract import WriterContract
from ...spec.invariants import INVARIANTS, PROVED_BY_CHECK
from ...spec.verdict import SEVERITY, Result, Verdict
from ..axes import seen_in
from ..layout import word
from ..outcome import Outcome, is_claim, label_of

if TYPE_CHECKING:
    from ...checkers.check import JobReport

SIGN: Final = {
    Verdict.PROVED: "✔",
    Verdict.REFUTED: "✘",
    Verdict.UNKNOWN: "?",
    Verdict.UNSUPPORTED: "!",
    Verdict.VACUOUS: "∅",
}
CLASS: Final = {Verdict.PROVED: "ok", Verdict.REFUTED: "bad"}
_METHODS: Final = ("proof", "run", "static rule", "out of reach", "follows")
_CHANCE: Final = re.compile(r"two rows at slot -?[\d,]+ ")


@dataclass(frozen=True)
class Mark:
    """A verdict as it is shown: sign, word, CSS class."""

    sign: str
    word: str
    css: str


def mark(verdict: Verdict | None, *, claim: bool = False) -> Mark:
    """Return how a verdict is shown; None stands for a question that was not asked.

    A claim that does not hold breaks no contract: it has the colour of what is open.
    """
    if verdict is None:
        return Mark("–", "not asked", "none")
    css = CLASS.get(verdict, "open")
    return Mark(SIGN[verdict], word(verdict), "open" if claim and css == "bad" else css)


@dataclass(frozen=True)
class Assumption:
    """An assumption, numbered on its page.

    Args:
        number: from 1 on.
        text: in words.
        kind: "caller" (a promise of the caller), "bound", "launch" or "approximation".
        of: the invariants whose verdicts rest on it.
        where: the configurations, in words.
        without: what happens without it, in words; empty when that was not asked.
    """

    number: int
    text: str
    kind: str
    of: tuple[str, ...]
    where: str
    without: str


@dataclass(frozen=True)
class Configuration:
    """One configuration: its number, label, kernel, IR hash, verdicts, and why it has none."""

    number: int
    label: str
    kernel: str
    ir_hash: str
    verdicts: Mapping[str, Verdict]
    error: str = ""


@dataclass(frozen=True)
class Evidence:
    """What is known of one invariant.

    Args:
        id, title, sentence: the invariant.
        method: "proof", "static rule", "run", "follows" or "out of reach".
        verdict: the worst over all configurations; None when it was not decided here.
        said: the verdict in words.
        assumes: numbers of the assumptions that it rests on.
        seconds: time spent deciding, over all configurations.
    """

    id: str
    title: str
    sentence: str
    method: str
    verdict: Verdict | None
    said: str
    assumes: tuple[int, ...]
    seconds: float

    @property
    def mark(self) -> Mark:
        """How the verdict is shown."""
        return mark(self.verdict)


def results_of(reports: Sequence[JobReport]) -> Iterator[tuple[int, Result]]:
    """Yield (number of the report, result) of what is promised; claims are left out."""
    for number, report in enumerate(reports):
        for result in report.results:
            if not is_claim(report.job, result):
                yield number, result


def assumptions_of(outcome: Outcome) -> list[Assumption]:
    """Return every assumption of a writer's verdicts, promises of the caller first."""
    reports = outcome.reports
    found: dict[str, list[tuple[int, Result]]] = {}
    for number, result in results_of(reports):
        for text in result.assumes:
            found.setdefault(text, []).append((number, result))
    contract = reports[0].job.instance.contract
    lost = outcome.assumptions()
    fallen = {text: {name for _, names in shown for name in names} for text, shown in lost.items()}
    # A promise that every call was captured under stands in no single question, only in what
    # falls without it: the stride of the slot table.
    for text in lost:
        found.setdefault(text, [])
    kinds = {text: _kind(contract, text) for text in found}
    order = sorted(found, key=lambda text: ("caller bound launch approximation").find(kinds[text]))
    firsts = _firsts(reports)
    made: list[Assumption] = []
    for text in order:
        numbers = {number for number, _ in found[text]} or set(firsts)
        mine = [(number, one) for number, one in firsts.items() if number in numbers]
        where = seen_in(
            [one.config for _, one in mine],
            [one.config for one in firsts.values()],
            [label_of(reports[number].job, one) for number, one in mine],
        )
        names = {result.invariant for _, result in found[text]} or fallen[text]
        made.append(
            Assumption(
                number=len(made) + 1,
                text=text,
                kind=kinds[text],
                of=tuple(name for name in INVARIANTS if name in names),
                where=where,
                without=_without(lost.get(text, {}), kinds[text], contract, text),
            )
        )
    return made


def _firsts(reports: Sequence[JobReport]) -> dict[int, Result]:
    """Return the first result of each configuration that has any."""
    seen: dict[int, Result] = {}
    for number, result in results_of(reports):
        seen.setdefault(number, result)
    return seen


def _kind(contract: WriterContract, text: str) -> str:
    if any(given.sentence == text for given in contract.given):
        return "caller"
    if re.match(r"(ROWS|POOL) <= |[\d,]+ <= \w+ <= ", text):
        return "bound"
    return "launch" if text.startswith("grid (") else "approximation"


def _without(
    shown: Mapping[tuple[str, tuple[str, ...]], tuple[str, ...]],
    kind: str,
    contract: WriterContract,
    text: str,
) -> str:
    if kind != "caller":
        return ""
    if not shown:
        fixed = any(one.sentence == text and not one.droppable for one in contract.given)
        return "always assumed" if fixed else ""
    (telling, names), *_ = shown
    telling = _CHANCE.sub("two rows at one slot ", telling)
    rest = [name for name in names if name not in telling.split()]
    more = "and " if len(rest) < len(names) else ""
    return f"{telling} ({more}{', '.join(rest)})" if rest else telling


def configurations_of(reports: Sequence[JobReport]) -> list[Configuration]:
    """Return every configuration in the order of the check, with the worst verdict for each id."""
    found: list[Configuration] = []
    for report in reports:
        groups: dict[str, list[Result]] = {}
        for result in report.results:
            groups.setdefault(label_of(report.job, result), []).append(result)
        if report.error:
            label, text = report.job.label, report.error
            found.append(Configuration(len(found) + 1, label, "", "", {}, text))
        for label, mine in groups.items():
            verdicts: dict[str, Verdict] = {}
            for result in mine:
                if not is_claim(report.job, result):
                    before = verdicts.get(result.invariant, Verdict.PROVED)
                    pair = (before, result.verdict)
                    verdicts[result.invariant] = max(pair, key=SEVERITY.index)
            kernels = " + ".join(dict.fromkeys(result.kernel for result in mine))
            hashes = " + ".join(dict.fromkeys(result.ir_hash for result in mine))
            found.append(Configuration(len(found) + 1, label, kernels, hashes, verdicts))
    return found


def evidence_of(
    reports: Sequence[JobReport],
    configurations: Sequence[Configuration],
    assumptions: Sequence[Assumption],
) -> list[Evidence]:
    """Return what is known of every invariant, W1 to W17."""
    found: list[Evidence] = []
    numbers = {one.text: one.number for one in assumptions}
    for one in INVARIANTS.values():
        mine = [result for _, result in results_of(reports) if result.invariant == one.id]
        verdicts = [c.verdicts[one.id] for c in configurations if one.id in c.verdicts]
        assumes = {numbers[text] for result in mine for text in result.assumes}
        found.append(
            Evidence(
                id=one.id,
                title=one.title,
                sentence=one.sentence,
                method=method_of(one.decided),
                verdict=max(verdicts, key=SEVERITY.index) if verdicts else None,
                said=_said(one.id, verdicts, len(configurations), reports),
                assumes=tuple(sorted(assumes)),
                seconds=sum(result.seconds for result in mine),
            )
        )
    return found


def method_of(decided: str) -> str:
    """Return how an invariant is decided, in a word or two."""
    return next((name for name in _METHODS if decided.startswith(name)), "proof")


def _said(name: str, verdicts: Sequence[Verdict], total: int, reports: Sequence[JobReport]) -> str:
    if not verdicts:
        return _unasked(name, reports)
    parts: list[str] = []
    for verdict in reversed(SEVERITY):
        count = verdicts.count(verdict)
        if count:
            all_ = "all " if count == total and total > 1 else ""
            parts.append(f"{word(verdict)} in {all_}{count}" + ("" if all_ else f" of {total}"))
    if len(verdicts) < total:
        parts.append(f"not asked in {total - len(verdicts)}")
    return ", ".join(parts)


def _unasked(name: str, reports: Sequence[JobReport]) -> str:
    if name == "W17":
        said = [r.verdict for _, r in results_of(reports) if r.invariant in ("W1", "W6")]
        proved = bool(said) and all(verdict is Verdict.PROVED for verdict in said)
        return "follows from W1 and W6" if proved else "does not follow: W1 and W6 are not proved"
    if name not in PROVED_BY_CHECK:
        return "not decided by a check"
    return {
        "W12": "nothing to ask: one rank owns every slot",
        "W15": "nothing to ask: the kernel waits for no earlier one",
        "W6": "nothing to ask: no slot is skipped",
    }.get(name, "not asked")
