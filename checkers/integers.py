"""Terms without wrap-around as unbounded integers.

Two-copy questions (can two lanes store one byte?) over products take bit-vectors minutes and
integers milliseconds. The translation is exact where no 64-bit operation wraps, which W4 and the
contract's bounds see to; a number that is not a 64-bit one only adds models, so an unsatisfiable
translation proves the bit-vector question unsatisfiable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3


class Untranslatable(Exception):
    """A term that has no plain meaning over the integers."""


class Integers:
    """Translates 64-bit terms to integer terms; each symbol and function keeps its name.

    Args:
        bits: integers are bit-vectors of that width, for solvers without integers; 256 hold a
            product of three 64-bit numbers. Unbounded integers when 0.
    """

    def __init__(self, *, bits: int = 0) -> None:
        self._bits = bits
        self._sort = z3.BitVecSort(bits) if bits else z3.IntSort()
        self._memo: dict[int, tuple[Any, Any]] = {}
        self._ranges: list[Any] = []

    def query(self, terms: list[Any]) -> list[Any]:
        """Return the translation of a conjunction, with the ranges of its symbols.

        Raises Untranslatable for an operation on bits.
        """
        made = [self.term(item) for item in terms]
        if not self._bits:
            made = [z3.simplify(item, som=True) for item in made]
        return [*self._ranges, *made]

    def term(self, item: Any) -> Any:
        """Return the translation of one term. Raises Untranslatable."""
        known = self._memo.get(item.get_id())
        if known is not None:
            return known[1]
        made = self._make(item)
        self._memo[item.get_id()] = (item, made)
        return made

    def _make(self, item: Any) -> Any:
        kind = item.decl().kind()
        if z3.is_bv_value(item):
            return self._number(item.as_signed_long())
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._symbol(item)
        args = [self.term(child) for child in item.children()]
        rule = _RULES.get(kind)
        if rule is None:
            raise Untranslatable(str(item.decl()))
        return rule(*args)

    def _symbol(self, item: Any) -> Any:
        args = [self.term(child) for child in item.children()]
        if z3.is_bool(item):
            if args:
                raise Untranslatable(str(item.decl()))
            return item
        bits = item.size()
        name = f"{item.decl().name()} as integer"
        if args:
            sorts = [self._sort for _ in args]
            made = z3.Function(name, *sorts, self._sort)(*args)
        else:
            made = z3.Const(name, self._sort)
        least, limit = (self._number(n) for n in (-(1 << (bits - 1)), 1 << (bits - 1)))
        self._ranges.append(z3.And(made >= least, made < limit))
        return made

    def _number(self, value: int) -> Any:
        return z3.BitVecVal(value, self._bits) if self._bits else z3.IntVal(value)


def _unsigned_less(a: Any, b: Any, *, strict: bool) -> Any:
    """Compare as unsigned numbers: a negative number is above every other."""
    less = a < b if strict else a <= b
    return z3.If(a >= 0, z3.Or(b < 0, less), z3.And(b < 0, less))


def _quotient(a: Any, b: Any) -> Any:
    """Divide toward zero; z3's own division is Euclidean."""
    magnitude = z3.If(a >= 0, a, -a) / z3.If(b >= 0, b, -b)
    return z3.If((a >= 0) == (b >= 0), magnitude, -magnitude)


def _same(a: Any) -> Any:
    return a


_RULES: dict[int, Callable[..., Any]] = {
    z3.Z3_OP_TRUE: lambda: z3.BoolVal(True),
    z3.Z3_OP_FALSE: lambda: z3.BoolVal(False),
    z3.Z3_OP_AND: z3.And,
    z3.Z3_OP_OR: z3.Or,
    z3.Z3_OP_NOT: z3.Not,
    z3.Z3_OP_IMPLIES: z3.Implies,
    z3.Z3_OP_XOR: z3.Xor,
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: z3.Distinct,
    z3.Z3_OP_ITE: z3.If,
    z3.Z3_OP_BADD: z3.Sum,
    z3.Z3_OP_BSUB: lambda a, b: a - b,
    z3.Z3_OP_BMUL: z3.Product,
    z3.Z3_OP_BNEG: lambda a: -a,
    z3.Z3_OP_BSDIV: _quotient,
    z3.Z3_OP_BSDIV_I: _quotient,
    z3.Z3_OP_BSREM: lambda a, b: a - b * _quotient(a, b),
    z3.Z3_OP_BSREM_I: lambda a, b: a - b * _quotient(a, b),
    z3.Z3_OP_SLT: lambda a, b: a < b,
    z3.Z3_OP_SLEQ: lambda a, b: a <= b,
    z3.Z3_OP_SGT: lambda a, b: a > b,
    z3.Z3_OP_SGEQ: lambda a, b: a >= b,
    z3.Z3_OP_ULT: lambda a, b: _unsigned_less(a, b, strict=True),
    z3.Z3_OP_ULEQ: lambda a, b: _unsigned_less(a, b, strict=False),
    z3.Z3_OP_UGT: lambda a, b: _unsigned_less(b, a, strict=True),
    z3.Z3_OP_UGEQ: lambda a, b: _unsigned_less(b, a, strict=False),
    z3.Z3_OP_SIGN_EXT: _same,
}
