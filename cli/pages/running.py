"""Running the IR of a call in the torch domain, with every store and its program kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Final

import torch

from ...checkers.buffers import Buffer
from ...checkers.domain import Unsupported
from ...checkers.evaluator import batch_walk, compile_program
from ...checkers.replay import Contents
from ...checkers.tensor_domain import TensorDomain
from ...checkers.tensor_memory import Memory
from ...checkers.ttir import Program
from ...checkers.ttir_parser import parse_ttir
from ...spec.case import Case
from ...spec.contract import Instance
from ...spec.dtypes import dtype
from ...spec.errors import KvproofError
from ...spec.job import Job
from ...spec.launch import Launch
from ...spec.layout import page_of
from ...spec.reference import encode_bits
from ...spec.rules import Segment
from .programs import Kernel, Pid, Store
from .rows import numbers, runs

#: Places of a paged cache that are all known.
_SMALL: Final = 64


class Places:
    """Where the places of a cache lie: element offset <-> (place, element of the place).

    Args:
        instance: the contract in its configuration.
        cache: the cache.
        case: the call; in a paged layout only places that it can touch are known.

    The elements of a place are counted as those of place 0 are, from its first.

    Raises:
        KvproofError: places do not follow each other.
    """

    def __init__(self, instance: Instance, cache: str, case: Case) -> None:
        env = numbers(instance)
        mine = [segment for segment in instance.contract.segments if segment.into == cache]
        self._env, self._mine = env, mine
        self.base = min(self._at(segment, 0, 0) for segment in mine)
        self._step = min(self._at(segment, 1, 0) for segment in mine) - self.base
        self._pool, self._whole = case.pool, case.pool <= _SMALL
        self._spots: dict[int, tuple[int, int]] | None = None
        if page_of(mine, env) > 1:
            self._spots = {
                self._at(segment, place, col): (place, self._at(segment, 0, col) - self.base)
                for place in _touched(instance, case)
                for segment in mine
                for col in range(int(segment.width.evaluate(env)))
            }
        elif self._step <= 0:
            raise KvproofError("places of the cache do not follow each other", where=cache)

    def _at(self, segment: Segment, place: int, col: int) -> int:
        return int(segment.at.evaluate({**self._env, "place": place, "col": col}))

    def split(self, offsets: Collection[int]) -> dict[int, dict[int, int]]:
        """Return the offsets by place and element: place -> element -> offset.

        What lies before or behind all pages is given to the place before the first, or past the
        last. Raises KvproofError for what lies between places of a paged layout.
        """
        found: dict[int, dict[int, int]] = {}
        low = min(offsets, default=0)
        for offset in offsets:
            place, element = self._spot(offset, low)
            found.setdefault(place, {})[element] = offset
        return dict(sorted(found.items()))

    def _spot(self, offset: int, low: int) -> tuple[int, int]:
        if self._spots is None:
            return divmod(offset - self.base, self._step)
        if offset in self._spots:
            return self._spots[offset]
        if offset < self.base:
            return -1, offset - low
        last = max(self._spots, default=-1)
        if self._whole and offset > last:
            return self._pool, offset - last - 1
        raise KvproofError(f"element {offset:,} is stored, and no place of the pages holds it")


def _touched(instance: Instance, case: Case) -> list[int]:
    """Return the places of the call: all of a small pool, else those of its slots."""
    if case.pool <= _SMALL:
        return list(range(case.pool))
    env = {**case.dims, "POOL": case.pool}
    place = instance.contract.owner.place
    near = {int(place.evaluate({**env, "slot": slot})) for slot in case.slots if slot >= 0}
    return sorted({0} | {one + step for one in near for step in (-1, 0, 1) if one + step >= 0})


def run(job: Job, case: Case, kernels: Sequence[Kernel], cache: str) -> tuple[list[Store], int]:
    """Run the launches of a call.

    Args:
        job: whose call.
        case: the call.
        kernels: the launches, in order.
        cache: the cache that is looked at.

    Returns what is stored in the cache, program by program, and the lanes of the widest store.
    Raises KvproofError where the IR holds what no run can show, or a store lies in no place.
    """
    places = Places(job.instance, cache, case)
    carried = _carried(job, case, cache, places.base)
    found: list[Store] = []
    lanes = 0
    for kernel in kernels:
        program = parse_ttir(kernel.launch.ttir)
        lanes = max(lanes, _lanes(program))
        try:
            stored, bits = _memory(job, case, kernel, program, cache)
        except Unsupported as why:
            raise KvproofError(f"no run shows {why}", where=kernel.launch.kernel) from None
        for pid in sorted(stored):
            for place, offsets in places.split(stored[pid]).items():
                have = {element: bits[offset] for element, offset in offsets.items()}
                for first, count in runs(sorted(have)):
                    found.append(_with_row(Store(pid, place, first, count), have, carried))
    return found, lanes


def _lanes(program: Program) -> int:
    return max(
        (
            prod(kind.shape)
            for op in program.walk()
            if op.name == "tt.store"
            for kind in op.operand_types[:1]
        ),
        default=0,
    )


def _memory(
    job: Job, case: Case, kernel: Kernel, program: Program, cache: str
) -> tuple[dict[Pid, set[int]], dict[int, int]]:
    """Return the elements of the cache that each program stores, and the bits of each."""
    buffers, starts = _buffers(job, case, kernel.launch, cache)
    memory = Memory(buffers, kernel.grid, record=True)
    arguments: dict[str, Any] = {**kernel.scalars, **buffers}
    batch_walk(compile_program(program), TensorDomain(memory), arguments, {})
    stored: dict[Pid, set[int]] = {}
    for touch in memory.touches:
        if touch.store and touch.arg in starts:
            for pid, offset in _spread(touch.places, kernel.grid):
                stored.setdefault(pid, set()).add(offset + starts[touch.arg] // touch.size)
    bits: dict[int, int] = {}
    for store in memory.stores:
        if store.arg in starts and store.offsets is not None and store.bits is not None:
            moved = (store.offsets + starts[store.arg] // store.size).tolist()
            unsigned = (1 << 8 * store.size) - 1
            values = (value & unsigned for value in store.bits.tolist())
            bits.update(zip(moved, values, strict=True))
    return stored, bits


def _buffers(
    job: Job, case: Case, launch: Launch, cache: str
) -> tuple[dict[str, Buffer], dict[str, int]]:
    """Return a buffer for each pointer, and where those to the cache point into it, in bytes."""
    contract, contents = job.instance.contract, Contents(job.instance, case)
    sources = {segment.source for segment in contract.segments}
    buffers: dict[str, Buffer] = {}
    starts: dict[str, int] = {}
    for info in launch.args:
        if info.kind != "pointer":
            continue
        arg = job.binding.contract_arg((info.tensor or "").removeprefix("~")) or ""
        if arg == cache:
            starts[info.name] = info.byte_offset
        if arg != contract.slots.arg and arg not in sources:
            buffers[info.name] = Buffer.sparse()
            continue
        wide = 8 if info.type == "*i64" else 4
        data = contents.slots(wide) if arg == contract.slots.arg else contents.data(arg)
        tensor = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)
        buffers[info.name] = Buffer(tensor, info.byte_offset)
    return buffers, starts


def _spread(places: Any, grid: Pid) -> Iterator[tuple[Pid, int]]:
    """Yield (program, element offset) of every active lane."""
    offset, mask = torch.broadcast_tensors(places.offset(), places.mask())
    shape = (*grid, *offset.shape[3:])
    offset, mask = offset.expand(shape), mask.expand(shape)
    pids = (tuple(pid) for pid in mask.nonzero()[:, :3].tolist())
    yield from zip(pids, offset[mask].tolist(), strict=True)


def _carried(job: Job, case: Case, cache: str, base: int) -> dict[int, dict[int, int]]:
    """Return what each row would store: row -> element from the start of its place -> bits."""
    env = {**numbers(job.instance), "place": 0}
    contents = Contents(job.instance, case)
    found: dict[int, dict[int, int]] = {}
    for row, segment in product(range(case.rows), job.instance.contract.segments):
        if segment.into != cache:
            continue
        mine = found.setdefault(row, {})
        source = dtype(job.instance.dtypes[segment.source])
        for col in range(int(segment.width.evaluate(env))):
            here = {**env, "row": row, "col": col}
            raw = contents.element(segment.source, int(segment.begin.evaluate(here)))
            mine[int(segment.at.evaluate(here)) - base] = encode_bits(job.instance, source, raw)
    return found


def _with_row(
    store: Store, bits: Mapping[int, int], carried: Mapping[int, Mapping[int, int]]
) -> Store:
    """Return a store with the row that most of its elements are of; `bits` are its place's."""
    elements = range(store.first, store.first + store.count)
    best: Store = store
    for row, have in carried.items():
        other = [element for element in elements if have.get(element) != bits[element]]
        better = best.row is None or len(other) < best.wrong
        if 2 * len(other) <= store.count and better:
            first = other[0] if other else 0
            sample = (first, bits[first], have.get(first, 0)) if other else None
            best = replace(store, row=row, wrong=len(other), sample=sample)
    return best
