"""A checking worker: decides whole jobs in a process of its own. Started by `parallel`."""

from __future__ import annotations

import base64
import pickle
from typing import Any

from ..spec.job import Job
from . import child_main
from .check import Checker


class WorkSession(child_main.Session):
    """Answers one more request: to check a job."""

    def __init__(self) -> None:
        """Start without a checker; the first job brings its options."""
        super().__init__()
        self._checker: Checker | None = None

    def check(self, job: str, options: dict[str, Any]) -> str:
        """Check a pickled job and return the pickled report; both ends are kvproof's own."""
        if self._checker is None:
            invariants = options.pop("invariants")
            chosen = None if invariants is None else frozenset(invariants)
            self._checker = Checker(invariants=chosen, replay=False, workers=1, **options)
        made: Job = pickle.loads(base64.b64decode(job))  # noqa: S301 - from our own parent
        return base64.b64encode(pickle.dumps(self._checker.check(made))).decode()


if __name__ == "__main__":
    child_main.Session = WorkSession
    child_main.main()
