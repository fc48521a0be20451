"""Floats of the torch algebra, against exact values and the casts of `spec.dtypes`."""

from __future__ import annotations

import itertools
import math
import struct

import pytest
import torch
from kvproof.checkers import tensor_floats as floats
from kvproof.checkers.tensor_algebra import TensorAlgebra
from kvproof.checkers.tensor_integers import DTYPE
from kvproof.checkers.ttir import FloatType, IntType, Op, Type
from kvproof.spec.dtypes import cast_bits, dtype

from .integers import PREDICATES, WIDTHS, columns, edges, signed, unsigned

MLIR = {
    "bf16": "bf16",
    "f16": "f16",
    "f32": "f32",
    "f64": "f64",
    "f8E4M3FN": "f8e4m3fn",
    "f8E5M2": "f8e5m2",
}


def patterns(kind):
    """Return every pattern of 16 bits or fewer, else edges of each binade and random ones."""
    if kind.bits <= 16:
        return torch.arange(1 << kind.bits).to(DTYPE[kind.bits])
    low = [0, 1, 2, (1 << kind.mantissa) - 1, 1 << (kind.mantissa - 1)]
    drop = [kind.mantissa - kept for kept in (2, 3, 7, 10, 23) if kept < kind.mantissa]
    for cut in drop:
        half = 1 << (cut - 1)
        low += [half, half - 1, half + 1, 3 * half, 3 * half - 1, 3 * half + 1]
        low += [(1 << kind.mantissa) - half, (1 << kind.mantissa) - half - 1]
    fields = range(0, 1 << kind.exponent, 1 if kind.exponent == 8 else 7)
    near = range(kind.bias - 30, kind.bias + 20)
    fields = sorted({*fields, *near, (1 << kind.exponent) - 1})
    made = [(field << kind.mantissa) | fraction for field in fields for fraction in low]
    generator = torch.Generator().manual_seed(1)
    random = torch.randint(-(1 << 62), 1 << 62, (3000,), generator=generator)
    every = torch.tensor(made + [x - (1 << 63) if kind.bits == 64 else x | 1 << 31 for x in made])
    return torch.cat((every, random)).to(DTYPE[kind.bits])


