"""The z3 algebra at IR width: two's complement bit-vectors, truth values for i1.

Python ints and bools stand for constants and are folded, so that a grid of one block or a
constexpr branch costs the solver nothing. Signed constants are kept in their signed range.
"""

from __future__ import annotations

from typing import Any

import z3

from . import floats
from .ttir import FLOAT_WIDTHS, Op

Term = Any


def signed(value: int, w: int) -> int:
    """Return `value` modulo 2^w in the signed range."""
    value &= (1 << w) - 1
    return value - (1 << w) if value >> (w - 1) else value


def term(value: Term, w: int) -> Any:
    """Return a z3 term for a constant or a term."""
    if isinstance(value, bool):
        return z3.BoolVal(value)
    if isinstance(value, int):
        return z3.BoolVal(bool(value)) if w == 1 else z3.BitVecVal(value, w)
    return value


def is_const(*values: Term) -> bool:
    """Tell whether all values are Python constants."""
    return all(isinstance(value, int) for value in values)


_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "ult": z3.ULT,
    "ule": z3.ULE,
    "ugt": z3.UGT,
    "uge": z3.UGE,
}


def conj(*terms: Term) -> Term:
    """Return the conjunction, folded."""
    rest = [item for item in terms if item is not True]
    if any(item is False for item in rest):
        return False
    if not rest:
        return True
    return rest[0] if len(rest) == 1 else z3.And(*rest)


def disj(*terms: Term) -> Term:
    """Return the disjunction, folded."""
    rest = [item for item in terms if item is not False]
    if any(item is True for item in rest):
        return True
    if not rest:
        return False
    return rest[0] if len(rest) == 1 else z3.Or(*rest)


def neg(a: Term) -> Term:
    """Return the negation, folded."""
    return (not a) if isinstance(a, bool) else z3.Not(a)


def same(a: Term, b: Term) -> bool:
    """Tell whether two terms are written alike."""
    if is_const(a, b):
        return bool(a == b)
    return not is_const(a) and not is_const(b) and bool(a.eq(b))


