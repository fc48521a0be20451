"""Types and constants of IR text: what a type token means, and the exact bits of a literal."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from .ttir import FLOAT_WIDTHS, FloatType, IntType, OpaqueType, PtrType, Type

_INT = re.compile(r"[su]?i(\d+)")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.*)>")
_POINTER = re.compile(r"!tt\.ptr<(.*?)(?:,\s*(\d+))?>")

#: Exponent bits, mantissa bits, bias, and how the format spends its top codes: "ieee" (infinities
#: and NaNs), "nan" (all ones is NaN, no infinity), "finite" (every code up to all ones is a
#: number; where there is a NaN, it is the negative zero).
_FORMATS: dict[str, tuple[int, int, int, str]] = {
    "f64": (11, 52, 1023, "ieee"),
    "f32": (8, 23, 127, "ieee"),
    "tf32": (8, 10, 127, "ieee"),
    "f16": (5, 10, 15, "ieee"),
    "bf16": (8, 7, 127, "ieee"),
    "f8E4M3": (4, 3, 7, "ieee"),
    "f8E3M4": (3, 4, 3, "ieee"),
    "f8E5M2": (5, 2, 15, "ieee"),
    "f8E4M3FN": (4, 3, 7, "nan"),
    "f8E4M3FNUZ": (4, 3, 8, "finite"),
    "f8E4M3B11FNUZ": (4, 3, 11, "finite"),
    "f8E5M2FNUZ": (5, 2, 16, "finite"),
    "f6E2M3FN": (2, 3, 1, "finite"),
    "f6E3M2FN": (3, 2, 3, "finite"),
    "f4E2M1FN": (2, 1, 1, "finite"),
}

#: The element of a value whose type the text of an unknown op does not give.
UNKNOWN = Type(OpaqueType("?"))


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type | None:
    """Return the type that a token spells, or None when it spells none.

    A type that the checkers have no use for becomes an OpaqueType that keeps its text.
    """
    if match := _INT.fullmatch(text):
        return Type(IntType(int(match[1])))
    if text in FLOAT_WIDTHS:
        return Type(FloatType(text))
    if match := _TENSOR.fullmatch(text):
        shape = tuple(int(size) for size in match[1].split("x")[:-1])
        inner = parse_type(match[2])
        if inner is None or inner.shape or not shape or isinstance(inner.elem, OpaqueType):
            return Type(OpaqueType(text))
        return Type(inner.elem, shape)
    if match := _POINTER.fullmatch(text):
        inner = parse_type(match[1])
        if inner is None or inner.shape or isinstance(inner.elem, OpaqueType):
            return Type(OpaqueType(text))
        return Type(PtrType(inner.elem, int(match[2] or 1)))
    if text in ("index", "none") or text.endswith(">") or text.startswith("!"):
        return Type(OpaqueType(text))
    return None


def pointee(pointer: Type) -> Type:
    """Return the type that a load through a pointer (or a tensor of them) gives.

    `UNKNOWN` for a type that is no pointer.
    """
    if isinstance(pointer.elem, PtrType):
        return Type(pointer.elem.pointee, pointer.shape)
    if isinstance(pointer.elem, OpaqueType) and (match := _POINTER.fullmatch(pointer.elem.text)):
        return parse_type(match[1]) or UNKNOWN
    return UNKNOWN


def float_bits(literal: str, name: str) -> int:
    """Return the bit pattern of a literal in the float format of that MLIR name.

    A hex literal is the pattern itself; a decimal one is rounded to nearest, ties to even.
    Raises ValueError for a literal that is no number or that the format cannot hold.
    """
    width = FLOAT_WIDTHS[name]
    if literal.lower().startswith("0x"):
        bits = int(literal, 16)
        if bits >> width:
            raise ValueError(f"{literal} has more than the {width} bits of {name}")
        return bits
    negative = literal.startswith("-")
    magnitude = Fraction(literal.lstrip("-"))
    if name == "f8E8M0FNU":
        return _power_of_two(literal, magnitude)
    exponent_bits, mantissa_bits, bias, top = _FORMATS[name]
    code = _round(magnitude, mantissa_bits, bias)
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    largest = (1 << (exponent_bits + mantissa_bits)) - 1
    limit = {"ieee": infinity, "nan": largest - 1, "finite": largest}[top]
    if code > limit or (negative and code == 0 and name.endswith("FNUZ")):
        raise ValueError(f"{literal} is no value of {name}")
    return code | (negative << (exponent_bits + mantissa_bits))


def _power_of_two(literal: str, magnitude: Fraction) -> int:
    """Return the code of the nearest value of f8E8M0FNU, which has an exponent and no more."""
    if literal.startswith("-") or magnitude == 0:
        raise ValueError(f"{literal} is no value of f8E8M0FNU")
    exponent = _exponent(magnitude)
    exponent += magnitude * 2 >= 3 * Fraction(2) ** exponent
    if not -127 <= exponent <= 127:
        raise ValueError(f"{literal} is no value of f8E8M0FNU")
    return exponent + 127


def _exponent(magnitude: Fraction) -> int:
    """Return the largest exponent whose power of two is no larger than the magnitude."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exponent - (magnitude < Fraction(2) ** exponent)


def _round(magnitude: Fraction, mantissa_bits: int, bias: int) -> int:
    """Return exponent and mantissa bits of the nearest value, ties to even, without a limit."""
    if magnitude == 0:
        return 0
    exponent = max(_exponent(magnitude), 1 - bias)
    # Counted in units of the last mantissa bit; a subnormal has no leading one to take off, and a
    # mantissa that rounds up to the next power of two carries into the exponent by itself.
    units = round(magnitude / Fraction(2) ** (exponent - mantissa_bits))
    return units + ((exponent + bias - 1) << mantissa_bits)


def constant_bits(literal: str, of: Type) -> int:
    """Return the value of a literal as `Op.attrs` states it for a constant.

    The signed value for an integer type (1 and 0 for a bool), the bit pattern for a float type.
    Raises ValueError for a literal that does not fit the type.
    """
    if isinstance(of.elem, FloatType):
        return float_bits(literal, of.elem.name)
    if isinstance(of.elem, OpaqueType) and of.elem.text == "index":
        return int(literal, 0)
    if not isinstance(of.elem, IntType):
        raise ValueError(f"{of} has no constants")  # noqa: TRY004 - a fault of the text
    width = of.elem.width
    if literal in ("true", "false"):
        if width != 1:
            raise ValueError(f"{literal} is no value of {of.elem}")
        return int(literal == "true")
    value = int(literal, 0)
    if width == 1:
        if value not in (-1, 0, 1):
            raise ValueError(f"{literal} is no value of i1")
        return value & 1
    if not -(1 << (width - 1)) <= value < (1 << width):
        raise ValueError(f"{literal} is no value of {of.elem}")
    return value - (1 << width) if value >> (width - 1) > 0 else value
