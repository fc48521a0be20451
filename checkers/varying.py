"""What the host function does beside its launch, and what no proof of a kernel speaks of.

What is launched must not depend on what the tensors hold: a proof speaks of one launch for all.

A host function that looks at the slots' values (how many are padding, whether they are in order)
or at the sources may launch something else for others than the captured ones. Calls with other
slots, and with nothing but NaN, show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..spec.call import CallRecipe, TensorArg
from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.launch import Launch
from ..spec.recipe import recipe
from ..spec.reference import holds, row_env
from .capturing import TORCH_WROTE, Capturing

#: Rows of the calls that are compared.
ROWS = 6


def refuse_launches_by_contents(child: Capturing, job: Job, size: Mapping[str, int]) -> None:
    """Raise KvproofError where calls that differ in their contents alone launch different things.

    Args:
        child: captures calls.
        job: the writer.
        size: numbers for dimensions that the instance leaves as ranges.
    """

    def launched(words: str, slots: Sequence[int], fill: float | None = None) -> Sequence[Launch]:
        call = recipe(job.instance, job.binding, pool=4 * ROWS, slots=slots, dims=size)
        if fill is not None:
            call = _filled(call, fill)
        capture = child.capture(
            job.source, job.function, call, switches=job.switches, lift=job.lift
        )
        if capture.error:
            raise KvproofError(f"the call with {words} fails: {capture.error}", where=job.function)
        refuse_torch_writes(job, capture.notes)
        return capture.launches

    tables = list(_tables(job, size))
    words, slots = tables[0]
    plain = launched(words, slots)
    for words, other in tables[1:]:
        _compare(job, plain, launched(words, other), f"the slots' values: it changes with {words}")
    # A tensor full of one value is not known again by its values, so that owners are left out.
    nan = [_ownerless(launch) for launch in launched("NaN in every tensor", slots, math.nan)]
    words = "what the tensors hold: it changes with NaN in every tensor"
    _compare(job, [_ownerless(launch) for launch in plain], nan, words)


def _compare(job: Job, first: Sequence[Launch], second: Sequence[Launch], words: str) -> None:
    if list(map(_shown, first)) != list(map(_shown, second)):
        raise KvproofError(
            f"what it launches depends on {words}",
            where=f"{job.function} ({job.label})",
            mend="leave the choice of rows to the kernel; a proof speaks of one launch",
        )


def _ownerless(launch: Launch) -> Launch:
    return replace(launch, args=tuple(replace(a, tensor=None, byte_offset=0) for a in launch.args))


def _filled(call: CallRecipe, value: float) -> CallRecipe:
    return CallRecipe(
        tuple(replace(a, fill=value) if isinstance(a, TensorArg) else a for a in call.args)
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
    for rule in instance.contract.skip:
        case = Case(dims=numbers, pool=4 * ROWS, slots=tuple(range(-2, total + 2)))
        envs = (row_env(instance, case, row) for row in range(case.rows))
        padding = [env["slot"] for env in envs if holds(rule.condition, env)]
        if padding:
            # The nearest to the pool: -1 before -2, and the first past the end.
            slot = min(padding, key=lambda slot: (abs(slot), -slot))
            yield f"padding first (slot {slot})", _with(plain, slot, (0, 2))
            yield f"padding last (slot {slot})", _with(plain, slot, (ROWS - 1,))
            yield f"nothing but padding (slot {slot})", [slot] * ROWS


def _with(slots: Sequence[int], padding: int, places: Sequence[int]) -> list[int]:
    return [padding if place in places else slot for place, slot in enumerate(slots)]
