"""Verdicts and results: what was decided, under what, and what shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .case import Case

SCHEMA = "kvproof.report/1"


class Verdict(str, Enum):
    """The outcome of one obligation. Only PROVED is green."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    UNKNOWN = "UNKNOWN"
    UNSUPPORTED = "UNSUPPORTED"
    VACUOUS = "VACUOUS"

    @property
    def decided(self) -> bool:
        """Whether the verdict says yes or no."""
        return self in (Verdict.PROVED, Verdict.REFUTED)


#: From best to worst: a summary over several results shows the worst.
SEVERITY = (
    Verdict.PROVED,
    Verdict.VACUOUS,
    Verdict.UNSUPPORTED,
    Verdict.UNKNOWN,
    Verdict.REFUTED,
)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the most severe verdict. Raises ValueError on an empty list."""
    return max(verdicts, key=SEVERITY.index)


@dataclass(frozen=True)
class Dropped:
    """What happened when one assumption was dropped.

    Args:
        key: the assumption's key.
        verdict: PROVED when the statement holds without it too.
        shows: the smallest counterexample that the assumption excludes, in words.
    """

    key: str
    verdict: Verdict
    shows: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The decision on one invariant for one writer in one configuration.

    Args:
        writer: name of the writer.
        kernel: name of the kernel.
        source: "file.py:line" of the statement that the verdict speaks of.
        config: dtype, loc_dtype, nope, rope, world, rank and whatever else tells it apart.
        invariant: id.
        statement: what was asked, when the invariant's own sentence does not say it.
        verdict: the decision.
        assumes: every assumption and approximation, in words.
        detail: one line that says why.
        seconds: time spent deciding.
        safe_up_to: for W4, the largest slot or number of rows for which all is right.
        safe_of: what `safe_up_to` counts, e.g. "slot" or "row".
        case: the counterexample as a runnable case.
        slot, row, column: the place of the counterexample.
        replay: outcome per runner: "confirmed", "not confirmed" or "skipped: reason".
        observed: what each runner saw, in words.
        dropped: outcome per dropped assumption.
        ir_hash: hash of the IR the proof speaks of.
    """

    writer: str
    kernel: str
    source: str
    config: Mapping[str, Any]
    invariant: str
    verdict: Verdict
    statement: str = ""
    assumes: tuple[str, ...] = ()
    detail: str = ""
    seconds: float = 0.0
    safe_up_to: int | None = None
    safe_of: str = ""
    case: Case | None = None
    slot: int | None = None
    row: int | None = None
    column: int | None = None
    replay: Mapping[str, str] = field(default_factory=dict)
    observed: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    ir_hash: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as an item of a `kvproof.report/1`'s "results"."""
        place = None
        if self.slot is not None or self.row is not None or self.column is not None:
            place = {"slot": self.slot, "row": self.row, "column": self.column}
        return {
            "writer": self.writer,
            "kernel": self.kernel,
            "source": self.source,
            "config": dict(self.config),
            "invariant": self.invariant,
            "statement": self.statement,
            "verdict": self.verdict.value,
            "assumes": list(self.assumes),
            "detail": self.detail,
            "seconds": round(self.seconds, 6),
            "safe_up_to": self.safe_up_to,
            "safe_of": self.safe_of or None,
            "counterexample": place,
            "replay": dict(self.replay),
            "observed": dict(self.observed),
            "dropped": [
                {"assumption": item.key, "verdict": item.verdict.value, "shows": item.shows}
                for item in self.dropped
            ],
            "ir_hash": self.ir_hash,
        }
