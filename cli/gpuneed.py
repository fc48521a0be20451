"""A writer that asks for a GPU when it is called: no contract test of it can run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..spec.errors import KvproofError
from ..spec.job import Job
from .statement import statement_at

if TYPE_CHECKING:
    from ..checkers.capturing import Capturing

_ROWS = 2
_GPU = re.compile(r"\b(cuda|is_cuda|gpus?|nvidia|hip|rocm)\b", re.IGNORECASE)

_FILE = re.compile(r"\S+\.py\b(:\d+)?")


def refuse_gpu(child: Capturing, job: Job) -> None:
    """Call the writer once on CPU tensors, with its launches recorded.

    Only a call that fails over a GPU is refused here: any other fault of a writer is for its tests
    to tell.

    Raises KvproofError: the writer asks for a GPU; names the line.
    """
    from ..spec.recipe import recipe

    world, rank = job.instance.world_rank
    slots = [(index + 3) * world + rank for index in range(_ROWS)]
    call = recipe(job.instance, job.binding, pool=_ROWS * 3 + 41, slots=slots)
    try:
        error = child.capture(job.source, job.function, call, switches=job.switches).error
    except KvproofError as problem:
        error = str(problem)
    if error is None:
        return
    place, raises, said = error.partition(f": {job.function} raises ")
    code = statement_at(job, place) if raises else ""
    if _GPU.search(_FILE.sub("", said or error)) or _GPU.search(code):
        raise KvproofError(
            f"it asks for a GPU, and a contract test calls it on CPU tensors: {error}",
            where="writer",
            mend="take the device from its tensors, as in `kv_buffer.device`, or let `switches` "
            "stand in for what it asks",
        )
