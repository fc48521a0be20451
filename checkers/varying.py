"""What the host function does beside its launch, and what no proof of a kernel speaks of.

What is launched must not depend on the slots: a proof speaks of one launch for all of them.

A host function that looks at the slots' values (how many are padding, whether they are in order)
may launch something else for other slots than the captured ones. Calls with other slots show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.launch import Launch
from ..spec.recipe import recipe
from ..spec.reference import row_env, skipped
from .capturing import TORCH_WROTE, Capturing

#: Rows of the calls that are compared.
ROWS = 6


def refuse_launches_by_slots(child: Capturing, job: Job, size: Mapping[str, int]) -> None:
    """Raise KvproofError where calls that differ in their slots alone launch different things.

    Args:
        child: captures calls.
        job: the writer.
        size: numbers for dimensions that the instance leaves as ranges.
    """
    first: tuple[object, ...] | None = None
    for words, slots in _tables(job, size):
        call = recipe(job.instance, job.binding, pool=4 * ROWS, slots=slots, dims=size)
        capture = child.capture(
            job.source, job.function, call, switches=job.switches, lift=job.lift
        )
        if capture.error:
            raise KvproofError(f"the call with {words} fails: {capture.error}", where=job.function)
        made = tuple(_shown(launch) for launch in capture.launches)
        if first is None:
            first = made
        elif made != first:
            raise KvproofError(
                f"what it launches depends on the slots' values: it changes with {words}",
                where=f"{job.function} ({job.label})",
                mend="leave the choice of rows to the kernel; a proof speaks of one launch",
            )


def refuse_torch_writes(job: Job, notes: Iterable[str]) -> None:
    """Raise KvproofError where torch wrote to an argument: no proof of a kernel speaks of that."""
    for note in notes:
        if note.startswith(TORCH_WROTE):
            raise KvproofError(
                note, where=f"{job.function} ({job.label})", mend="leave the writing to the kernel"
            )


def _shown(launch: Launch) -> tuple[object, ...]:
    arguments = tuple(
        (
            arg.name,
            arg.kind,
            arg.type,
            arg.value,
            arg.tensor,
            arg.byte_offset,
            arg.shape,
            arg.strides,
        )
        for arg in launch.args
    )
    return launch.kernel, launch.ttir_hash, launch.grid, launch.config, arguments


def _tables(job: Job, size: Mapping[str, int]) -> Iterator[tuple[str, list[int]]]:
    """Yield slot tables in words and numbers, the plain one first; all keep the preconditions."""
    instance = job.instance
    world, rank = instance.world_rank
    numbers = {n: v for n, v in instance.dims.items() if isinstance(v, int)} | dict(size)
    plain = [(index + 3) * world + rank for index in range(ROWS)]
    yield "slots in order", plain
    yield "slots in reverse order", plain[::-1]
    if world > 1:
        yield "slots of other ranks", [slot - rank + (rank + 1) % world for slot in plain]
    total = 4 * ROWS * world
    padding = [
        slot
        for slot in (0, total - 1)
        if skipped(
            instance.contract.skip,
            row_env(instance, Case(dims=numbers, pool=4 * ROWS, slots=(slot,)), 0),
        )
    ]
    if padding:
        yield "padding first", _with(plain, padding[0], (0, 2))
        yield "padding last", _with(plain, padding[0], (ROWS - 1,))
        yield "nothing but padding", [padding[0]] * ROWS


def _with(slots: Sequence[int], padding: int, places: Sequence[int]) -> list[int]:
    return [padding if place in places else slot for place, slot in enumerate(slots)]
