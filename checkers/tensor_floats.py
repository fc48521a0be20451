"""Float arithmetic and casts of the torch domain, on bit patterns in integer tensors.

A value of `fmt` is an integer tensor of the format's width. Formats of 16 bits or fewer compute in
f32 and are rounded once, to nearest even, which is exact for +, -, *, / and comparisons. A NaN that
an operation makes is the one that NVIDIA hardware gives (all ones below the sign); a NaN that a
cast passes on follows `kvproof.spec.dtypes.cast_bits`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from ..spec.dtypes import DTYPES, DType
from .tensor_integers import DTYPE, Value

#: Formats by MLIR name.
FORMATS = {kind.mlir: kind for kind in DTYPES.values() if kind.kind == "float"}

#: Conversions to these saturate: NVIDIA's `cvt` to an 8-bit format has no other form.
SATURATING = ("f8E4M3FN", "f8E5M2")


def format_of(fmt: str) -> DType:
    """Return a format by MLIR name. Raises TypeError for one without a written-out rule."""
    if fmt not in FORMATS:
        raise TypeError(f"no rule for the float format {fmt}")
    return FORMATS[fmt]


def lift(value: Value, w: int) -> torch.Tensor:
    """Return a tensor of a pattern of `w` bits, which may be a Python int."""
    if isinstance(value, torch.Tensor):
        return value
    return torch.tensor(value, dtype=DTYPE[w])


def lower(value: torch.Tensor, *operands: Value) -> Value:
    """Return the result as an int where no operand is a tensor."""
    if any(isinstance(operand, torch.Tensor) for operand in operands):
        return value
    return value.item()


def decode(bits: Value, fmt: str) -> torch.Tensor:
    """Return the values: f64 for f64, f32 for every other format."""
    kind = format_of(fmt)
    raw = lift(bits, kind.bits)
    if kind.bits == 64:
        return raw.view(torch.float64)
    if kind.bits == 32:
        return raw.view(torch.float32)
    if fmt == "bf16":
        return (raw.to(torch.int32) << 16).view(torch.float32)
    table = _table(fmt, "f32", saturate=False)
    return table[raw.to(torch.int64) & ((1 << kind.bits) - 1)].view(torch.float32)


def encode(values: torch.Tensor, fmt: str) -> torch.Tensor:
    """Return the patterns of f32 values (f64 for f64), rounded to nearest even once."""
    kind = format_of(fmt)
    if kind.bits == 64:
        bits, nan = values.view(torch.int64), (1 << 63) - 1
    elif kind.bits == 32:
        bits, nan = values.view(torch.int32), (1 << 31) - 1
    elif fmt == "bf16":
        bits, nan = _to_bf16(values.view(torch.int32)), (1 << 15) - 1
    else:
        bits = _convert(values.view(torch.int32), "f32", fmt, saturate=fmt in SATURATING)
        nan = (1 << (kind.bits - 1)) - 1
    wrong = values.isnan()
    return torch.where(wrong, nan, bits) if bool(wrong.any()) else bits


def _to_bf16(raw: torch.Tensor) -> torch.Tensor:
    """Round f32 patterns that are no NaN to bf16; a carry runs into the exponent by addition."""
    high = raw >> 16
    rest = raw & 0xFFFF
    up = (rest + (high & 1)) > 0x8000
    return (high + up).to(torch.int16)


def _greater(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the larger one, +0.0 above -0.0; torch's own choice of zero is the first operand."""
    zeros = (x == 0) & (y == 0)
    return torch.where(zeros, x + y, torch.maximum(x, y))


def _smaller(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the smaller one, -0.0 below +0.0."""
    return -_greater(-x, -y)


def _number_of(
    pick: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return min or max that prefers a number to a NaN, a signalling one too (torch's does not)."""

    def made(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = torch.where(x.isnan(), y, x), torch.where(y.isnan(), x, y)
        return pick(x, y)

    return made


_BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "addf": torch.add,
    "subf": torch.sub,
    "mulf": torch.mul,
    "divf": torch.div,
    "remf": torch.fmod,
    "maxnumf": _number_of(_greater),
    "minnumf": _number_of(_smaller),
    "maximumf": _greater,
    "minimumf": _smaller,
}


def binary(op: str, a: Value, b: Value, fmt: str) -> Value:
    """Return the patterns of `a op b`."""
    return lower(encode(_BINARY[op](decode(a, fmt), decode(b, fmt)), fmt), a, b)


_ORDERED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "eq": torch.eq,
    "gt": torch.gt,
    "ge": torch.ge,
    "lt": torch.lt,
    "le": torch.le,
    "ne": lambda x, y: (x < y) | (x > y),
}


