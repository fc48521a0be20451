"""A campaign's worker processes, seen from the campaign."""

from __future__ import annotations

import os

from ..checkers.child import Child, ChildEnded
from .plan import Plan

#: Deaths of a worker outside any trial, one after another, that end the campaign.
MOST_DEATHS = 3


def worker(plan: Plan) -> Child:
    """Return a worker that is not started yet."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") if plan.device == "cuda" else ""
    return Child(
        main="kvproof.diff.worker_main", timeout=120.0, env={"CUDA_VISIBLE_DEVICES": visible}
    )


def home(plan: Plan) -> str:
    """Return the folder in which Hypothesis keeps caches of its own."""
    return str(plan.folder / "hypothesis")


def open_worker(child: Child, plan: Plan) -> None:
    """Start a worker with the plan's runners. Raises KvproofError when the device is not there."""
    for left in reversed(range(MOST_DEATHS)):
        try:
            child.request("open", "a worker", device=plan.device, home=home(plan))
        except ChildEnded:
            if not left:
                raise
        else:
            return
