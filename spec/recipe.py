"""From a contract in one configuration to a call of its host function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .call import Arg, CallRecipe, TensorArg
from .contract import Instance
from .layout import reach
from .rules import Segment


@dataclass(frozen=True, kw_only=True)
class Binding:
    """How a host function's parameters map to the contract's arguments.

    Args:
        names: contract argument -> keyword of the host function; a missing entry is the same name.
        middle: elements along each dimension between the first and the last of cache and sources,
            where the contract states no shape, e.g. (1,).
        extra: further arguments, passed as they are.
        passed: dtype a tensor is passed as, where it differs from the contract's (a cache of
            bytes that the function views as fp8).
    """

    names: Mapping[str, str] = field(default_factory=dict)
    middle: tuple[int, ...] = ()
    extra: tuple[Arg, ...] = ()
    passed: Mapping[str, str] = field(default_factory=dict)

    def keyword(self, arg: str) -> str:
        """Return the host function's keyword for a contract argument."""
        return self.names.get(arg, arg)

    def contract_arg(self, keyword: str | None) -> str | None:
        """Return the contract's argument for a keyword; None stays None."""
        for arg, name in self.names.items():
            if name == keyword:
                return arg
        return keyword


def place_stride(segment: Segment, env: Mapping[str, int]) -> int:
    """Return the elements from one place to the next in a segment's cache."""
    at = segment.at
    first = at.evaluate({**env, "place": 0, "col": 0})
    return int(at.evaluate({**env, "place": 1, "col": 0})) - int(first)


def pool_span(instance: Instance, env: Mapping[str, int], pool: int) -> int:
    """Return the elements from a cache's first one to its last, the longest cache's.

    Args:
        instance: the contract in its configuration.
        env: every dimension as a number.
        pool: places of the cache.
    """
    contract = instance.contract
    return max(
        reach([one for one in contract.segments if one.into == cache], env, pool)
        for cache in contract.caches()
    )


def row_width(instance: Instance, cache: str, env: Mapping[str, int]) -> int:
    """Return the elements of one place that the contract's segments of a cache span."""
    ends = [
        int(segment.at.evaluate({**env, "place": 0, "col": 0})) + int(segment.width.evaluate(env))
        for segment in instance.contract.segments
        if segment.into == cache
    ]
    return max(ends)


def recipe(
    instance: Instance,
    binding: Binding,
    *,
    pool: int,
    slots: Sequence[int],
    dims: Mapping[str, int] | None = None,
    slot_stride: int = 1,
) -> CallRecipe:
    """Return the call for concrete slots.

    Args:
        instance: the contract in its configuration.
        binding: names, middle dimensions and extra arguments.
        pool: places of the cache.
        slots: one slot per row.
        dims: numbers for dimensions that the instance leaves as ranges.
        slot_stride: stride of the slot table in elements.

    A tensor has the shape that the contract states for it, else [pool or rows, *middle, width],
    innermost stride 1, and the row stride that the contract's dimensions give.
    """
    env: dict[str, int] = {}
    for name, value in instance.dims.items():
        env[name] = dims[name] if dims and name in dims else int(value)  # type: ignore[arg-type]
    args: dict[str, Arg] = {}
    for segment in instance.contract.segments:
        begin = segment.begin
        row = int(begin.evaluate({**env, "row": 1, "col": 0})) - int(
            begin.evaluate({**env, "row": 0, "col": 0})
        )
        plain = {
            segment.into: (
                pool,
                row_width(instance, segment.into, env),
                place_stride(segment, env),
            ),
            segment.source: (len(slots), int(segment.width.evaluate(env)), row),
        }
        for arg, (count, width, stride) in plain.items():
            stated = instance.contract.shape(arg)
            if stated is None:
                shape = (count, *binding.middle, width)
                # Middle dimensions are of size 1; their stride is the row's.
                strides = (stride, *(stride for _ in binding.middle), 1)
            else:
                shape, strides = stated.at({**env, "POOL": pool, "ROWS": len(slots)})
            dtype = binding.passed.get(arg, instance.dtypes[arg])
            keyword = binding.keyword(arg)
            args[keyword] = TensorArg(keyword, dtype, shape, strides)
    table = instance.contract.slots.arg
    keyword = binding.keyword(table)
    args[keyword] = TensorArg(
        keyword,
        instance.dtypes[table],
        (len(slots),),
        (slot_stride,),
        slots if isinstance(slots, range) else tuple(int(slot) for slot in slots),
    )
    return CallRecipe((*args.values(), *binding.extra))