def compare(predicate: str, a: Value, b: Value, fmt: str) -> Value:
    """Return the truth of a comparison; `o` predicates are false and `u` true on a NaN."""
    if predicate in ("true", "false"):
        return predicate == "true"
    x, y = decode(a, fmt), decode(b, fmt)
    unordered = x.isnan() | y.isnan()
    if predicate in ("ord", "uno"):
        made = ~unordered if predicate == "ord" else unordered
    else:
        ordered = _ORDERED[predicate[1:]](x, y)
        made = ordered if predicate[0] == "o" else unordered | ordered
    return lower(made, a, b)


def cast(bits: Value, source: str, target: str, rounding: str | None) -> Value:
    """Convert patterns between formats as `cast_bits` does; conversions to fp8 saturate.

    Raises TypeError for a format or a rounding without a rule.
    """
    if source == target:
        return bits
    a, b = format_of(source), format_of(target)
    if rounding == "rtz" and (a.bits, b.bits) == (32, 16) and target == "bf16":
        return lower(_chop(lift(bits, 32)), bits)
    if rounding not in (None, "rtne"):
        raise TypeError(f"no rule for rounding {rounding} from {source} to {target}")
    saturate = target in SATURATING
    raw = lift(bits, a.bits)
    if a.bits <= 16 and (raw.numel() > 256 or (source, target, saturate) in _READY):
        made = _table(source, target, saturate=saturate)[raw.to(torch.int64) & ((1 << a.bits) - 1)]
    elif (source, target) == ("f32", "bf16"):
        quiet = ((raw >> 16) | 0x7FFF) ^ 0x3F
        made = torch.where(_is_nan(raw, a), quiet.to(torch.int16), _to_bf16(raw))
    else:
        made = _convert(raw, source, target, saturate=saturate)
    return lower(made, bits)


def _chop(raw: torch.Tensor) -> torch.Tensor:
    """Truncate f32 patterns to bf16; a NaN keeps its sign and is the quiet one."""
    quiet = ((raw >> 16) | 0x7FFF) ^ 0x3F
    return torch.where(_is_nan(raw, FORMATS["f32"]), quiet, raw >> 16).to(torch.int16)


def _is_nan(raw: torch.Tensor, kind: DType) -> torch.Tensor:
    magnitude = raw & ((1 << (kind.bits - 1)) - 1)
    if kind.finite_only:
        return magnitude == (1 << (kind.bits - 1)) - 1
    return magnitude > ((1 << kind.exponent) - 1) << kind.mantissa


_READY: set[tuple[str, str, bool]] = set()


@cache
def _table(source: str, target: str, *, saturate: bool) -> torch.Tensor:
    """Return the cast of every pattern of a format of 16 bits or fewer, indexed by pattern."""
    kind = FORMATS[source]
    _READY.add((source, target, saturate))
    every = torch.arange(1 << kind.bits).to(DTYPE[kind.bits])
    return _convert(every, source, target, saturate=saturate)


