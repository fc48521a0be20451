"""A failing trial as text: one line of Python, and a script that needs only torch and triton."""

from __future__ import annotations

from ..spec.job import Job
from .api import Outcome, Prepared, Trial


def one_line(job: Job, trial: Trial) -> str:
    """Return the trial as one line of Python that runs it again and prints what differs."""
    raise NotImplementedError


def stand_alone(prepared: Prepared, trial: Trial, outcome: Outcome) -> str:
    """Return a script that shows the fault with torch and triton alone.

    Run as `python script.py [path of the writer's file]`; it exits 1 with a message when the fault
    shows, 0 when memory is as the contract says, 2 when it cannot be run. The path defaults to the
    one that the trial ran with. Runs on the GPU where there is one, else on Triton's interpreter.
    """
    raise NotImplementedError
