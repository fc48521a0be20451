"""Capturing a host function at several row counts, and fitting what it launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..spec.call import CallRecipe
from ..spec.contract import Range
from ..spec.dtypes import dtype
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.launch import Capture, Launch
from ..spec.recipe import recipe
from .capturing import Capturing
from .family import Family, Sample, fit
from .varying import refuse_launches_by_contents, refuse_torch_writes

#: Row counts that every writer is captured at, beside the most that its contract allows. The last
#: of these is past every known dispatch threshold.
ROW_COUNTS = (2, 5, 1030)

#: Rows of the largest captured call: its slot table is filled.
_MOST = 1 << 20

#: Bytes of address space that one call may take; nothing of it is touched.
_ADDRESSES = 1 << 43


@dataclass(frozen=True)
class Unit:
    """Everything that one call launches, as functions of the call.

    Args:
        config: the autotuner's configuration; empty without an autotuner.
        families: one per launch, in order.
    """

    config: str
    families: tuple[Family, ...]


@dataclass(frozen=True)
class Captured:
    """The outcome of sampling.

    Args:
        units: one, or one per configuration of an autotuner.
        notes: what a reader must know.
        zero: one-line error of the call with no rows, or None.
        zero_grid: programs launched for no rows.
    """

    units: tuple[Unit, ...]
    notes: tuple[str, ...]
    zero: str | None
    zero_grid: int


def sample(child: Capturing, job: Job, *, slot_stride: int = 1) -> Captured:
    """Capture a job's calls and fit them.

    Raises:
        KvproofError: the call fails, launches nothing, or follows no known expression.
    """
    sizes: Sequence[Mapping[str, int]] = job.sizes or ({},)
    notes: dict[str, None] = {}
    runs: list[tuple[dict[str, int], tuple[Launch, ...]]] = []
    for size in sizes:
        for rows in _counts(job, size):
            env, capture = _capture(child, job, rows, size, slot_stride)
            if capture.error:
                raise KvproofError(
                    f"the call with {rows} rows fails: {capture.error}", where=job.function
                )
            notes.update(dict.fromkeys(capture.notes))
            if not capture.launches:
                if rows < ROW_COUNTS[-1] or not runs:
                    raise KvproofError(
                        "it launches no Triton kernel",
                        where=f"{job.function} ({job.label})",
                        mend="name the host function that launches the kernel"
                        + (f"; {'; '.join(capture.notes)}" if capture.notes else ""),
                    )
                notes[f"with {rows} rows no Triton kernel is launched: that path is not proved"] = (
                    None
                )
                continue
            runs.append((env, capture.launches))
    symbols = ["ROWS", *(n for n, v in job.instance.dims.items() if isinstance(v, Range))]
    units = [_unit(job, runs, which, symbols) for which in _configurations(runs[0][1])]
    one, zero = (_capture(child, job, rows, sizes[0], slot_stride) for rows in (1, 0))
    if one[1].error is None:
        known = {f.launch.ttir_hash for unit in units for f in unit.families}
        if any(launch.ttir_hash not in known for launch in one[1].launches):
            notes["one row compiles to other IR (the value 1 is specialised): not proved"] = None
    refuse_torch_writes(job, notes)
    refuse_launches_by_contents(child, job, sizes[0])
    programs = sum(x * y * z for x, y, z in (launch.grid for launch in zero[1].launches))
    return Captured(tuple(units), tuple(notes), zero[1].error, programs)


def _counts(job: Job, size: Mapping[str, int]) -> tuple[int, ...]:
    """Return the row counts to capture: the last is the most that the contract and memory allow."""
    most = min(job.instance.rows.most, _MOST)
    _, call = _call(job, most, size)
    needed = sum(arg.extent() * dtype(arg.dtype).size for arg in call.tensors().values())
    most //= -(-needed // _ADDRESSES)
    return (*ROW_COUNTS, most) if most > ROW_COUNTS[-1] else ROW_COUNTS


def _capture(
    child: Capturing, job: Job, rows: int, size: Mapping[str, int], slot_stride: int
) -> tuple[dict[str, int], Capture]:
    env, call = _call(job, rows, size, slot_stride)
    return env, child.capture(job.source, job.function, call, switches=job.switches, lift=job.lift)


def _call(
    job: Job, rows: int, size: Mapping[str, int], slot_stride: int = 1
) -> tuple[dict[str, int], CallRecipe]:
    instance = job.instance
    env = {n: v for n, v in instance.dims.items() if isinstance(v, int)} | dict(size)
    world, rank = instance.world_rank
    # Slots that this rank owns and no rule skips, whatever the rules are.
    slots = range(3 * world + rank, (rows + 3) * world + rank, world)
    # No sum or multiple of the row count: a size of the pool is not to be taken for one.
    pool = 3 * rows + 41
    call = recipe(
        instance,
        job.binding,
        pool=pool,
        slots=slots,
        dims=size,
        slot_stride=slot_stride,
    )
    return {**env, "ROWS": rows, "POOL": pool}, call


def _configurations(launches: Sequence[Launch]) -> list[str]:
    return list(dict.fromkeys(launch.config for launch in launches if launch.config)) or [""]


def _unit(
    job: Job,
    runs: Sequence[tuple[dict[str, int], tuple[Launch, ...]]],
    config: str,
    symbols: Sequence[str],
) -> Unit:
    chosen = [
        (env, [launch for launch in launches if launch.config in ("", config)])
        for env, launches in runs
    ]
    count = len(chosen[0][1])
    if any(len(launches) != count for _, launches in chosen):
        raise KvproofError(
            f"it launches {sorted({len(launches) for _, launches in chosen})} kernels, depending "
            "on the row count",
            where=job.function,
        )
    families = [
        fit([Sample(env, launches[position]) for env, launches in chosen], symbols)
        for position in range(count)
    ]
    return Unit(config, tuple(families))
