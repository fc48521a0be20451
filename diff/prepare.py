"""From a job and dimensions to the launches that are run, captured once and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from ..checkers.child import capture_from_json
from ..checkers.family import Family
from ..checkers.sampling import Capturing, sample
from ..spec.call import CallRecipe, Switches
from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.expr import Const, Expr
from ..spec.job import Job, ModuleSource
from ..spec.launch import Capture, Launch
from ..spec.recipe import recipe
from .api import Prepared, at_dims


class LocalCapture:
    """Captures in this process: for a worker that is itself a child.

    Not in a process with TRITON_INTERPRET set: there is nothing to compile there.

    Args:
        target: what kernels are compiled for, as for `kvproof.checkers.child.Child`.
    """

    def __init__(self, *, target: str = "cuda:90") -> None:
        """Load nothing yet."""
        from ..checkers.child_main import Session

        self.target = target
        self._session = Session()

    def capture(
        self,
        source: ModuleSource,
        callable_name: str,
        recipe: CallRecipe,
        *,
        switches: Switches | None = None,
        lift: Mapping[str, str] | None = None,
    ) -> Capture:
        """Call a host function and return what it launched, as `Child.capture` does."""
        made = self._session.capture(
            asdict(source),
            callable_name,
            recipe.to_json(),
            dict(switches or {}),
            dict(lift or {}),
            self.target,
        )
        return capture_from_json(made)


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
        dims = tuple(sorted(case.dims.items()))
        key = (job.target, job.writer, job.label, dims, case.slot_stride)
        known = self._kept.get(key)
        if known is None:
            try:
                known = self._prepare(at_dims(job, case.dims), case.slot_stride)
            except KvproofError as problem:
                known = problem
            self._kept[key] = known
        if isinstance(known, KvproofError):
            raise known
        return known

    def _prepare(self, job: Job, slot_stride: int) -> Prepared:
        captured = sample(self.capturing, job, slot_stride=slot_stride)
        unit = captured.units[0]
        notes = list(captured.notes)
        if len(captured.units) > 1:
            notes.append(f"of {len(captured.units)} configurations only {unit.config} is run")
        families = unit.families
        # The value 1 may be specialised: one row is captured as it is.
        world, rank = job.instance.world_rank
        call = recipe(
            job.instance,
            job.binding,
            pool=9,
            slots=[3 * world + rank],
            slot_stride=slot_stride,
        )
        one = self.capturing.capture(job.source, job.function, call, switches=job.switches)
        chosen = [item for item in one.launches if item.config in ("", unit.config)]
        single = tuple(_exact(launch) for launch in chosen)
        same = [f.launch.ttir_hash for f in single] == [f.launch.ttir_hash for f in families]
        if one.error is not None or same:
            return Prepared(job, families, None, captured.zero, tuple(notes))
        return Prepared(job, families, single, captured.zero, tuple(notes))


def _exact(launch: Launch) -> Family:
    """Return a launch as it is, for its own row count only."""
    scalars: dict[str, Expr | float] = {}
    for arg in launch.args:
        if arg.kind == "scalar":
            value = arg.value
            scalars[arg.name] = value if isinstance(value, float) else Const(int(value or 0))
    x, y, z = (Const(extent) for extent in launch.grid)
    return Family(launch, (x, y, z), scalars, (1,))
