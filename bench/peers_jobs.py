"""What is given to each peer: the zoo's Triton pairs as jobs of plain data.

Two sets of cases for each pair. *Plain*: what a user writes who knows the contract and no fault: a
few row counts, distinct slots that must be stored, drawn from the whole pool. *Telling*: the plain
ones and every counterexample that kvproof found for the faulty twin in the same run, on the bits on
which kvproof ran it. What memory must hold afterwards comes from the naive reference,
`kvproof.spec.reference`.
"""

from __future__ import annotations

import ast
import base64
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from kvproof.checkers.replay import Contents  # noqa: E402
from kvproof.spec.call import ScalarArg, TensorArg  # noqa: E402
from kvproof.spec.case import Case  # noqa: E402
from kvproof.spec.dtypes import dtype  # noqa: E402
from kvproof.spec.errors import KvproofError  # noqa: E402
from kvproof.spec.job import Job  # noqa: E402
from kvproof.spec.recipe import recipe  # noqa: E402
from kvproof.spec.reference import accepted, expected_stores  # noqa: E402
from kvproof.spec.rules import Copy  # noqa: E402

from tests.zoo.registry import HERE, Pair, pairs  # noqa: E402

#: Rows of the plain cases: one, a few, a power of two, one more than a power of two.
ROWS = (1, 5, 16, 33)
#: Bytes of one tensor beyond which a case is given at one byte per element, or not at all.
THIN, MOST = 1 << 30, 3 << 30


@dataclass(frozen=True)
class Twins:
    """A pair with the plain cases of its two host functions."""

    pair: Pair
    plain: tuple[Case, ...]


def is_triton(pair: Pair) -> bool:
    """Tell whether a pair's file has a Triton kernel; decided from the text, nothing is run."""
    tree = ast.parse((HERE / pair.file).read_text(encoding="utf-8"))
    imported = [
        name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names
    ]
    return "triton" in imported


def triton_pairs(only: Iterable[str] = ()) -> tuple[list[Twins], list[Pair]]:
    """Return the pairs that peers can be given, and those that hold no Triton kernel.

    Args:
        only: corpus ids or names of pairs; all pairs when empty.
    """
    names = set(only)
    chosen = [pair for pair in pairs() if not names or names & {pair.corpus, pair.name}]
    taken = [pair for pair in chosen if is_triton(pair)]
    twins = [Twins(pair, plain_cases(pair.job(pair.right))) for pair in taken]
    return twins, [pair for pair in chosen if not is_triton(pair)]


def plain_cases(job: Job) -> tuple[Case, ...]:
    """Return the cases that a user would write for a writer; alike every time.

    Those that would need more than a GiB are left out; where that leaves none, there is one of one
    row in the smallest pool.
    """
    found = [case for rows in ROWS if (case := _plain(job, rows, rows + 6)) is not None]
    small = [case for case in found if largest(job, case) <= THIN]
    if small:
        return tuple(small)
    least = _plain(job, 1, 2)
    return () if least is None else (least,)


def _plain(job: Job, rows: int, pool: int) -> Case | None:
    instance = job.instance
    dims = instance.numbers()
    pool = max(pool, instance.pool.least)
    if pool > instance.pool.most or not instance.rows.least <= rows <= instance.rows.most:
        return None
    limit = pool * dims["WORLD"]
    whole = Case(dims=dims, pool=pool, slots=tuple(range(limit)))
    legal = [slot for slot in range(limit) if _stored_somewhere(job, whole, slot)]
    if len(legal) < rows:
        return None
    chosen = random.Random(rows).sample(legal, rows)  # noqa: S311 - test data
    return replace(whole, slots=tuple(chosen), seed=rows)


def _stored_somewhere(job: Job, whole: Case, slot: int) -> bool:
    """Tell whether some rank must store a slot: it is no padding."""
    world = whole.dims["WORLD"]
    ranks = [replace(whole, dims={**whole.dims, "RANK": rank}) for rank in range(world)]
    return any(accepted(job.instance, case, slot) for case in ranks)


