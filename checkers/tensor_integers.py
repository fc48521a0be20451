"""Integer arithmetic of the torch domain: two's complement at IR width, truth values for i1.

A value is a Python int (in the signed range) or bool where it is the same for every program and
lane, else a tensor of the signed dtype of its width (torch.bool for 1). What the IR leaves
undefined has the value that SMT-LIB gives it, as in the z3 domain, and is reported.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

Value = Any

DTYPE = {
    1: torch.bool,
    8: torch.int8,
    16: torch.int16,
    32: torch.int32,
    64: torch.int64,
}

#: Called with the name of what is undefined and, where it is not everywhere, where.
Report = Callable[[str, Any], None]


def signed(value: int, w: int) -> int:
    """Return `value` modulo 2^w in the signed range."""
    value &= (1 << w) - 1
    return value - (1 << w) if value >> (w - 1) else value


def is_plain(*values: Value) -> bool:
    """Tell whether all values are Python ints."""
    return all(isinstance(value, int) for value in values)


def dtype_of(w: int) -> torch.dtype:
    """Return the dtype of an integer width. Raises TypeError for a width without one."""
    if w not in DTYPE:
        raise TypeError(f"no integers of {w} bits")
    return DTYPE[w]


def zext(a: Value, w: int, to: int) -> Value:
    """Widen by zeros."""
    if isinstance(a, int):
        return int(a) & ((1 << w) - 1)
    wide = a.to(dtype_of(to))
    return wide if w in (1, to) else wide & ((1 << w) - 1)


def sext(a: Value, w: int, to: int) -> Value:
    """Widen by sign; a true i1 is -1."""
    if isinstance(a, int):
        return -int(a) if w == 1 else a
    return -a.to(dtype_of(to)) if w == 1 else a.to(dtype_of(to))


def trunc(a: Value, to: int) -> Value:
    """Keep the low bits."""
    if isinstance(a, int):
        return bool(a & 1) if to == 1 else signed(a, to)
    return (a & 1) != 0 if to == 1 else a.to(dtype_of(to))


def _flip(a: Value, w: int) -> Value:
    """Turn the order of unsigned numbers into that of signed ones."""
    return signed(a ^ (1 << (w - 1)), w) if isinstance(a, int) else a ^ -(1 << (w - 1))


_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def compare(predicate: str, a: Value, b: Value, w: int) -> Value:
    """Return the truth of a comparison."""
    if w == 1:
        if predicate.startswith("s"):
            a, b = b, a
        if is_plain(a, b):
            a, b = int(bool(a)), int(bool(b))
        else:
            a, b = (x if isinstance(x, torch.Tensor) else torch.tensor(bool(x)) for x in (a, b))
        return _ORDER[predicate.removeprefix("s").removeprefix("u")](a, b)
    if predicate in ("eq", "ne"):
        return _ORDER[predicate](a, b)
    if predicate[0] == "u":
        a, b = _flip(a, w), _flip(b, w)
    return _ORDER[predicate[1:]](a, b)


def select(c: Value, a: Value, b: Value, w: int) -> Value:
    """Return `a` where `c`, else `b`."""
    if isinstance(c, int):
        return a if c else b
    if is_plain(a, b):
        if a == b:
            return a
        a = torch.tensor(a, dtype=dtype_of(w))
    return torch.where(c, a, b)


def divide(op: str, a: Value, b: Value, w: int, report: Report) -> Value:
    """Divide toward zero, or return that division's remainder.

    Division by zero is reported; its quotient is all ones (1 for a negative signed dividend) and
    its remainder the dividend. The least number by -1 is reported as well and wraps.
    """
    if w == 1:
        raise TypeError(f"{op} of truth values")
    if is_plain(a, b):
        return _divide_plain(op, a, b, w, report)
    if op.endswith("si"):
        return _divide_signed(op, a, b, w, report)
    return _divide_unsigned(op, a, b, w, report)


def _divide_plain(op: str, a: int, b: int, w: int, report: Report) -> int:
    if op.endswith("ui"):
        a, b = a & ((1 << w) - 1), b & ((1 << w) - 1)
    if b == 0:
        report(f"{op} by zero", None)
        quotient = 1 if op.endswith("si") and a < 0 else -1
        return signed(quotient if op.startswith("div") else a, w)
    if b == -1 and a == -(1 << (w - 1)):
        report(f"{op} of the least number by -1", None)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return signed(quotient if op.startswith("div") else a - quotient * b, w)


def _divide_signed(op: str, a: Value, b: Value, w: int, report: Report) -> Value:
    division = op.startswith("div")
    kind = dtype_of(w)
    a = a if isinstance(a, torch.Tensor) else torch.tensor(a, dtype=kind)
    if isinstance(b, int) and b not in (0, -1):
        return torch.div(a, b, rounding_mode="trunc") if division else torch.fmod(a, b)
    b = b if isinstance(b, torch.Tensor) else torch.tensor(b, dtype=kind)
    zero, minus = b == 0, b == -1
    if bool(zero.any()):
        report(f"{op} by zero", zero)
    wraps = minus & (a == -(1 << (w - 1)))
    if bool(wraps.any()):
        report(f"{op} of the least number by -1", wraps)
    # The processor traps on both, so neither is executed.
    safe = torch.where(zero | minus, 1, b)
    if division:
        made = torch.div(a, safe, rounding_mode="trunc")
        made = torch.where(minus, -a, made)
        return torch.where(zero, torch.where(a < 0, 1, -1).to(kind), made)
    made = torch.where(minus, 0, torch.fmod(a, safe))
    return torch.where(zero, a, made)


def _divide_unsigned(op: str, a: Value, b: Value, w: int, report: Report) -> Value:
    division = op.startswith("div")
    if isinstance(b, torch.Tensor) or b == 0:
        zero = b == 0 if isinstance(b, torch.Tensor) else torch.ones((), dtype=torch.bool)
        if bool(zero.any()):
            report(f"{op} by zero", zero)
            safe = torch.where(zero, 1, b)
            made = _divide_unsigned(op, a, safe, w, report)
            return torch.where(zero, -1 if division else a, made).to(dtype_of(w))
    if w < 64:
        x, y = zext(a, w, 64), zext(b, w, 64)
        x = x if isinstance(x, torch.Tensor) else torch.tensor(x)
        made = torch.div(x, y, rounding_mode="trunc") if division else torch.fmod(x, y)
        return made.to(dtype_of(w))
    x, y = (v if isinstance(v, torch.Tensor) else torch.tensor(v) for v in (a, b))
    # A divisor of 2^63 or more goes into any number once or not at all.
    huge = y < 0
    least = torch.where(huge, 1, y)
    half = torch.div((x >> 1) & ((1 << 63) - 1), least, rounding_mode="trunc") << 1
    rest = x - half * least
    more = compare("uge", rest, least, 64)
    quotient = torch.where(huge, compare("uge", x, y, 64).to(torch.int64), half + more)
    return quotient if division else x - quotient * y


def shift(op: str, a: Value, b: Value, w: int, report: Report) -> Value:
    """Shift; an amount of `w` or more is reported and shifts everything out."""
    if w == 1:
        raise TypeError(f"{op} of truth values")
    if isinstance(b, int):
        beyond = not 0 <= b < w
        if beyond:
            report(f"{op} by {b}, of {w} bits", None)
        return _shift(op, a, b, w, beyond=beyond)
    a = a if isinstance(a, torch.Tensor) else torch.tensor(a, dtype=dtype_of(w))
    out = (b < 0) | (b >= w)
    if not bool(out.any()):
        return _shift(op, a, b, w)
    report(f"{op} by {w} or more", out)
    inside = _shift(op, a, torch.where(out, 0, b), w)
    return torch.where(out, _shift(op, a, 0, w, beyond=True), inside)


def _shift(op: str, a: Value, b: Value, w: int, *, beyond: bool = False) -> Value:
    if beyond:
        return a >> (w - 1) if op == "shrsi" else a * 0
    if op == "shrsi":
        return a >> b
    if op == "shli":
        return signed(a << b, w) if isinstance(a, int) else a << b
    if isinstance(a, int):
        return signed((a & ((1 << w) - 1)) >> b, w)
    if w < 64:
        amount = b if isinstance(b, int) else b.to(torch.int64)
        return (zext(a, w, 64) >> amount).to(dtype_of(w))
    if isinstance(b, int):
        return a >> b & ~signed((-(1 << 63) >> b) << 1, 64)
    return a >> b & ~((torch.full_like(b, -(1 << 63)) >> b) << 1)


def mulhi(a: Value, b: Value, w: int) -> Value:
    """Return the high half of the unsigned product."""
    if is_plain(a, b):
        mask = (1 << w) - 1
        return signed(((a & mask) * (b & mask)) >> w, w)
    if w < 32:
        return (zext(a, w, 64) * zext(b, w, 64) >> w).to(dtype_of(w))
    if w == 32:
        return _shift("shrui", zext(a, 32, 64) * zext(b, 32, 64), 32, 64).to(torch.int32)
    low = (1 << 32) - 1
    a0, b0 = a & low, b & low
    a1, b1 = (_shift("shrui", x, 32, 64) for x in (a, b))
    middle = a1 * b0 + _shift("shrui", a0 * b0, 32, 64)
    other = a0 * b1 + (middle & low)
    high = _shift("shrui", middle, 32, 64) + _shift("shrui", other, 32, 64)
    return a1 * b1 + high
