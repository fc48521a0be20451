"""Running a counterexample through the engine's own host function on the Triton interpreter."""

from __future__ import annotations

from typing import Any

from ..spec.dtypes import dtype
from ..spec.errors import KvproofError
from ..spec.layout import page_of
from ..spec.recipe import pool_span, recipe
from ..spec.rules import Cast
from .loading import Loaded
from .replay import Contents, Differences, Task, compare

#: Bytes of cache, guards included, that the interpreter is given at most.
MOST_BYTES = 256 << 20

_PATTERN = 0x5B


def refusal(task: Task) -> str | None:
    """Return why the interpreter must not be asked, or None.

    Source: docs/semantics.md; it is wrong for bf16 arithmetic and fp8 casts, and lacks the
    dependency wait.
    """
    if any(
        "griddepcontrol" in f.launch.ttir or "grid_dependency" in f.launch.ttir
        for f in task.families
    ):
        return "the interpreter has no dependency wait"
    if isinstance(task.job.instance.contract.encode, Cast):
        return "the interpreter is wrong for fp8 casts"
    formats = {task.job.instance.dtypes[s.source] for s in task.job.instance.contract.segments}
    arithmetic = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf")
    if "bf16" in formats and any(
        op in family.launch.ttir for op in arithmetic for family in task.families
    ):
        return "the interpreter is wrong for bf16 arithmetic"
    needed = _span(task)[1] * 4
    if needed > MOST_BYTES:
        return f"the cache would take {needed / (1 << 30):.1f} GiB"
    return None


def _span(task: Task) -> tuple[int, int]:
    """Return the guard's and the whole storage's elements, for every place a slot may aim at."""
    instance, case = task.job.instance, task.case
    contract, env = instance.contract, case.dims
    page = page_of(contract.segments, env)
    step = max(
        int(segment.at.evaluate({**env, "place": page, "col": 0}))
        - int(segment.at.evaluate({**env, "place": 0, "col": 0}))
        for segment in contract.segments
    )
    furthest = max((abs(slot) for slot in case.slots), default=0)
    guard = (furthest // page + 2) * step + pool_span(instance, env, page)
    return guard, 2 * guard + pool_span(instance, env, case.pool)


def interpret_case(loaded: Loaded, task: Task) -> Differences:
    """Run a case through the host function and compare the cache's whole storage.

    Raises KvproofError with one line when the host function or the interpreter fails.
    """
    import torch

    from .tensors import make_arguments

    instance, case, binding = task.job.instance, task.case, task.job.binding
    contents = Contents(instance, case)
    call = recipe(
        instance,
        binding,
        pool=case.pool,
        slots=case.slots,
        dims=case.dims,
        slot_stride=case.slot_stride,
    )
    arguments: dict[str, Any] = make_arguments(call)
    guard, whole = _span(task)
    caches: dict[str, tuple[Any, Any]] = {}
    for arg in instance.contract.caches():
        passed = arguments[binding.keyword(arg)]
        size = passed.element_size()
        storage = torch.full((whole * size,), _PATTERN, dtype=torch.uint8)
        mixed = torch.arange(whole * size, dtype=torch.int64) * 2654435761 >> 7
        storage ^= (mixed % 251).to(torch.uint8)
        view = storage[guard * size :].view(passed.dtype)
        arguments[binding.keyword(arg)] = view.as_strided(passed.shape, passed.stride())
        caches[arg] = (storage, storage.clone())
    for segment in instance.contract.segments:
        passed = arguments[binding.keyword(segment.source)]
        raw = torch.frombuffer(bytearray(contents.data(segment.source)), dtype=torch.uint8)
        flat = raw.view(passed.dtype)
        if passed.numel():
            arguments[binding.keyword(segment.source)] = flat.as_strided(
                passed.shape, passed.stride()
            )
    inputs = {
        arg: (passed, passed.clone())
        for arg in instance.contract.arguments()
        if arg not in caches and (passed := arguments[binding.keyword(arg)]) is not None
    }
    try:
        with loaded.space:
            loaded.function(task.job.function)(**arguments)
    except Exception as problem:
        text = " ".join(str(problem).split())[:200] or type(problem).__name__
        raise KvproofError(f"the interpreter failed: {text}") from problem
    found = Differences()
    stored: dict[tuple[str, int], int] = {}
    expected = contents.expected()
    for arg, (storage, before) in caches.items():
        size = dtype(instance.dtypes[arg]).size
        changed = (storage != before).view(-1, size).any(dim=1).nonzero().reshape(-1)
        data = storage.view(-1, size)
        for index in changed.tolist():
            bits = int.from_bytes(bytes(data[index].tolist()), "little")
            stored[arg, index - guard] = bits
        for key, want in expected.items():
            # An element stored with the bits it had is not missing.
            if key[0] == arg and key not in stored:
                at = key[1] + guard
                if int.from_bytes(bytes(data[at].tolist()), "little") == want.bits:
                    stored[key] = want.bits
    compare(found, stored, expected)
    for arg, (passed, before) in inputs.items():
        if not torch.equal(passed.view(torch.uint8), before.view(torch.uint8)):
            found.events.append(f"{arg} is changed")
    return found
