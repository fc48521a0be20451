"""Plans of small campaigns over the test suite's own writers."""

from __future__ import annotations

from dataclasses import replace

from kvproof.diff.plan import Plan

from .jobs import job


def own(function, *, file="faults.py", **more):
    """Return a job whose target names the function, as the command line's would."""
    made = job(function, file=file, **more)
    return replace(made, target=f"{file}::{function}")


def plan(folder, *jobs, **more):
    """Return a campaign of a few cases on one worker."""
    chosen = {"kind": "cases", "budget": 40.0, "limit": 20.0, **more}
    return Plan(jobs=jobs, folder=folder, identity={"target": jobs[0].target}, **chosen)
