"""Element formats: sizes, names in each world, and exact casts as written-out rules.

The casts are plain integer arithmetic on bit patterns. They share no code with torch or Triton:
`tensor.to(torch.float8_e4m3fn)` differs between torch versions and devices, and the Triton
interpreter is wrong for fp8 and bf16 (docs/semantics.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .errors import KvproofError


@dataclass(frozen=True)
class DType:
    """An element format.

    Args:
        name: short name used in contracts and reports.
        bits: width in bits.
        kind: "int", "float" or "bool".
        torch: attribute of the torch module.
        mlir: name in MLIR text.
        triton: name in a Triton signature.
        exponent: exponent bits of a float format.
        mantissa: stored mantissa bits of a float format.
        finite_only: True when the format has no infinity (e4m3fn): its largest exponent still
            holds numbers and only an all-ones mantissa is NaN.
    """

    name: str
    bits: int
    kind: str
    torch: str
    mlir: str
    triton: str
    exponent: int = 0
    mantissa: int = 0
    finite_only: bool = False

    @property
    def size(self) -> int:
        """Bytes per element."""
        return max(1, self.bits // 8)

    @property
    def bias(self) -> int:
        """Exponent bias of a float format."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def largest(self) -> int:
        """Bit pattern of the largest finite value of a float format."""
        if self.finite_only:
            return (1 << (self.bits - 1)) - 2
        return (((1 << self.exponent) - 1) << self.mantissa) - 1

    @property
    def nan(self) -> int:
        """The quiet NaN bit pattern that the casts below return, sign 0."""
        if self.finite_only:
            return (1 << (self.bits - 1)) - 1
        return (((1 << self.exponent) - 1) << self.mantissa) | (1 << (self.mantissa - 1))

    def is_nan(self, bits: int) -> bool:
        """Tell whether a bit pattern of this float format is a NaN."""
        magnitude = bits & ((1 << (self.bits - 1)) - 1)
        if self.finite_only:
            return magnitude == (1 << (self.bits - 1)) - 1
        return magnitude > ((1 << self.exponent) - 1) << self.mantissa

    def is_inf(self, bits: int) -> bool:
        """Tell whether a bit pattern of this float format is an infinity."""
        if self.finite_only:
            return False
        magnitude = bits & ((1 << (self.bits - 1)) - 1)
        return magnitude == ((1 << self.exponent) - 1) << self.mantissa


_ALL = (
    DType("bf16", 16, "float", "bfloat16", "bf16", "bf16", 8, 7),
    DType("f16", 16, "float", "float16", "f16", "fp16", 5, 10),
    DType("f32", 32, "float", "float32", "f32", "fp32", 8, 23),
    DType("f64", 64, "float", "float64", "f64", "fp64", 11, 52),
    DType("f8e4m3fn", 8, "float", "float8_e4m3fn", "f8E4M3FN", "fp8e4nv", 4, 3, True),
    DType("f8e5m2", 8, "float", "float8_e5m2", "f8E5M2", "fp8e5", 5, 2),
    DType("u8", 8, "int", "uint8", "i8", "u8"),
    DType("i8", 8, "int", "int8", "i8", "i8"),
    DType("i16", 16, "int", "int16", "i16", "i16"),
    DType("i32", 32, "int", "int32", "i32", "i32"),
    DType("i64", 64, "int", "int64", "i64", "i64"),
    DType("bool", 8, "bool", "bool", "i1", "i1"),
)
DTYPES = {dtype.name: dtype for dtype in _ALL}


def dtype(name: str) -> DType:
    """Return the format of that short name. Raises KvproofError naming the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        known = ", ".join(DTYPES)
        raise KvproofError(f"unknown dtype {name!r}", mend=f"use one of {known}") from None


def decode(fmt: DType, bits: int) -> tuple[int, int, int]:
    """Split a finite float into (sign, integer significand, exponent of its unit).

    Args:
        fmt: its format.
        bits: its pattern as a non-negative int.

    The value is `(-1)**sign * significand * 2**exponent`. Infinities and NaN are the caller's.
    """
    sign = bits >> (fmt.bits - 1)
    fraction = bits & ((1 << fmt.mantissa) - 1)
    raw = (bits >> fmt.mantissa) & ((1 << fmt.exponent) - 1)
    if raw == 0:
        return sign, fraction, 1 - fmt.bias - fmt.mantissa
    return sign, fraction | (1 << fmt.mantissa), raw - fmt.bias - fmt.mantissa


def cast_bits(source: DType, target: DType, bits: int, *, saturate: bool = False) -> int:
    """Convert one float bit pattern to another format, round to nearest, ties to even.

    Source: IEEE 754-2019 (4.3.1), the OCP 8-bit floating point specification for e4m3fn and e5m2,
    and what Triton's casts did on an H200 where these leave a choice (docs/semantics.md).

    Args:
        source: format of `bits`.
        target: format of the result.
        bits: pattern as a non-negative int.
        saturate: overflow and infinities give the largest finite value with their sign (what
            Triton's conversion to e4m3fn does on NVIDIA hardware); otherwise they give infinity,
            or NaN in a format without one. NaN gives the target's quiet NaN with its sign, but
            saturating, in a format without an infinity, the one without a sign (seen on an H200
            for every NaN of bf16 and f16).
    """
    sign = bits >> (source.bits - 1)
    top = sign << (target.bits - 1)
    if source.is_nan(bits):
        return target.nan if saturate and target.finite_only else top | target.nan
    overflow = (
        target.largest if saturate else (target.nan if target.finite_only else target.largest + 1)
    )
    if source.is_inf(bits):
        return top | overflow
    _, significand, unit = decode(source, bits)
    if significand == 0:
        return top
    lowest = 1 - target.bias - target.mantissa
    exponent = max(significand.bit_length() - 1 + unit - target.mantissa, lowest)
    shift = exponent - unit
    if shift <= 0:
        rounded = significand << -shift
    else:
        rounded = significand >> shift
        rest = significand & ((1 << shift) - 1)
        half = 1 << (shift - 1)
        if rest > half or (rest == half and rounded & 1):
            rounded += 1
    # A carry out of the significand lands in the exponent field by plain addition.
    code = rounded if exponent == lowest else rounded + ((exponent - lowest) << target.mantissa)
    return top | (code if code <= target.largest else overflow)


@cache
def cast_table(source: str, target: str, *, saturate: bool) -> tuple[int, ...]:
    """Return the cast of every pattern of a format of 16 bits or fewer, indexed by pattern.

    Args:
        source: short name of the format that is cast.
        target: short name of the format that it is cast to.
        saturate: as for `cast_bits`.

    Raises:
        KvproofError: an unknown format, or a source of more than 16 bits.
    """
    a, b = dtype(source), dtype(target)
    if a.bits > 16:
        raise KvproofError(f"no table for {source}: more than 65,536 patterns")
    return tuple(cast_bits(a, b, bits, saturate=saturate) for bits in range(1 << a.bits))