def _tensors(job: Job, case: Case, surplus: int = 0) -> list[TensorArg]:
    """Return the tensors of a call, each as wide and as long as the contract's elements need.

    A row of a source holds every segment's part of it; pages reach past the rows of a cache.
    """
    instance = job.instance
    made = recipe(
        instance,
        job.binding,
        pool=case.pool,
        slots=case.slots,
        dims=case.dims,
        slot_stride=case.slot_stride,
    )
    ends = _ends(job, case)
    found: list[TensorArg] = []
    for arg in made.tensors().values():
        name = job.binding.contract_arg(arg.name) or ""
        shape, strides = list(arg.shape), list(arg.strides or ())
        stated = instance.contract.shape(name) is not None
        if name in ends and not stated:
            rest = sum((n - 1) * step for n, step in zip(shape[1:], strides[1:], strict=True))
            shape[0] = max(shape[0], -(-(ends[name] - 1 - rest) // strides[0]) + 1)
        elif name not in ends and name != instance.contract.slots.arg:
            shape[0] += surplus
            shape[-1] = shape[-1] if stated else max(shape[-1], _width(job, case, name))
        found.append(replace(arg, shape=tuple(shape), strides=tuple(strides)))
    return found


def _ends(job: Job, case: Case) -> dict[str, int]:
    """Return the elements of each cache, by its contract argument."""
    ends: dict[str, int] = {}
    first = max(0, case.pool - 4096)
    for segment in job.instance.contract.segments:
        env = {**case.dims, "POOL": case.pool, "ROWS": case.rows}
        last = int(segment.width.evaluate(env)) - 1
        for place in range(first, case.pool):
            for col in {0, last}:
                at = int(segment.at.evaluate({**env, "place": place, "col": col}))
                ends[segment.into] = max(ends.get(segment.into, 1), at + 1)
    return ends


def _width(job: Job, case: Case, source: str) -> int:
    """Return the elements of a source's row, from the first to the last that is asked for."""
    env = {**case.dims, "POOL": case.pool, "ROWS": case.rows, "row": 0, "col": 0}
    return max(
        int(segment.begin.evaluate(env)) + int(segment.width.evaluate(env))
        for segment in job.instance.contract.segments
        if segment.source == source
    )


def extent(arg: TensorArg) -> int:
    """Return the elements from a tensor's first one to its last; 1 for an empty tensor."""
    if not all(arg.shape):
        return 1
    return 1 + sum((n - 1) * step for n, step in zip(arg.shape, arg.strides or (), strict=True))


def largest(job: Job, case: Case) -> int:
    """Return the bytes of the largest tensor of a call."""
    return max(extent(arg) * dtype(arg.dtype).size for arg in _tensors(job, case))


def thinned(job: Job, case: Case) -> Job | None:
    """Return the job at a width that fits in memory; None when none does.

    A copy is the same at one byte per element, and an address that wraps, wraps at the same slot.
    """
    if largest(job, case) <= THIN:
        return job
    if not isinstance(job.instance.contract.encode, Copy):
        return None
    table = job.instance.contract.slots.arg
    dtypes = {arg: (kind if arg == table else "u8") for arg, kind in job.instance.dtypes.items()}
    thin = replace(job, instance=replace(job.instance, dtypes=dtypes))
    return thin if not case.payload and largest(thin, case) <= MOST else None


def plain_data(
    pair: Pair, function: str, case: Case, *, shown: bool = False
) -> dict[str, Any] | None:
    """Return a case as bench/peers_child.py takes it; None when it fits in no memory.

    Args:
        pair: the pair.
        function: name of one of its two host functions.
        case: the call.
        shown: whether sources hold what they held when kvproof ran the case: any bits, and the
            case's own. Otherwise they hold normal values.

    Raises KvproofError where the contract's expressions reach outside a tensor.
    """
    job = thinned(pair.job(function), case)
    if job is None:
        return None
    contract = job.instance.contract
    tensors: list[dict[str, Any]] = []
    sources: dict[str, bytes] = {}
    middle = getattr(pair, "middle", 0)
    for arg in _tensors(job, case, getattr(pair, "surplus", 0)):
        name = job.binding.contract_arg(arg.name) or ""
        kind = dtype(arg.dtype)
        data: bytes | None = None
        if name == contract.slots.arg:
            data = Contents(job.instance, case).slots(kind.size)
        elif name not in contract.caches():
            held = Contents(job.instance, case).data(name) if shown else b""
            held += _normal(job, case, name, extent(arg))[len(held) :]
            data = sources[name] = held
        strides = list(arg.strides or ())
        if middle and len(strides) == 3:
            strides[1] = middle
        tensors.append(
            {
                "name": arg.name,
                "dtype": kind.torch,
                "shape": arg.shape,
                "strides": strides,
                "extent": extent(arg),
                "data": None if data is None else base64.b64encode(data).decode(),
                "seed": len(tensors) + 1,
            }
        )
    scalars = {arg.name: arg.value for arg in job.binding.extra if isinstance(arg, ScalarArg)}
    return {
        "tensors": tensors,
        "scalars": scalars,
        "expected": _expected(job, case, sources),
    }


def _normal(job: Job, case: Case, name: str, count: int) -> bytes:
    """Return a source's bytes: normal values, and small numbers for integers."""
    kind = dtype(job.instance.dtypes[name])
    generator = torch.Generator().manual_seed(case.seed + len(name))
    if kind.kind == "float":
        made = torch.randn(count, generator=generator).to(getattr(torch, kind.torch))
    else:
        made = torch.randint(1, 120, (count,), generator=generator).to(getattr(torch, kind.torch))
    return made.view(torch.uint8).numpy().tobytes()


def _expected(job: Job, case: Case, sources: dict[str, bytes]) -> dict[str, list[tuple[int, str]]]:
    """Return the bytes that must be stored, in runs, by keyword of the cache."""
    instance = job.instance

    def element(name: str, offset: int) -> int:
        size = dtype(instance.dtypes[name]).size
        bits = sources[name][offset * size : (offset + 1) * size]
        if offset < 0 or len(bits) < size:
            raise KvproofError(f"{name} has no element {offset}", where=job.target)
        return int.from_bytes(bits, "little")

    runs: dict[str, list[tuple[int, bytearray]]] = {}
    for (cache, offset), stored in sorted(expected_stores(instance, case, element).items()):
        size = dtype(instance.dtypes[cache]).size
        mine = runs.setdefault(job.binding.keyword(cache), [])
        data = stored.bits.to_bytes(size, "little")
        if mine and mine[-1][0] + len(mine[-1][1]) == offset * size:
            mine[-1][1].extend(data)
        else:
            mine.append((offset * size, bytearray(data)))
    return {
        cache: [(at, base64.b64encode(bytes(data)).decode()) for at, data in mine]
        for cache, mine in runs.items()
    }


def jobs_of(
    twins: Twins, function: str, telling: Sequence[Case]
) -> tuple[dict[str, Any], list[int], int]:
    """Return the job of one writer, which of its cases are plain, and how many fit nowhere."""
    cases: list[dict[str, Any]] = []
    plain: list[int] = []
    left_out = 0
    for number, case in enumerate((*twins.plain, *telling)):
        made = plain_data(twins.pair, function, case, shown=number >= len(twins.plain))
        if made is None:
            left_out += 1
            continue
        if number < len(twins.plain):
            plain.append(len(cases))
        cases.append(made)
    file = str(HERE / twins.pair.file)
    return {"file": file, "function": function, "cases": cases}, plain, left_out