@pytest.mark.parametrize(("source", "target"), tuple(itertools.permutations(MLIR, 2)))
def test_casts_follow_the_written_out_rules(source, target):
    a, b = dtype(MLIR[source]), dtype(MLIR[target])
    bits = patterns(a)
    saturate = target in floats.SATURATING
    want = [
        signed(cast_bits(a, b, unsigned(x, a.bits), saturate=saturate), b.bits)
        for x in bits.tolist()
    ]
    made = TensorAlgebra().float_cast(bits, source, target, "rtne")
    assert made.dtype == DTYPE[b.bits]
    wrong = (made != torch.tensor(want, dtype=DTYPE[b.bits])).nonzero().reshape(-1)
    assert [hex(int(bits[i])) for i in wrong[:5]] == []
    one = bits[len(bits) // 2].item()
    assert TensorAlgebra().float_cast(one, source, target, None) == made[len(bits) // 2]


def test_a_cast_without_a_rule_is_refused():
    algebra = TensorAlgebra()
    assert algebra.float_cast(0x3F800001, "f32", "bf16", "rtz") == 0x3F80
    assert algebra.float_cast(0x3F80FFFF, "f32", "bf16", "rtz") == 0x3F80
    assert algebra.float_cast(0x3F80FFFF, "f32", "bf16", "rtne") == 0x3F81
    for source, target, rounding in (("f32", "f16", "rtz"), ("f32", "f8E4M3FNUZ", "rtne")):
        with pytest.raises(TypeError, match="no rule"):
            algebra.float_cast(0, source, target, rounding)


def value_of(kind, bits):
    """Return a pattern's value by the definition of the format, in exact f64."""
    bits = unsigned(bits, kind.bits)
    sign = -1.0 if bits >> (kind.bits - 1) else 1.0
    if kind.is_nan(bits):
        return math.nan
    if kind.is_inf(bits):
        return sign * math.inf
    field = (bits >> kind.mantissa) & ((1 << kind.exponent) - 1)
    fraction = bits & ((1 << kind.mantissa) - 1)
    if field:
        fraction |= 1 << kind.mantissa
    return sign * math.ldexp(fraction, max(field, 1) - kind.bias - kind.mantissa)


def divided(x, y):
    if y or math.isnan(y):
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1, y)


ARITHMETIC = {
    "addf": lambda x, y: x + y,
    "subf": lambda x, y: x - y,
    "mulf": lambda x, y: x * y,
    "divf": divided,
}


@pytest.mark.parametrize("fmt", ("bf16", "f16", "f32"))
@pytest.mark.parametrize("op", ARITHMETIC)
def test_float_arithmetic_rounds_once(op, fmt):
    # f64 holds sums and products of 16-bit floats near each other exactly, and a quotient closely
    # enough; f32 is compared where f64 is exact, by way of cast_bits.
    kind = dtype(fmt)
    one = {"bf16": 0x3F80, "f16": 0x3C00, "f32": 0x3F800000}[fmt]
    raw = [one + step for step in (-3, -2, -1, 0, 1, 2, 3, 5, 77)]
    raw += [0, one + (3 << kind.mantissa) + 1, one - (2 << kind.mantissa) + 3]
    raw += [bits | 1 << (kind.bits - 1) for bits in raw]
    raw += [((1 << kind.exponent) - 1) << kind.mantissa, kind.nan, kind.largest]
    cases = list(itertools.product([signed(bits, kind.bits) for bits in raw], repeat=2))
    a, b = columns(kind.bits, cases)
    made = TensorAlgebra().float_binary(op, a, b, fmt).tolist()
    for (x, y), bits in zip(cases, made, strict=True):
        exact = ARITHMETIC[op](value_of(kind, x), value_of(kind, y))
        if math.isnan(exact):
            assert unsigned(bits, kind.bits) == (1 << (kind.bits - 1)) - 1
            continue
        wide = struct.unpack("<Q", struct.pack("<d", exact))[0]
        assert unsigned(bits, kind.bits) == cast_bits(dtype("f64"), kind, wide), (op, x, y)


def test_minimum_and_maximum_differ_on_nan():
    algebra, nan, one = TensorAlgebra(), 0x7FC0, 0x3F80
    assert algebra.float_binary("maxnumf", nan, one, "bf16") == one
    assert algebra.float_binary("maximumf", nan, one, "bf16") == 0x7FFF
    assert algebra.float_binary("minnumf", one, nan, "bf16") == one
    assert algebra.float_binary("minimumf", one, nan, "bf16") == 0x7FFF


def test_the_sign_bit_alone_changes():
    algebra = TensorAlgebra()
    bits = torch.tensor([0x7F81, -0x7F, 0, signed(0x8000, 16)], dtype=torch.int16)
    assert algebra.float_unary("negf", bits, "bf16").tolist() == [
        signed(unsigned(x, 16) ^ 0x8000, 16) for x in bits.tolist()
    ]
    assert algebra.float_unary("absf", bits, "bf16").tolist() == [x & 0x7FFF for x in bits.tolist()]
    with pytest.raises(TypeError, match="bit-level"):
        algebra.float_unary("sqrt", bits, "bf16")


@pytest.mark.parametrize("fmt", ("f8E4M3FN", "bf16", "f32"))
def test_float_comparisons(fmt):
    kind = dtype(MLIR[fmt])
    top = 1 << (kind.bits - 1)
    raw = [signed(x, kind.bits) for x in (0, top, 1, top | 1, kind.largest, kind.nan, top | 5)]
    cases = list(itertools.product(raw, repeat=2))
    a, b = columns(kind.bits, cases)
    algebra = TensorAlgebra()
    for name, order in PREDICATES.items():
        plain = [order(value_of(kind, x), value_of(kind, y)) for x, y in cases]
        nan = [
            value_of(kind, x) != value_of(kind, x) or value_of(kind, y) != value_of(kind, y)
            for x, y in cases
        ]
        ordered = [p and not n for p, n in zip(plain, nan, strict=True)]
        assert algebra.float_compare("o" + name, a, b, fmt).tolist() == ordered
        assert algebra.float_compare("u" + name, a, b, fmt).tolist() == [
            p or n for p, n in zip(plain, nan, strict=True)
        ]
    assert algebra.float_compare("uno", a, b, fmt).tolist() == nan
    assert algebra.float_compare("ord", a, b, fmt).tolist() == [not n for n in nan]


@pytest.mark.parametrize("fmt", ("f64", "f32", "f16", "bf16"))
@pytest.mark.parametrize("is_signed", (True, False))
@pytest.mark.parametrize("w", WIDTHS)
def test_integers_become_floats_with_one_rounding(w, is_signed, fmt):
    kind = dtype(fmt)
    near = (0x1000001, 0x1000003, 2049, 2051, (1 << 62) + (1 << 38) + 1, (1 << 53) + 1)
    more = ((1 << 54) + 2, (1 << 63) + (1 << 39) + 1, (1 << 62) + (1 << 54))
    values = edges(w) + [signed(x, w) for x in (*near, *more)]
    made = TensorAlgebra().int_to_float(
        torch.tensor(values, dtype=DTYPE[w]), w, fmt, signed=is_signed
    )
    for value, bits in zip(values, made.tolist(), strict=True):
        number = value if is_signed else unsigned(value, w)
        assert unsigned(bits, kind.bits) == rounded(number, kind), number


def rounded(number, kind):
    """Round an integer to a format, to nearest even, in big-int arithmetic."""
    sign, size = (1 << (kind.bits - 1) if number < 0 else 0), abs(number)
    if not size:
        return 0
    exponent = size.bit_length() - 1
    drop = exponent - kind.mantissa
    if drop > 0:
        kept, rest, half = size >> drop, size & ((1 << drop) - 1), 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
    else:
        kept = size << -drop
    code = ((exponent + kind.bias - 1) << kind.mantissa) + kept
    return sign | min(code, kind.largest + 1)


@pytest.mark.parametrize("is_signed", (True, False))
@pytest.mark.parametrize("w", WIDTHS)
def test_floats_become_integers_toward_zero(w, is_signed):
    low, high = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if is_signed else (0, (1 << w) - 1)
    values = [
        0.0,
        -0.0,
        0.9,
        1.5,
        -0.9,
        2.0 ** (w - 2),
        float(high // 2 + 1),
        1e30,
        -1e30,
        math.inf,
        -math.inf,
    ]
    values += [-1.5] if is_signed else []
    bits = torch.tensor(values, dtype=torch.float64).view(torch.int64)
    made = TensorAlgebra().float_to_int(bits, "f64", w, signed=is_signed)
    want = [
        max(low, min(high, int(x) if math.isfinite(x) else (low if x < 0 else high)))
        for x in values
    ]
    assert made.tolist() == [signed(x, w) for x in want]
    assert TensorAlgebra().float_to_int(0x7FC00000, "f32", w, signed=is_signed) == 0


def op_of(name, fmt):
    elem = IntType(32) if fmt == "i32" else FloatType(fmt)
    return Op(name, ("%r",), (Type(elem),), ("%a",), (Type(elem),))


def test_mathematical_functions():
    algebra = TensorAlgebra()

    def run(name, x, fmt="f32"):
        return algebra.uninterpreted(name, (x,), op_of(name, fmt))

    def f32(x):
        return struct.unpack("<i", struct.pack("<f", x))[0]

    assert run("math.round", f32(2.5)) == f32(3.0)
    assert run("math.round", f32(0.49999997)) == f32(0.0)
    assert run("math.round", f32(-2.5)) == f32(-3.0)
    assert run("math.ceil", f32(2.1)) == f32(3.0)
    assert run("math.exp2", f32(3.0)) == f32(8.0)
    assert run("math.absi", -5, "i32") == 5
    with pytest.raises(TypeError, match="no rule"):
        run("math.unheard_of", f32(1.0))
