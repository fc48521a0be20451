"""Trials over the test suite's own writers, prepared once for all tests."""

from __future__ import annotations

from functools import cache

from kvproof.diff.api import Layout, Prepared, Trial
from kvproof.diff.prepare import LocalCapture, Preparer
from kvproof.spec.case import Case

from .jobs import job

BARE, ROPE, SHARDED, FP8 = "mla-row-norope", "mla-row", "mla-row-norope-sharded", "mla-row-fp8"


@cache
def preparer():
    """Return the preparer of this process."""
    return Preparer(LocalCapture())


def trial(made, slots, *, pool=8, layout=None, **more):
    """Return a trial of a job at its own dimensions."""
    case = Case(dims=made.instance.numbers(), pool=pool, slots=tuple(slots), **more)
    return Trial(case=case, layout=layout or Layout())


def prepared(function, contract=BARE, **more):
    """Return an own writer's prepared call and its job, at small widths."""
    options = {"nope": 6, "rope": 3, **more}
    made = job(function, contract, **options)
    return preparer().prepare(made, trial(made, ()).case), made


def uncaptured(contract=BARE, **more):
    """Return a prepared call without launches, for runners that need none."""
    options = {"nope": 6, "rope": 3, **more}
    made = job("none", contract, **options)
    return Prepared(made, ()), made
