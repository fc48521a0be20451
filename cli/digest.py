"""What SARIF files and summaries are made from: findings, one for all configurations they are in.

A digest is made from records (`record.record_of`), so that it is the same whether a check has just
ended in this process or workers of pytest-xdist sent theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..spec.verdict import Result, Verdict, worst
from .axes import seen_in
from .spot import Spot

#: Fields of a result's JSON that `Result` takes as they are.
_PLAIN = (
    *("writer", "kernel", "source", "config", "invariant", "statement", "detail", "seconds"),
    *("safe_up_to", "replay", "observed", "ir_hash"),
)


@dataclass(frozen=True, kw_only=True)
class Told:
    """One result with what a reader far from the machine needs beside it.

    Args:
        target, contract, label: the job.
        result: the result; its case and dropped assumptions are left out.
        claim: whether it speaks of a further statement, which breaks no contract.
        spot: where its statement is.
        reproduce: the command that shows it again.
        known: why it is expected, with a link; empty when it is not.
    """

    target: str
    contract: str
    label: str
    result: Result
    claim: bool
    spot: Spot
    reproduce: str = ""
    known: str = ""

    @staticmethod
    def read(
        record: Mapping[str, Any], item: Mapping[str, Any], *, reproduce: str, known: str = ""
    ) -> Told:
        """Rebuild one result of a record."""
        place = item["counterexample"] or {}
        fields: dict[str, Any] = {name: item[name] for name in _PLAIN}
        return Told(
            target=record["target"],
            contract=record["contract"],
            label=item["label"],
            result=Result(
                **fields,
                verdict=Verdict(item["verdict"]),
                assumes=tuple(item["assumes"]),
                safe_of=item["safe_of"] or "",
                slot=place.get("slot"),
                row=place.get("row"),
                column=place.get("column"),
            ),
            claim=item["claim"],
            spot=Spot.from_json(item["location"]),
            reproduce=reproduce,
            known=known,
        )

    @property
    def question(self) -> tuple[str, ...]:
        """What was asked: results with one question differ in their configuration only."""
        result = self.result
        statement = result.statement if self.claim else ""
        return (self.target, self.contract, result.writer, result.invariant, statement)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A finding: one verdict other than PROVED, in every configuration where it is the same.

    Args:
        told: the first configuration, and what was found there.
        seen: the configurations it was seen in, in words.
    """

    told: Told
    seen: str


@dataclass(frozen=True, kw_only=True)
class NotChecked:
    """A job that could not be checked.

    Args:
        writer, text: whose, and the one line that says why.
        labels: the configurations.
    """

    writer: str
    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Digest:
    """Everything that a report tells.

    Args:
        command: what was run, e.g. "kvproof check sglang==0.5.23".
        target: what it was run on, in a few words.
        told: every result, in order.
        errors: what could not be checked.
        unproved, notes: lines, each with the writers that it is about.
        configurations: configurations by writer, failed ones included.
        mended: (test, reason) of known faults that do not show any more.
        seconds: time taken.
    """

    command: str
    target: str
    told: tuple[Told, ...]
    errors: tuple[NotChecked, ...] = ()
    unproved: Mapping[str, tuple[str, ...]]
    notes: Mapping[str, tuple[str, ...]]
    configurations: Mapping[str, int]
    mended: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0

    @staticmethod
    def of(
        records: Sequence[Mapping[str, Any]], told: Iterable[Told], *, command: str, target: str,
        seconds: float, mended: Sequence[tuple[str, str]] = (),
        failed: Sequence[Mapping[str, Any]] = (),
    ) -> Digest:  # fmt: skip
        """Return the digest of records and of those of their results that are told.

        Args:
            records: one for each configuration.
            told: their results, as far as they are told.
            command: as for the class.
            target: as for the class.
            seconds: as for the class.
            mended: as for the class.
            failed: further records, of which only the errors count.
        """
        faults: dict[tuple[str, str], list[str]] = {}
        counts: dict[str, int] = {}
        for record in records:
            counts[record["writer"]] = counts.get(record["writer"], 0) + 1
        for record in (*records, *failed):
            if record["error"]:
                faults.setdefault((record["writer"], record["error"]), []).append(record["label"])
        return Digest(
            command=command,
            target=target,
            told=tuple(told),
            errors=tuple(
                NotChecked(writer=writer, text=text, labels=tuple(labels))
                for (writer, text), labels in faults.items()
            ),
            unproved=_lines(records, "unproved"),
            notes=_lines(records, "notes"),
            configurations=counts,
            mended=tuple(mended),
            seconds=seconds,
        )

    def entries(self, *, claims: bool = False) -> list[Entry]:
        """Return each distinct finding: refuted ones first, known ones last.

        Args:
            claims: return those on further statements instead of those on the contract.
        """
        groups: dict[tuple[object, ...], list[Told]] = {}
        asked: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        for told in self.told:
            result = told.result
            if told.claim is not claims:
                continue
            asked.setdefault(told.question, []).append(result.config)
            if result.verdict is not Verdict.PROVED:
                detail = "" if result.verdict is Verdict.REFUTED else result.detail
                place = (result.verdict, told.spot, result.statement, detail, told.known)
                groups.setdefault((*told.question, *place), []).append(told)
        found = [
            Entry(
                told=members[0],
                seen=seen_in(
                    [told.result.config for told in members],
                    asked[members[0].question],
                    [told.label for told in members],
                ),
            )
            for members in groups.values()
        ]
        return sorted(
            found,
            key=lambda one: (bool(one.told.known), one.told.result.verdict is not Verdict.REFUTED),
        )

    def cells(self) -> dict[str, dict[str, Verdict]]:
        """Return the worst verdict by writer and invariant; claims are left out."""
        found: dict[str, dict[str, list[Verdict]]] = {name: {} for name in self.configurations}
        for told in self.told:
            if not told.claim:
                inner = found.setdefault(told.result.writer, {})
                inner.setdefault(told.result.invariant, []).append(told.result.verdict)
        return {
            writer: {name: worst(verdicts) for name, verdicts in inner.items()}
            for writer, inner in found.items()
        }

    def counts(self) -> dict[Verdict, int]:
        """Return how many results there are of each verdict, claims included."""
        verdicts = [told.result.verdict for told in self.told]
        return {verdict: verdicts.count(verdict) for verdict in Verdict}

    def assumptions(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the assumptions of every result that has any, then those of some only.

        Rules that read the IR alone (W15) assume nothing.
        """
        sets = [told.result.assumes for told in self.told if told.result.assumes]
        every = [one for one in (sets[0] if sets else ()) if all(one in other for other in sets)]
        some = dict.fromkeys(one for given in sets for one in given if one not in every)
        return tuple(every), tuple(some)


def _lines(records: Sequence[Mapping[str, Any]], key: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for writer, text in _pairs(records, key):
        found.setdefault(text, {}).setdefault(writer)
    return {text: tuple(writers) for text, writers in found.items()}


def _pairs(records: Sequence[Mapping[str, Any]], key: str) -> Iterator[tuple[str, str]]:
    for record in records:
        for text in record[key]:
            yield record["writer"], text
