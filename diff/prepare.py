"""From a job and dimensions to the launches that are run, captured once and kept."""

from __future__ import annotations

from collections.abc import Mapping

from ..checkers.family import Family
from ..checkers.sampling import Capturing, sample
from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.launch import Capture
from ..spec.recipe import recipe
from .api import Prepared, at_dims


class LocalCapture:
    """Captures in this process: for a worker that is itself a child and has no GPU context to lose.

    Not in a process with TRITON_INTERPRET set: there is nothing to compile there.
    """

    def __init__(self) -> None:
        """Load nothing yet."""
        from ..checkers.child_main import Session

        self._session = Session()

    def capture(
        self,
        source: object,
        callable_name: str,
        recipe: object,
        *,
        switches: object = None,
        lift: object = None,
    ) -> Capture:
        """Call a host function and return what it launched, as `Child.capture` does."""
        raise NotImplementedError


class Preparer:
    """Prepares jobs; keeps what it captured, by job and dimensions.

    Args:
        capturing: a `kvproof.checkers.child.Child`, or a `LocalCapture` inside a worker process.
    """

    def __init__(self, capturing: Capturing) -> None:
        """Keep nothing yet."""
        self.capturing = capturing
        self._kept: dict[object, Prepared | KvproofError] = {}

    def prepare(self, job: Job, case: Case) -> Prepared:
        """Return the job at the case's dimensions (and slot stride), with its launches.

        Raises:
            KvproofError: the host function refuses these dimensions, or launches nothing. The
                same error is raised again without another capture.
        """
        raise NotImplementedError
