"""A finite domain in full: every bit pattern of a source's format through a writer, in one call."""

from __future__ import annotations

from ..spec.case import Case
from ..spec.dtypes import dtype
from ..spec.errors import KvproofError
from ..spec.job import Job
from .api import Trial


def every_pattern(job: Job) -> Trial:
    """Return a trial whose first source holds every pattern of its format once.

    The patterns fill the first segment's columns row by row; as many rows as are needed, at the
    job's own dimensions. Passing it on a runner is a proof for that runner's cast (or copy).

    Raises:
        KvproofError: the format has more than 65,536 patterns, or the segment no column.
    """
    instance = job.instance
    dims = instance.numbers()
    segment = instance.contract.segments[0]
    fmt = dtype(instance.dtypes[segment.source])
    width = int(segment.width.evaluate(dims))
    if fmt.bits > 16 or not width:
        raise KvproofError(
            f"{fmt.name} at {width} columns cannot be exhausted", where=f"segment {segment.name}"
        )
    count = 1 << fmt.bits
    rows = -(-count // width)
    payload = {
        (segment.source, pattern // width, pattern % width): pattern for pattern in range(count)
    }
    world, rank = instance.world_rank
    slots = tuple((row + 1) * world + rank for row in range(rows))
    return Trial(case=Case(dims=dims, pool=rows + 2, slots=slots, payload=payload))