def _convert(raw: torch.Tensor, source: str, target: str, *, saturate: bool) -> torch.Tensor:
    """Convert patterns by the rule of `kvproof.spec.dtypes.cast_bits`, in int64."""
    a, b = FORMATS[source], FORMATS[target]
    wide = raw.to(torch.int64)
    magnitude = wide & ((1 << (a.bits - 1)) - 1)
    top = (wide < 0).to(torch.int64) << (b.bits - 1)
    fraction = magnitude & ((1 << a.mantissa) - 1)
    field = magnitude >> a.mantissa
    significand = torch.where(field == 0, fraction, fraction | (1 << a.mantissa))
    unit = field.clamp(min=1) - (a.bias + a.mantissa)
    # f32 and wider targets hold every significand of a narrower source, so few bits suffice.
    length = _bit_length(significand)
    lowest = 1 - b.bias - b.mantissa
    exponent = (length - 1 + unit - b.mantissa).clamp(min=lowest)
    shift = exponent - unit
    left = significand << (-shift).clamp(min=0, max=62)
    right = shift.clamp(min=1, max=62)
    kept = significand >> right
    rest = significand - (kept << right)
    half = torch.ones_like(rest) << (right - 1)
    kept = kept + ((rest > half) | ((rest == half) & ((kept & 1) == 1)))
    code = torch.where(shift <= 0, left, kept) + ((exponent - lowest) << b.mantissa)
    code = torch.where(significand == 0, 0, code)
    overflow = b.largest if saturate else (b.nan if b.finite_only else b.largest + 1)
    over = code > b.largest
    if not a.finite_only:
        over = over | (magnitude == ((1 << a.exponent) - 1) << a.mantissa)
    code = torch.where(over, overflow, code)
    nan = _is_nan(wide, a)
    code = torch.where(nan, b.nan, code)
    if saturate and b.finite_only:
        top = torch.where(nan, 0, top)
    return (top | code).to(DTYPE[b.bits])


def _bit_length(value: torch.Tensor) -> torch.Tensor:
    """Return the bit length of non-negative int64 values below 2^53: exact in f64."""
    exponent = (value.to(torch.float64).view(torch.int64) >> 52) - 1022
    return torch.where(value == 0, 0, exponent)


def from_int(value: Value, w: int, fmt: str, *, signed: bool) -> Value:
    """Convert integers of `w` bits, rounded to nearest even once."""
    raw = lift(value, w).to(torch.int64)
    low = None
    if not signed and w < 64:
        raw = raw & ((1 << w) - 1)
    elif not signed:
        # Beyond 2^63: halve, and keep the lost bit where rounding sees it.
        low = raw < 0
        raw = torch.where(low, (raw >> 1) & ((1 << 63) - 1) | (raw & 1), raw)
    if fmt in ("f64", "f32"):
        made = raw.to(torch.float64 if fmt == "f64" else torch.float32)
        made = made if low is None else torch.where(low, made * 2, made)
        return lower(made.view(DTYPE[format_of(fmt).bits]), value)
    if w == 64:
        sticky = ((raw & 0x7FF) != 0).to(torch.int64) << 11
        big = raw.abs() >= 1 << 53
        raw = torch.where(big | (raw == -(1 << 63)), (raw & ~0x7FF) | sticky, raw)
    made = raw.to(torch.float64)
    made = made if low is None else torch.where(low, made * 2, made)
    return lower(_convert(made.view(torch.int64), "f64", fmt, saturate=False), value)


def to_int(bits: Value, fmt: str, w: int, *, signed: bool) -> tuple[Value, torch.Tensor]:
    """Convert to integers of `w` bits toward zero, and tell where the value does not fit.

    What does not fit is undefined in the IR; it saturates here and a NaN gives 0, as NVIDIA's
    `cvt` does for 32 bits.
    """
    values = decode(bits, fmt).to(torch.float64).trunc()
    low, high = (-(2.0 ** (w - 1)), 2.0 ** (w - 1)) if signed else (0.0, 2.0**w)
    beyond = ~((values >= low) & (values < high))
    nan = values.isnan()
    top = (1 << (w - 1)) - 1 if signed else -1
    bottom = -(1 << (w - 1)) if signed else 0
    inside = torch.where(beyond, 0.0, values)
    if not signed and w == 64:
        large = inside >= 2.0**63
        plain = torch.where(large, inside - 2.0**63, inside).to(torch.int64)
        made = torch.where(large, plain ^ -(1 << 63), plain)
    else:
        made = inside.to(torch.int64)
    if bool(beyond.any()):
        made = torch.where(beyond, torch.where(values < low, bottom, top), made)
        made = torch.where(nan, 0, made)
    return lower(made.to(DTYPE[w]), bits), beyond
