"""The torch domain as a runner: the compiler's own IR over the bytes of an arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import torch

from ..checkers.buffers import INTEGER, Buffer, Event
from ..checkers.domain import Unsupported
from ..checkers.evaluator import Compiled, compile_program
from ..checkers.family import Family
from ..checkers.ttir_parser import parse_ttir
from ..spec.call import TensorArg
from ..spec.dtypes import dtype
from ..spec.errors import KvproofError
from .api import Outcome, Prepared, Trial
from .arena import Arena
from .classify import Memory, StoreRecord, classify
from .form import UNSIGNED, Array, form_of

#: Bytes of one cache up to which the torch domain holds it; beyond, it is sparse.
MOST_DENSE = 1 << 20


@dataclass
class Evaluated:
    """The storages after all launches of a trial, and what was recorded on the way."""

    storages: dict[str, Array]
    sparse: dict[str, tuple[Array, Array]] = field(default_factory=dict[str, Any])
    events: list[Event] = field(default_factory=list[Event])
    stores: list[StoreRecord] = field(default_factory=list[StoreRecord])
    conflicts: int = 0


class EvaluatorRunner:
    """Runs trials on the torch domain, in this process.

    Args:
        conflicts: also count bytes that are stored more than once (W13); costs time.
    """

    name = "evaluator"

    def __init__(self, *, conflicts: bool = False) -> None:
        self.conflicts = conflicts
        self._programs: dict[str, Compiled] = {}
        # Single cases are small: threads cost more than they bring.
        torch.set_num_threads(1)

    def close(self) -> None:
        """Forget the parsed programs."""
        self._programs.clear()

    def can_run(self, prepared: Prepared, trial: Trial) -> str | None:
        """Return None, or why: a temporary of the host function whose content is unknown."""
        form = form_of(prepared)
        for family in prepared.families_at(trial.case.rows):
            for info in family.launch.args:
                if info.kind == "pointer" and info.tensor is None:
                    return f"{info.name} of {family.launch.kernel} is a temporary of the host"
                if info.kind == "pointer" and (info.tensor or "").startswith("~"):
                    arg = prepared.job.binding.contract_arg((info.tensor or "")[1:])
                    if arg in form.caches:
                        return f"{info.name} of {family.launch.kernel} is a copy of the cache"
        return None

    def run(self, prepared: Prepared, trial: Trial) -> Outcome:
        """Run the trial; on a difference, run it again with its stores recorded."""
        if trial.case.rows == 0 and prepared.zero is not None:
            return Outcome(runner=self.name, status="raised", reason=prepared.zero)
        try:
            arena = Arena(prepared, trial, dense=MOST_DENSE)
            made = self.evaluate(prepared, arena, record=False)
            if self._agrees(arena, made):
                return Outcome(runner=self.name, status="agrees")
            made = self.evaluate(prepared, arena, record=True)
            memory = Memory(made.storages, made.sparse, made.events, made.stores, made.conflicts)
            found = classify(arena, memory)
        except (KvproofError, Unsupported) as problem:
            return Outcome(runner=self.name, status="failed", reason=str(problem))
        return Outcome(runner=self.name, status="differs", mismatches=found)

    def _agrees(self, arena: Arena, made: Evaluated) -> bool:
        if made.events or made.conflicts:
            return False
        for name, data in made.storages.items():
            if not np.array_equal(data, arena.after[name]):
                return False
        return all(_same_stores(arena, arg, *made.sparse[arg]) for arg in arena.sparse)

    def step(
        self, prepared: Prepared, arena: Arena, storages: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Run one call from these bytes; return the bytes after it. No cache may be sparse."""
        return self.evaluate(prepared, arena, record=False, start=storages).storages

    def evaluate(
        self,
        prepared: Prepared,
        arena: Arena,
        *,
        record: bool,
        start: Mapping[str, Array] | None = None,
    ) -> Evaluated:
        """Run all launches over a copy of the arena's storages, or of those given."""
        case = arena.trial.case
        env = {**arena.form.dims, "ROWS": case.rows, "POOL": case.pool}
        begin = arena.before if start is None else start
        made = Evaluated({name: data.copy() for name, data in begin.items()})
        buffers = {name: torch.from_numpy(data) for name, data in made.storages.items()}
        chunks: dict[str, list[tuple[Array, Array]]] = {arg: [] for arg in arena.sparse}
        conflicts = record or self.conflicts
        for family in prepared.families_at(case.rows):
            arguments, owners = kernel_arguments(prepared, arena, family, env, buffers)
            done = self.program(family).run(
                family.grid_at(env), arguments, record=record, conflicts=conflicts
            )
            made.events += done.events
            made.conflicts += done.conflicts or 0
            for store in done.stores:
                if store.offsets is None or store.bits is None:
                    continue
                arg, shift, size = owners[store.arg]
                offsets = store.offsets.reshape(-1).numpy() + shift
                bits = store.bits.reshape(-1).numpy().view(UNSIGNED[size])
                if arg in chunks:
                    chunks[arg].append((offsets, bits))
                if record:
                    made.stores.append(StoreRecord(arg, store.line, offsets))
        for arg, parts in chunks.items():
            size = arena.regions[arg].form.fmt.size
            offsets = np.concatenate([p[0] for p in parts] or [np.empty(0, np.int64)])
            bits = np.concatenate([p[1] for p in parts] or [np.empty(0, UNSIGNED[size])])
            made.sparse[arg] = _last_of_each(offsets, bits)
        return made

    def program(self, family: Family) -> Compiled:
        """Return a launch's program, parsed and prepared once."""
        text = family.launch.ttir
        if text not in self._programs:
            self._programs[text] = compile_program(parse_ttir(text))
        return self._programs[text]


