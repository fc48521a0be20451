"""Asking a runner for one trial, in a process that may end over it."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

from .api import Outcome, Prepared, Runner, Trial, skipped

#: Seconds that a runner with a process of its own may take beyond a trial's limit.
STARTING = 60.0


class Over(BaseException):
    """The slice's time or its trials are used up. Not an Exception: Hypothesis lets it pass."""


class Broken(Exception):
    """A trial shows a fault. Each fault has a class of its own: Hypothesis tells them by class."""


def ask(runner: Runner, prepared: Prepared, trial: Trial) -> Outcome:
    """Run a trial, or return why the runner must not be asked."""
    why = runner.can_run(prepared, trial)
    return skipped(runner.name, why) if why else runner.run(prepared, trial)


@contextmanager
def alarm(seconds: float) -> Generator[None]:
    """Let the system end this process when the block takes longer, whatever holds it up."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
