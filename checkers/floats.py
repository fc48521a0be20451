"""IEEE arithmetic on bit patterns in z3, with every NaN that an operation makes left open.

z3 has one NaN; hardware has many, and they differ. An operation whose result is NaN therefore
gives the value of an uninterpreted function of its operands that is only known to be a NaN, so a
proof holds for every payload.
"""

from __future__ import annotations

from typing import Any

import z3

_SORTS = {"f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53)}


def sort(fmt: str) -> Any:
    """Return the z3 sort of a format, or None for one that IEEE 754 does not describe."""
    sizes = _SORTS.get(fmt)
    return None if sizes is None else z3.FPSort(*sizes)


def is_nan(bits: Any, fmt: str) -> Any:
    """Return the condition that a bit pattern is a NaN of an IEEE format."""
    exponent, significand = _SORTS[fmt]
    w = exponent + significand
    infinity = ((1 << exponent) - 1) << (significand - 1)
    return z3.UGT(bits & z3.BitVecVal((1 << (w - 1)) - 1, w), z3.BitVecVal(infinity, w))


def _is_signalling(bits: Any, fmt: str) -> Any:
    quiet = 1 << (_SORTS[fmt][1] - 2)
    return z3.And(is_nan(bits, fmt), bits & z3.BitVecVal(quiet, bits.size()) == 0)


def _bits(name: str, value: Any, operands: tuple[Any, ...], fmt: str) -> Any:
    """Return the bits of a float term; a NaN becomes some quiet NaN of that operation."""
    exponent, significand = _SORTS[fmt]
    w = exponent + significand
    some = z3.Function(
        f"nan of {name} {fmt}", *(item.sort() for item in operands), z3.BitVecSort(w)
    )
    quiet = (((1 << exponent) - 1) << (significand - 1)) | (1 << (significand - 2))
    nan = some(*operands) | z3.BitVecVal(quiet, w)
    return z3.If(z3.fpIsNaN(value), nan, z3.fpToIEEEBV(value))


def binary(op: str, a: Any, b: Any, fmt: str) -> Any:
    """Return the bits of `a op b`, or None for what is kept as an uninterpreted function."""
    kind = sort(fmt)
    if kind is None:
        return None
    x, y = z3.fpBVToFP(a, kind), z3.fpBVToFP(b, kind)
    rne = z3.RNE()
    if op in ("addf", "subf", "mulf"):
        made = {"addf": z3.fpAdd, "subf": z3.fpSub, "mulf": z3.fpMul}[op](rne, x, y)
        return _bits(op, made, (a, b), fmt)
    if op in ("maxnumf", "minnumf", "maximumf", "minimumf"):
        less = z3.fpLT(x, y) if op.startswith("max") else z3.fpLT(y, x)
        # Zeros of both signs compare equal: which one comes out is not specified.
        both_zero = z3.And(z3.fpIsZero(x), z3.fpIsZero(y), a != b)
        open_zero = z3.Function(f"zero of {op} {fmt}", a.sort(), b.sort(), z3.BoolSort())(a, b)
        plain = z3.If(both_zero, z3.If(open_zero, a, b), z3.If(less, b, a))
        nan = _bits(op, z3.fpNaN(kind), (a, b), fmt)
        if op.endswith("numf"):
            only = z3.If(z3.fpIsNaN(x), b, a)
            either = z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y))
            # Hardware lets a number win over any NaN, the compiler's folding only over a quiet one.
            loses = z3.Function(f"signalling {op} {fmt}", a.sort(), b.sort(), z3.BoolSort())(a, b)
            signalling = z3.Or(_is_signalling(a, fmt), _is_signalling(b, fmt))
            both = z3.And(z3.fpIsNaN(x), z3.fpIsNaN(y))
            lost = z3.Or(both, z3.And(signalling, loses))
            return z3.If(lost, nan, z3.If(either, only, plain))
        return z3.If(z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y)), nan, plain)
    return None


def compare(predicate: str, a: Any, b: Any, fmt: str) -> Any:
    """Return the truth of a float comparison. Raises TypeError for a format z3 lacks."""
    kind = sort(fmt)
    if kind is None:
        raise TypeError(f"no comparison of {fmt}")
    x, y = z3.fpBVToFP(a, kind), z3.fpBVToFP(b, kind)
    if predicate in ("true", "false"):
        return z3.BoolVal(predicate == "true")
    unordered = z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y))
    if predicate in ("ord", "uno"):
        return z3.Not(unordered) if predicate == "ord" else unordered
    ordered = {
        "eq": z3.fpEQ,
        "gt": z3.fpGT,
        "ge": z3.fpGEQ,
        "lt": z3.fpLT,
        "le": z3.fpLEQ,
        "ne": lambda p, q: z3.And(z3.Not(unordered), z3.Not(z3.fpEQ(p, q))),
    }[predicate[1:]](x, y)
    return ordered if predicate[0] == "o" else z3.Or(unordered, ordered)


def cast(a: Any, source: str, target: str, rounding: str | None) -> Any:
    """Return the bits of a float conversion, or None for a declared cast function."""
    from_sort, to_sort = sort(source), sort(target)
    if from_sort is None or to_sort is None or rounding not in (None, "rtne"):
        return None
    if (source, target) == ("bf16", "f32"):
        # Exact and cheap: the formats share sign and exponent. A NaN is left open as ever.
        wide = z3.Concat(a, z3.BitVecVal(0, 16))
        return z3.If(is_nan(a, "bf16"), _bits("bf16 to", z3.fpNaN(to_sort), (a,), target), wide)
    value = z3.fpToFP(z3.RNE(), z3.fpBVToFP(a, from_sort), to_sort)
    return _bits(f"{source} to", value, (a,), target)
