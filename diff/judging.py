"""Reading outcomes: which faults they show, in which words, and which trial is the simpler one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..spec.dtypes import dtype
from ..spec.job import Job
from .api import Mismatch, Outcome, Trial
from .journal import Key

#: "Invariant" of a finding in which the host function raised an exception on a legal call.
RAISED = "raised"


def keys(job: Job, outcome: Outcome) -> list[Key]:
    """Return (invariant, kernel line, kind of value) of the gravest fault that an outcome shows.

    Lesser ones of the same trial are mostly its consequences (a row stored at a wrong place is
    missing at the right one); where they are not, another trial shows them alone. For an exception
    it is ("raised", the exception in one line, ""). Empty when there is none.
    """
    if outcome.status == "differs":
        return [(*outcome.key, _value(job, outcome.mismatches[0]))]
    return [(RAISED, outcome.reason, "")] if outcome.status == "raised" else []


def _value(job: Job, mismatch: Mismatch) -> str:
    """Return the kind of value that is encoded wrongly; empty for other invariants.

    What a writer does to NaN and what it does to -0.0 are two faults, even on one line.
    """
    if mismatch.invariant != "W10" or mismatch.expected is None:
        return ""
    fmt, bits = dtype(job.instance.dtypes[mismatch.tensor]), mismatch.expected
    if fmt.kind != "float":
        return ""
    if fmt.is_nan(bits):
        return "NaN"
    magnitude = bits & ((1 << (fmt.bits - 1)) - 1)
    if not magnitude:
        return "-0.0" if bits else "0.0"
    if magnitude > fmt.largest:
        return "infinity"
    return "number" if magnitude >> fmt.mantissa else "subnormal"


def only(outcome: Outcome, key: Key) -> Outcome:
    """Return the outcome with the mismatches of one fault alone."""
    mine = tuple(m for m in outcome.mismatches if (m.invariant, m.line) == key[:2])
    return replace(outcome, mismatches=mine)


def told(outcome: Outcome) -> str:
    """Return an outcome in a phrase."""
    if outcome.mismatches:
        return f"{outcome.status}: {outcome.mismatches[0].text}"
    return f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status


def simplicity(trial: Trial) -> tuple[Any, ...]:
    """Return what a person sorts cases by, the simplest first."""
    case = trial.case
    return (
        case.rows,
        sum(case.dims.values()),
        case.slot_stride,
        len(repr(trial.layout)),
        len(case.payload),
        case.pool,
        sum(abs(slot) for slot in case.slots),
        sum(bits.bit_count() for bits in case.payload.values()),
        case.seed,
        repr(trial),
    )