class BitVectors:
    """Implements `optable.Algebra` on z3 terms."""

    #: Width of program ids and lane indices.
    index_width = 32

    def bits(self, a: Term, w: int) -> Term:
        """Return the bit pattern of an integer of width `w`."""
        return a

    def number(self, a: Term, w: int) -> Term:
        """Return the integer of a bit pattern of width `w`; a constant comes in any range."""
        return signed(a, w) if is_const(a) and w > 1 else a

    def held(self, w: int) -> int:
        """Return the width at which an integer of width `w` is kept."""
        return w

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}

    def add(self, a: Term, b: Term, w: int) -> Term:
        if w == 1:
            return self.bitwise("xori", a, b, 1)
        if is_const(a, b):
            return signed(a + b, w)
        return b if is_const(a) and a == 0 else a if is_const(b) and b == 0 else a + b

    def sub(self, a: Term, b: Term, w: int) -> Term:
        if w == 1:
            return self.bitwise("xori", a, b, 1)
        if is_const(a, b):
            return signed(a - b, w)
        return a if is_const(b) and b == 0 else a - b

    def mul(self, a: Term, b: Term, w: int) -> Term:
        if w == 1:
            return self.bitwise("andi", a, b, 1)
        if is_const(a, b):
            return signed(a * b, w)
        for x, y in ((a, b), (b, a)):
            if is_const(x) and x in (0, 1):
                return 0 if x == 0 else y
        return a * b

    def divide(self, op: str, a: Term, b: Term, w: int) -> Term:
        if is_const(b) and b == 1 and op in ("divsi", "divui", "remsi", "remui"):
            return a if op.startswith("div") else 0
        x, y = term(a, w), term(b, w)
        if w == 1:
            raise TypeError(f"{op} of truth values")
        made = {
            "divsi": lambda: x / y,
            "divui": lambda: z3.UDiv(x, y),
            "remsi": lambda: z3.SRem(x, y),
            "remui": lambda: z3.URem(x, y),
        }[op]()
        return self._fold(made, w) if is_const(a, b) else made

    def _fold(self, made: Any, w: int) -> Term:
        folded: Any = z3.simplify(made)
        return signed(folded.as_long(), w) if z3.is_bv_value(folded) else made

    def bitwise(self, op: str, a: Term, b: Term, w: int) -> Term:
        if w == 1:
            a, b = (bool(x) if is_const(x) else x for x in (a, b))
            if op == "andi":
                return conj(a, b)
            if op == "ori":
                return disj(a, b)
            if is_const(a, b):
                return a != b
            return neg(b) if a is True else neg(a) if b is True else z3.Xor(term(a, 1), term(b, 1))
        if is_const(a, b):
            return signed({"andi": a & b, "ori": a | b, "xori": a ^ b}[op], w)
        return {"andi": lambda: a & b, "ori": lambda: a | b, "xori": lambda: a ^ b}[op]()

    def shift(self, op: str, a: Term, b: Term, w: int) -> Term:
        if w == 1:
            raise TypeError(f"{op} of truth values")
        x, y = term(a, w), term(b, w)
        made = {
            "shli": lambda: x << y,
            "shrsi": lambda: x >> y,
            "shrui": lambda: z3.LShR(x, y),
        }[op]()
        return self._fold(made, w) if is_const(a, b) else made

    def compare(self, predicate: str, a: Term, b: Term, w: int) -> Term:
        if w == 1:
            if predicate not in ("eq", "ne"):
                a, b, w = self.zext(a, 1, 8), self.zext(b, 1, 8), 8
                if predicate.startswith("s"):
                    # A true i1 is -1 as a signed number.
                    a, b = self.sub(0, a, 8), self.sub(0, b, 8)
            else:
                differ = self.bitwise("xori", a, b, 1)
                return neg(differ) if predicate == "eq" else differ
        if is_const(a, b):
            if predicate.startswith("u"):
                mask = (1 << w) - 1
                return bool(_COMPARE["s" + predicate[1:]](a & mask, b & mask))
            return bool(_COMPARE[predicate](a, b))
        return _COMPARE[predicate](term(a, w), term(b, w))

    def select(self, c: Term, a: Term, b: Term, w: int) -> Term:
        if is_const(c):
            return a if c else b
        if same(a, b):
            return a
        return z3.If(c, term(a, w), term(b, w))

    def sext(self, a: Term, w: int, to: int) -> Term:
        if w == 1:
            return self.sub(0, self.zext(a, 1, to), to)
        return a if is_const(a) else z3.SignExt(to - w, a)

    def zext(self, a: Term, w: int, to: int) -> Term:
        if w == 1:
            if is_const(a):
                return int(bool(a))
            return z3.If(a, z3.BitVecVal(1, to), z3.BitVecVal(0, to))
        if is_const(a):
            return a & ((1 << w) - 1)
        return z3.ZeroExt(to - w, a)

    def trunc(self, a: Term, w: int, to: int) -> Term:
        if to == 1:
            return self.compare("ne", self.bitwise("andi", a, 1, w), 0, w)
        return signed(a, to) if is_const(a) else z3.Extract(to - 1, 0, a)

    def mulhi(self, a: Term, b: Term, w: int) -> Term:
        x, y = z3.ZeroExt(w, term(a, w)), z3.ZeroExt(w, term(b, w))
        return z3.Extract(2 * w - 1, w, x * y)

    def float_binary(self, op: str, a: Term, b: Term, fmt: str) -> Term:
        w = FLOAT_WIDTHS[fmt]
        made = floats.binary(op, term(a, w), term(b, w), fmt)
        return self._named(op, fmt, (a, b), (w, w), w) if made is None else made

    def float_unary(self, op: str, a: Term, fmt: str) -> Term:
        w = FLOAT_WIDTHS[fmt]
        top = 1 << (w - 1)
        if op == "negf":
            return self.bitwise("xori", a, signed(top, w), w)
        if op == "absf":
            return self.bitwise("andi", a, top - 1, w)
        raise TypeError(f"{op} has no bit-level meaning")

    def float_compare(self, predicate: str, a: Term, b: Term, fmt: str) -> Term:
        w = FLOAT_WIDTHS[fmt]
        return floats.compare(predicate, term(a, w), term(b, w), fmt)

    def float_cast(self, a: Term, source: str, target: str, rounding: str | None) -> Term:
        if source == target:
            return a
        made = floats.cast(term(a, FLOAT_WIDTHS[source]), source, target, rounding)
        if made is not None:
            return made
        name = cast_name(source, target, rounding)
        return self._named(name, "", (a,), (FLOAT_WIDTHS[source],), FLOAT_WIDTHS[target])

    def int_to_float(self, a: Term, w: int, fmt: str, *, signed: bool) -> Term:
        if w == 1:
            # A true i1 is -1 as a signed number.
            a, w = _byte(a, -1 if signed else 1), 8
        name = f"{'si' if signed else 'ui'}{w}_to_{fmt}"
        return self._named(name, "", (a,), (w,), FLOAT_WIDTHS[fmt])

    def float_to_int(self, a: Term, fmt: str, w: int, *, signed: bool) -> Term:
        name = f"{fmt}_to_{'si' if signed else 'ui'}{w}"
        return self._named(name, "", (a,), (FLOAT_WIDTHS[fmt],), w)

    def uninterpreted(self, name: str, args: tuple[Term, ...], op: Op) -> Term:
        widths = tuple(kind.width() for kind in op.operand_types)
        return self._named(
            name, str(op.result_types[0].elem), args, widths, op.result_types[0].width()
        )

    def _named(
        self, name: str, fmt: str, args: tuple[Term, ...], widths: tuple[int, ...], to: int
    ) -> Term:
        """Return an application of the uninterpreted function of that name and type."""
        key = f"{name}:{fmt}:{widths}:{to}"
        function = self._functions.get(key)
        if function is None:
            sorts = [z3.BitVecSort(8 if w == 1 else w) for w in widths]
            function = z3.Function(key, *sorts, z3.BitVecSort(to))
            self._functions[key] = function
        return function(
            *(_byte(x, 1) if w == 1 else term(x, w) for x, w in zip(args, widths, strict=True))
        )


def _byte(a: Term, true: int) -> Any:
    """Return a truth value as a byte."""
    return z3.If(term(a, 1), z3.BitVecVal(true, 8), z3.BitVecVal(0, 8))


def cast_name(source: str, target: str, rounding: str | None) -> str:
    """Return the name of the declared cast function between two MLIR float formats."""
    return f"cast {source} to {target} {rounding or 'rtne'}"
