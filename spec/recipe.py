"""From a contract in one configuration to a call of its host function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .call import Arg, CallRecipe, TensorArg
from .contract import Instance
from .rules import Segment


@dataclass(frozen=True, kw_only=True)
class Binding:
    """How a host function's parameters map to the contract's arguments.

    Args:
        names: contract argument -> keyword of the host function; a missing entry is the same name.
        middle: sizes between the first and the last dimension of cache and sources, e.g. (1,).
        absent: contract arguments that are passed as None, by keyword.
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

    Tensors have shape [pool or rows, *middle, width], innermost stride 1, and the row stride that
    the contract's dimensions give.
    """
    env: dict[str, int] = {}
    for name, value in instance.dims.items():
        env[name] = dims[name] if dims and name in dims else int(value)  # type: ignore[arg-type]
    args: dict[str, Arg] = {}
    for segment in instance.contract.segments:
        stride = place_stride(segment, env)
        width = row_width(instance, segment.into, env)
        keyword = binding.keyword(segment.into)
        args[keyword] = _tensor(instance, binding, segment.into, pool, width, stride)
        begin = segment.begin
        row = int(begin.evaluate({**env, "row": 1, "col": 0})) - int(
            begin.evaluate({**env, "row": 0, "col": 0})
        )
        args[binding.keyword(segment.source)] = _tensor(
            instance, binding, segment.source, len(slots), int(segment.width.evaluate(env)), row
        )
    table = instance.contract.slots.arg
    keyword = binding.keyword(table)
    args[keyword] = TensorArg(
        keyword,
        instance.dtypes[table],
        (len(slots),),
        (slot_stride,),
        tuple(int(slot) for slot in slots),
    )
    return CallRecipe((*args.values(), *binding.extra))


def _tensor(
    instance: Instance, binding: Binding, arg: str, rows: int, width: int, stride: int
) -> TensorArg:
    shape = (rows, *binding.middle, width)
    # Middle dimensions are of size 1 in every built-in contract; their stride is the row's.
    inner = tuple(stride for _ in binding.middle)
    dtype = binding.passed.get(arg, instance.dtypes[arg])
    return TensorArg(binding.keyword(arg), dtype, shape, (stride, *inner, 1))