def kernel_arguments(
    prepared: Prepared,
    arena: Arena,
    family: Family,
    env: dict[str, int],
    buffers: dict[str, torch.Tensor],
) -> tuple[dict[str, Buffer | float], dict[str, tuple[str, int, int]]]:
    """Return the kernel's arguments, and whose tensor each pointer belongs to.

    An owner is (argument, elements from its start, bytes of an element).
    """
    arguments: dict[str, Buffer | float] = {}
    owners: dict[str, tuple[str, int, int]] = {}
    for info in family.launch.args:
        if info.kind == "scalar":
            value = family.scalars[info.name]
            known = isinstance(value, (int, float))
            arguments[info.name] = value if known else value.evaluate(env)
        if info.kind != "pointer":
            continue
        name = info.tensor or ""
        arg = prepared.job.binding.contract_arg(name.removeprefix("~")) or ""
        region = arena.regions.get(arg)
        if region is None:
            arguments[info.name] = _extra(prepared, name.removeprefix("~"))
            owners[info.name] = (name, 0, 1)
            continue
        size = region.form.fmt.size
        owners[info.name] = (arg, info.byte_offset // size, size)
        if name.startswith("~"):
            arguments[info.name] = _copied(arena, arg, info.type)
            owners[info.name] = (name, 0, size)
        elif arg in arena.sparse:
            arguments[info.name] = Buffer.sparse()
        else:
            data = buffers[region.storage]
            arguments[info.name] = Buffer(data, region.start + info.byte_offset)
    return arguments, owners


def _extra(prepared: Prepared, name: str) -> Buffer:
    """Return the memory of a tensor that the contract does not speak of: zeros."""
    for arg in prepared.job.binding.extra:
        if isinstance(arg, TensorArg) and arg.name == name:
            count = 1
            for extent in arg.shape:
                count *= extent
            size = max(count, 1) * dtype(arg.dtype).size
            return Buffer(torch.zeros(size, dtype=torch.uint8))
    raise KvproofError(f"the kernel is given {name or 'a tensor'} that the contract does not name")


def _copied(arena: Arena, arg: str, kind: str) -> Buffer:
    """Return a contiguous copy of a tensor, of integers of another width where asked for."""
    region = arena.regions[arg]
    size = region.form.fmt.size
    typed = arena.before[region.storage].view(
        arena.form.slot_dtype if arg == arena.form.table else UNSIGNED[size]
    )
    if prod(region.form.tail) != region.form.width:
        raise KvproofError(f"a copy of {arg}, whose rows have gaps, is not followed")
    at = region.start // size
    index = np.arange(region.rows)[:, None] * region.strides[0]
    values = typed[at + index + np.arange(region.form.width)[None, :]].reshape(-1)
    if arg == arena.form.table:
        values = values.astype(np.int64 if kind == "*i64" else np.int32)
    data = values.view(np.uint8) if values.size else np.zeros(8, np.uint8)
    return Buffer(torch.from_numpy(data.copy()))


def _last_of_each(offsets: Array, bits: Array) -> tuple[Array, Array]:
    """Return distinct offsets, increasing, with the last pattern stored at each."""
    kept, first = np.unique(offsets[::-1], return_index=True)
    return kept, bits[::-1][first]


def _same_stores(arena: Arena, arg: str, offsets: Array, bits: Array) -> bool:
    parts = [(o.reshape(-1), b.reshape(-1)) for a, o, b in arena.wanted if a == arg]
    if not parts:
        return offsets.size == 0
    wanted = _last_of_each(
        np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    )
    return np.array_equal(wanted[0], offsets) and np.array_equal(wanted[1], bits)


assert set(INTEGER) == set(UNSIGNED)
