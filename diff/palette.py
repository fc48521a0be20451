"""The dimensions and bit patterns that trials are drawn from, small first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..spec.contract import Range
from ..spec.dtypes import DType, dtype
from ..spec.errors import ContractError
from ..spec.expr import as_expr
from ..spec.job import Job
from ..spec.recipe import row_width
from ..spec.reference import holds
from ..spec.rules import Cast
from .api import Layout, at_dims

#: Widths of the first and of a further segment: small, one, odd, zero, a power of two and not,
#: both sides of a block of 128, and a boundary between segments inside a block.
_WIDTHS = (
    (4, 2),
    (1, 1),
    (5, 3),
    (6, 0),
    (20, 12),
    (100, 28),
    (129, 63),
    (64, 65),
)
#: Elements that strides exceed what they hold by: the cache's, each source's; None is one pitch
#: for all sources that holds every width.
_PADS = ((0, (0, 0)), (3, None), (8, (1, 5)), (0, (96, 7)))

#: Where tensors lie, the plain one first.
LAYOUTS = (
    Layout(),
    Layout(split=True, packed=True),
    Layout(cache_offset=1, source_offset=3, slot_offset=1),
    Layout(cache_offset=8, split=True, guard=64),
    Layout(source_offset=8, slot_offset=2, packed=True, guard=1024),
)


def palette(job: Job) -> tuple[Mapping[str, int], ...]:
    """Return the dimensions that trials of a job are drawn at, the smallest first.

    The last is the job's own. Each is legal for the contract; a host function may refuse some
    (`Preparer.prepare` raises then: leave it out and note it). Each costs a capture of some
    tenths of a second: a short campaign takes the first and the last of each job first.
    """
    own = {name: _number(value) for name, value in job.instance.dims.items()}
    found: list[Mapping[str, int]] = []
    for widths, pads in zip(_WIDTHS, _PADS * len(_WIDTHS), strict=False):
        dims = _strides(job, {**own, **_named(job, widths)}, pads)
        if _legal(job, dims) and dims not in found:
            found.append(dims)
    if own in found:
        found.remove(own)
    return (*found, own)


def _number(value: int | Range) -> int:
    return value if isinstance(value, int) else value.least


def _width_symbols(job: Job) -> list[str]:
    names: dict[str, None] = {}
    for segment in job.instance.contract.segments:
        names.update(dict.fromkeys(sorted(segment.width.symbols())))
    return list(names)


def _named(job: Job, widths: tuple[int, int]) -> dict[str, int]:
    least = {dim.name: dim.least for dim in job.instance.contract.dims}
    symbols = _width_symbols(job)
    return {name: max(widths[min(k, 1)], least.get(name, 0)) for k, name in enumerate(symbols)}


def _strides(
    job: Job, dims: dict[str, int], pads: tuple[int, tuple[int, int] | None]
) -> dict[str, int]:
    """Return the dimensions with every stride just wide enough, and its padding."""
    contract = job.instance.contract
    widths = set(_width_symbols(job))
    made = dict(dims)
    numbers = [int(segment.width.evaluate(dims)) for segment in contract.segments]
    for k, segment in enumerate(contract.segments):
        pitch = sum(numbers) + 1 if pads[1] is None else numbers[k] + pads[1][min(k, 1)]
        for name in sorted(segment.begin.symbols() - widths - {"row", "col"}):
            if name.endswith("STRIDE"):
                made[name] = max(pitch, 1)
        for name in sorted(segment.at.symbols() - widths - {"place", "col"}):
            if name.endswith("STRIDE"):
                made[name] = max(row_width(job.instance, segment.into, dims) + pads[0], 1)
    # In the order of the dimensions: a page's stride is told from a token's.
    stored = {name for segment in contract.segments for name in segment.at.symbols()}
    for dim in contract.dims:
        if dim.packed is not None and dim.name in stored:
            made[dim.name] = max(int(as_expr(dim.packed).evaluate(made)) + pads[0], 1)
    return made


def _legal(job: Job, dims: Mapping[str, int]) -> bool:
    try:
        at_dims(job, dims)
    except ContractError:
        return False
    return all(holds(condition, dict(dims)) for condition in job.instance.where)


@lru_cache(maxsize=64)
def specials(source: str, target: str | None) -> tuple[tuple[str, int], ...]:
    """Return bit patterns of a format that writers get wrong, each with its class.

    Args:
        source: short name of the source's format.
        target: format it is cast to; None for a copy.
    """
    fmt = dtype(source)
    if fmt.kind != "float":
        top = 1 << (fmt.bits - 1)
        return (("0", 0), ("sign bit", top), ("all ones", 2 * top - 1))
    return tuple(_specials(fmt, dtype(target) if target else None))


def _specials(fmt: DType, target: DType | None) -> Iterator[tuple[str, int]]:
    sign = 1 << (fmt.bits - 1)
    yield "-0.0", sign
    yield "0.0", 0
    yield "NaN", fmt.nan
    yield "NaN with payload", sign | fmt.nan | (0b1011 & ((1 << fmt.mantissa) - 1))
    if not fmt.finite_only:
        infinity = fmt.largest + 1
        yield "infinity", infinity
        yield "infinity", sign | infinity
        yield "signalling NaN", infinity | 1
    yield "subnormal", 1
    yield "subnormal", sign | ((1 << fmt.mantissa) - 1)
    yield "largest", fmt.largest
    if target is None:
        return
    for name, value in _edges(target):
        bits = _nearest(fmt, value)
        yield name, bits
        yield name, bits + 1
        yield name, sign | max(bits - 1, 0)


def _edges(target: DType) -> Iterator[tuple[str, float]]:
    """Yield values around a format's overflow and ties, and its smallest numbers."""
    unit = 2.0 ** (1 - target.bias - target.mantissa)
    top_unit = 2.0 ** ((target.largest >> target.mantissa) - target.bias - target.mantissa)
    low_bits = target.largest & ((1 << target.mantissa) - 1)
    largest = ((1 << target.mantissa) + low_bits) * top_unit
    yield "overflow", largest
    yield "overflow", largest + top_unit / 2
    yield "overflow", largest + top_unit
    step = 2.0 ** (4 - target.mantissa)
    yield "tie", 16.0 + step / 2
    yield "tie", 16.0 + step * 1.5
    yield "target subnormal", unit
    yield "target subnormal", unit / 2
    yield "target subnormal", unit * 1.5


def _nearest(fmt: DType, value: float) -> int:
    """Return the largest pattern of a format whose value is not above a positive number."""
    low, high = 0, fmt.largest
    while low < high:
        middle = (low + high + 1) // 2
        if _value(fmt, middle) <= value:
            low = middle
        else:
            high = middle - 1
    return low


def _value(fmt: DType, bits: int) -> float:
    raw, fraction = bits >> fmt.mantissa, bits & ((1 << fmt.mantissa) - 1)
    if raw == 0:
        return fraction * 2.0 ** (1 - fmt.bias - fmt.mantissa)
    return (fraction + (1 << fmt.mantissa)) * 2.0 ** (raw - fmt.bias - fmt.mantissa)


def target_of(job: Job) -> str | None:
    """Return the format that a job's contract casts to, or None."""
    encode = job.instance.contract.encode
    return encode.target if isinstance(encode, Cast) else None
