"""The interpreting child: host functions on Triton's interpreter; see `InterpreterRunner`."""

from __future__ import annotations

import base64
import pickle
from typing import Any

from ..checkers import child_main
from ..spec.job import Job
from .api import Outcome, Prepared, Trial
from .hosting import LoadedRunner


class InterpreterSession(child_main.Session):
    """Answers one more request: to run a trial."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = LoadedRunner("interpreter", device="cpu")
        self._prepared: dict[str, Prepared] = {}

    def trial(self, job: str, trial: dict[str, Any]) -> dict[str, Any]:
        """Run a trial of a pickled job, which only this process's own parent sends."""
        if job not in self._prepared:
            made: Job = pickle.loads(base64.b64decode(job))  # noqa: S301 - from our own parent
            self._prepared[job] = Prepared(made, ())
        outcome: Outcome = self._runner.run(self._prepared[job], Trial.from_json(trial))
        return outcome.to_json()


if __name__ == "__main__":
    child_main.Session = InterpreterSession  # type: ignore[misc]
    child_main.main()
