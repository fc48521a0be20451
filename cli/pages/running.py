"""Running the IR of a call in the torch domain, with every store and its program kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

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
from ...spec.dtypes import dtype
from ...spec.errors import KvproofError
from ...spec.job import Job
from ...spec.launch import Launch
from ...spec.reference import encode_bits
from .programs import Kernel, Pid, Store
from .rows import numbers, runs


def run(job: Job, case: Case, kernels: Sequence[Kernel]) -> tuple[list[Store], int]:
    """Run the launches of a call.

    Args:
        job: whose call.
        case: the call.
        kernels: the launches, in order.

    Returns what is stored in the contract's first cache, program by program, and the lanes of the
    widest store. Raises KvproofError where the IR holds what no run can show.
    """
    cache = job.instance.contract.caches()[0]
    base, step = _steps(job, cache)
    carried = _carried(job, case, cache, base)
    found: list[Store] = []
    lanes = 0
    for kernel in kernels:
        program = parse_ttir(kernel.launch.ttir)
        lanes = max(lanes, _lanes(program))
        try:
            stored, bits = _memory(job, case, kernel, program, cache)
        except Unsupported as why:
            raise KvproofError(f"no run shows {why}", where=kernel.launch.kernel) from None
        found += [
            _with_row(store, base + store.place * step, bits, carried)
            for pid in sorted(stored)
            for first, count in runs(sorted(stored[pid]))
            for store in _split(pid, first - base, count, step)
        ]
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


def _steps(job: Job, cache: str) -> tuple[int, int]:
    """Return the first element of place 0 and the elements from one place to the next."""
    env = numbers(job.instance)
    mine = [segment for segment in job.instance.contract.segments if segment.into == cache]
    first, second = (
        min(int(one.at.evaluate({**env, "place": place, "col": 0})) for one in mine)
        for place in (0, 1)
    )
    if second <= first:
        raise KvproofError("places of the cache do not follow each other", where=job.label)
    return first, second - first


def _split(pid: Pid, first: int, count: int, step: int) -> list[Store]:
    """Cut a run at the borders of places."""
    found: list[Store] = []
    while count > 0:
        place, within = divmod(first, step)
        here = min(count, step - within)
        found.append(Store(pid, place, within, here))
        first, count = first + here, count - here
    return found


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
    store: Store, start: int, bits: Mapping[int, int], carried: Mapping[int, Mapping[int, int]]
) -> Store:
    """Return a store with the row that most of its elements are of; `start` is its place's."""
    elements = range(store.first, store.first + store.count)
    best: Store = store
    for row, have in carried.items():
        other = [element for element in elements if have.get(element) != bits[start + element]]
        better = best.row is None or len(other) < best.wrong
        if 2 * len(other) <= store.count and better:
            element = other[0] if other else 0
            sample = (element, bits[start + element], have.get(element, 0)) if other else None
            best = replace(store, row=row, wrong=len(other), sample=sample)
    return best
