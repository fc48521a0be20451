"""Types and constants as IR text spells them."""

from __future__ import annotations

import math
import struct

import pytest
from kvproof.checkers.ttir import FloatType, IntType, OpaqueType, PtrType, Type
from kvproof.checkers.ttir_values import constant_bits, float_bits, parse_type, pointee


@pytest.mark.parametrize(
    ("text", "kind"),
    (
        ("i32", Type(IntType(32))),
        ("tensor<64xi1>", Type(IntType(1), (64,))),
        ("tensor<4x1xf8E5M2>", Type(FloatType("f8E5M2"), (4, 1))),
        ("!tt.ptr<bf16>", Type(PtrType(FloatType("bf16")))),
        ("!tt.ptr<f32, 3>", Type(PtrType(FloatType("f32"), 3))),
        ("tensor<2x!tt.ptr<i8>>", Type(PtrType(IntType(8)), (2,))),
        ("index", Type(OpaqueType("index"))),
        ("tensor<?xi32>", Type(OpaqueType("tensor<?xi32>"))),
        ("tensor<8xi32, #blocked>", Type(OpaqueType("tensor<8xi32, #blocked>"))),
        ("!tt.ptr<tensor<8xf16>>", Type(OpaqueType("!tt.ptr<tensor<8xf16>>"))),
        ("i", None),
        ("f8E4M3FM", None),
    ),
)
def test_parse_type(text, kind):
    assert parse_type(text) == kind


def test_a_load_gives_what_the_pointer_points_to():
    assert pointee(parse_type("tensor<4x!tt.ptr<i8>>")) == Type(IntType(8), (4,))
    assert pointee(parse_type("!tt.ptr<tensor<8xf16>>")) == Type(FloatType("f16"), (8,))
    assert pointee(Type(IntType(32))) == Type(OpaqueType("?"))


def small_float(code, exponent_bits, mantissa_bits, bias):
    """Return the value of a code of a small float format, infinities and NaNs left aside."""
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


@pytest.mark.parametrize(
    ("name", "exponent_bits", "mantissa_bits", "bias", "finite"),
    (
        ("f8E4M3FN", 4, 3, 7, [*range(0x7F), *range(0x80, 0xFF)]),
        ("f8E5M2", 5, 2, 15, [*range(0x7C), *range(0x80, 0xFC)]),
        ("f8E4M3FNUZ", 4, 3, 8, [*range(0x80), *range(0x81, 0x100)]),
        ("f8E5M2FNUZ", 5, 2, 16, [*range(0x80), *range(0x81, 0x100)]),
        ("f4E2M1FN", 2, 1, 1, range(16)),
        ("bf16", 8, 7, 127, [0x0000, 0x8000, 0x0001, 0x007F, 0x0080, 0x3F80, 0x43E0, 0xFF7F]),
    ),
)
def test_a_decimal_literal_gives_the_pattern_of_that_value(
    name, exponent_bits, mantissa_bits, bias, finite
):
    for code in finite:
        value = small_float(code, exponent_bits, mantissa_bits, bias)
        assert float_bits(repr(value), name) == code, (value, code)


@pytest.mark.parametrize("value", (0.0, -0.0, 1.0, -448.0, 1e-45, 3.4028234663852886e38, 0.1))
def test_a_literal_of_f32_and_f64_agrees_with_the_machine(value):
    single = struct.unpack("<I", struct.pack("<f", value))[0]
    assert float_bits(repr(value), "f32") == single
    double = struct.unpack("<Q", struct.pack("<d", value))[0]
    assert float_bits(repr(value), "f64") == double


def test_a_tie_goes_to_the_even_pattern():
    assert float_bits("1.00390625", "bf16") == 0x3F80
    assert float_bits("1.01171875", "bf16") == 0x3F82


@pytest.mark.parametrize(
    ("literal", "name", "bits"),
    (
        ("0xFF80", "bf16", 0xFF80),
        ("0x7F800001", "f32", 0x7F800001),
        ("0x7F", "f8E4M3FN", 0x7F),
        ("448.0", "f8E4M3FN", 0x7E),
        ("57344.0", "f8E5M2", 0x7B),
        ("1.0", "f8E8M0FNU", 127),
        ("5.877470e-39", "f8E8M0FNU", 0),
    ),
)
def test_a_literal_keeps_its_bits(literal, name, bits):
    assert float_bits(literal, name) == bits


@pytest.mark.parametrize(
    ("literal", "name"),
    (
        ("0x1FF80", "bf16"),
        ("480.0", "f8E4M3FN"),
        ("-0.0", "f8E4M3FNUZ"),
        ("-1.0", "f8E8M0FNU"),
        ("0.0", "f8E8M0FNU"),
        ("true", "f32"),
    ),
)
def test_a_literal_that_the_format_cannot_hold_is_refused(literal, name):
    with pytest.raises(ValueError, match=literal.replace(".", r"\.")):
        float_bits(literal, name)


@pytest.mark.parametrize(
    ("literal", "kind", "value"),
    (
        ("-1", "i32", -1),
        ("127", "i8", 127),
        ("255", "i8", -1),
        ("-128", "i8", -128),
        ("true", "i1", 1),
        ("false", "i1", 0),
        ("-1", "i1", 1),
        ("4294967296", "index", 4294967296),
        ("1.5", "f16", 0x3E00),
    ),
)
def test_a_constant_is_a_signed_value_or_a_pattern(literal, kind, value):
    assert constant_bits(literal, parse_type(kind)) == value


@pytest.mark.parametrize(
    ("literal", "kind"),
    (("256", "i8"), ("-129", "i8"), ("2", "i1"), ("true", "i32"), ("0", "!tt.ptr<i8>")),
)
def test_a_constant_that_does_not_fit_is_refused(literal, kind):
    with pytest.raises(ValueError, match="no "):
        constant_bits(literal, parse_type(kind))
