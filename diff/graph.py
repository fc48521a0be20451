"""CUDA graphs: captured at a padded batch size, replayed with fewer real rows.

What an engine does on every decode step: the graph is captured once at a padded size, its inputs
are static buffers, and each replay writes new slots and rows into them. Rows past the real ones
point to the reserved slot and hold NaN. After each replay every byte is compared: the reserved
slot, the real rows, and all that must not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..checkers.loading import one_line
from ..spec.case import Case
from ..spec.dtypes import dtype
from ..spec.errors import KvproofError
from ..spec.job import Job
from .api import Layout, Mismatch, Outcome, Prepared, Trial, at_dims
from .arena import Arena
from .cases import legal
from .classify import classify
from .form import form_of
from .hosting import LoadedRunner
from .memory import DeviceMemory

#: Rows that the graph is captured with, and the pool's places on this rank.
PADDED, POOL = 64, 512
#: Real rows of the replays, in order.
REAL = (64, 63, 17, 1, 0, 32, 8, 40)


@dataclass(frozen=True, kw_only=True)
class Replay:
    """One replay.

    Args:
        real: rows that are no padding.
        trial: the call as a trial.
        outcome: what memory shows after it.
    """

    real: int
    trial: Trial
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class GraphReport:
    """What a job's graph does.

    Args:
        job: the job.
        captured: false where the capture failed.
        reason: why it failed, in one line.
        replays: one for each of `REAL`.
    """

    job: Job
    captured: bool
    reason: str = ""
    replays: tuple[Replay, ...] = ()

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """All mismatches of all replays."""
        return tuple(item for replay in self.replays for item in replay.outcome.mismatches)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form for a report."""
        return {
            "target": self.job.target,
            "writer": self.job.writer,
            "label": self.job.label,
            "captured": self.captured,
            "reason": self.reason,
            "replays": [
                {"real": r.real, "trial": repr(r.trial), **r.outcome.to_json()}
                for r in self.replays
            ],
        }


def replay_trial(job: Job, real: int, *, seed: int, padded: int = PADDED) -> Trial:
    """Return the call of one replay: real rows first, then padding that holds NaN.

    Real slots are distinct and belong to all ranks in turn. Without a reserved slot in the
    contract padding rows are real ones too.
    """
    instance = job.instance
    world = instance.world_rank[0]
    allowed = legal(job)
    rng = np.random.default_rng(seed)
    free = np.array([s for s in range(POOL * world) if s not in allowed.reserved])
    slots = [int(slot) for slot in rng.permutation(free)[:padded]]
    payload: dict[tuple[str, int, int], int] = {}
    if allowed.reserved:
        slots[real:] = [allowed.reserved[0]] * (padded - real)
        for segment in instance.contract.segments:
            fmt = dtype(instance.dtypes[segment.source])
            nan = fmt.nan if fmt.kind == "float" else (1 << fmt.bits) - 1
            for row in range(real, padded):
                for column in range(int(segment.width.evaluate(instance.numbers()))):
                    payload[segment.source, row, column] = nan
    case = Case(dims=instance.numbers(), pool=POOL, slots=tuple(slots), seed=seed, payload=payload)
    return Trial(case=case, layout=Layout())


def run_graph(
    job: Job,
    *,
    runner: LoadedRunner | None = None,
    real: Sequence[int] = REAL,
    padded: int = PADDED,
    seed: int = 1,
) -> GraphReport:
    """Capture a job's call in a CUDA graph and replay it.

    Args:
        job: with numbers for all dimensions.
        runner: keeps loaded modules from one job to the next.
        real: real rows of each replay.
        padded: rows of the capture.
        seed: seed of slots and contents.

    Raises:
        KvproofError: torch finds no GPU.
    """
    if not torch.cuda.is_available():
        raise KvproofError("torch finds no CUDA device", where="the graph scenario")
    loaded = runner or LoadedRunner()
    prepared = Prepared(at_dims(job, {}), ())
    form_of(prepared)
    first = Arena(prepared, replay_trial(job, padded, seed=seed, padded=padded))
    memory = DeviceMemory(first, "cuda")
    arguments = memory.arguments()
    try:
        function, block = loaded.called(job)
        graph = torch.cuda.CUDAGraph()
        with block:
            # Compiling inside a capture is not allowed: the first call compiles.
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                function(**arguments)
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                function(**arguments)
    except Exception as problem:  # noqa: BLE001 - a writer may raise anything
        return GraphReport(job=job, captured=False, reason=one_line(problem))
    done: list[Replay] = []
    for turn, count in enumerate(real):
        trial = replay_trial(job, min(count, padded), seed=seed + turn + 1, padded=padded)
        arena = Arena(prepared, trial)
        for name, data in arena.before.items():
            memory.storages[name].copy_(torch.from_numpy(data))
        memory.arena = arena
        graph.replay()
        torch.cuda.synchronize()
        if memory.agrees():
            outcome = Outcome(runner="graph", status="agrees")
        else:
            found = classify(arena, memory.read())
            outcome = Outcome(runner="graph", status="differs", mismatches=found)
        done.append(Replay(real=count, trial=_short(trial), outcome=outcome))
    return GraphReport(job=job, captured=True, replays=tuple(done))


def _short(trial: Trial) -> Trial:
    """Return the trial without the padding's payload, which says nothing that its slots do not."""
    case = trial.case
    return Trial(
        case=Case(dims=case.dims, pool=case.pool, slots=case.slots, seed=case.seed),
        layout=trial.layout,
    )
