"""The z3 algebra without wrap-around: every integer as its sign extension to 64 bits.

Where no operation behind an address wraps (W4), the value at IR width and the one here are the
same number; where W4 is refuted, this algebra is the assumption that nothing wraps. It is much
faster than exact widths: `sext(pid * 576)` and `sext(pid) * 576` become one term. Operations whose
result does not follow from the numbers alone (unsigned division, logical shifts, widening by zeros)
are computed at IR width and sign-extended, so that nothing but wrap-around is idealised.
"""

from __future__ import annotations

import z3

from .bitvectors import BitVectors, Term, is_const, signed, term
from .ttir import IntType, Op

WIDE = 64


class Ideal(BitVectors):
    """Implements `optable.Algebra`; integers are 64-bit terms, floats are bit patterns."""

    index_width = WIDE

    def add(self, a: Term, b: Term, w: int) -> Term:
        return super().add(a, b, WIDE if w > 1 else 1)

    def sub(self, a: Term, b: Term, w: int) -> Term:
        return super().sub(a, b, WIDE if w > 1 else 1)

    def mul(self, a: Term, b: Term, w: int) -> Term:
        return super().mul(a, b, WIDE if w > 1 else 1)

    def divide(self, op: str, a: Term, b: Term, w: int) -> Term:
        if op in ("divsi", "remsi"):
            return super().divide(op, a, b, WIDE if w > 1 else 1)
        return self._exactly(w, super().divide(op, self.narrow(a, w), self.narrow(b, w), w))

    def bitwise(self, op: str, a: Term, b: Term, w: int) -> Term:
        return super().bitwise(op, a, b, WIDE if w > 1 else 1)

    def shift(self, op: str, a: Term, b: Term, w: int) -> Term:
        if op in ("shli", "shrsi"):
            return super().shift(op, a, b, WIDE if w > 1 else 1)
        return self._exactly(w, super().shift(op, self.narrow(a, w), self.narrow(b, w), w))

    def compare(self, predicate: str, a: Term, b: Term, w: int) -> Term:
        # Sign extension keeps the unsigned order too: negative numbers stay above all others.
        return super().compare(predicate, a, b, WIDE if w > 1 else 1)

    def sext(self, a: Term, w: int, to: int) -> Term:
        return super().sext(a, 1, WIDE) if w == 1 else a

    def zext(self, a: Term, w: int, to: int) -> Term:
        if w == 1:
            return super().zext(a, 1, WIDE)
        if is_const(a):
            return super().zext(a, w, to)
        return z3.ZeroExt(WIDE - w, self.narrow(a, w)) if to > w else a

    def trunc(self, a: Term, w: int, to: int) -> Term:
        if to == 1:
            return self.compare("ne", self.bitwise("andi", a, 1, w), 0, w)
        return signed(a, to) if is_const(a) else a

    def mulhi(self, a: Term, b: Term, w: int) -> Term:
        return self._exactly(w, super().mulhi(self.narrow(a, w), self.narrow(b, w), w))

    def int_to_float(self, a: Term, w: int, fmt: str, *, signed: bool) -> Term:
        return super().int_to_float(a if w == 1 else self.narrow(a, w), w, fmt, signed=signed)

    def float_to_int(self, a: Term, fmt: str, w: int, *, signed: bool) -> Term:
        return self._exactly(w, super().float_to_int(a, fmt, w, signed=signed))

    def bits(self, a: Term, w: int) -> Term:
        """Return the bit pattern of an integer of width `w`."""
        return a if w == 1 else self.narrow(a, w)

    def number(self, a: Term, w: int) -> Term:
        """Return the integer of a bit pattern of width `w`; a constant comes in any range."""
        return self._exactly(w, super().number(a, w)) if w > 1 else a

    def uninterpreted(self, name: str, args: tuple[Term, ...], op: Op) -> Term:
        narrowed = tuple(
            self.bits(value, kind.width()) if isinstance(kind.elem, IntType) else value
            for value, kind in zip(args, op.operand_types, strict=True)
        )
        made = super().uninterpreted(name, narrowed, op)
        result = op.result_types[0]
        return self.number(made, result.width()) if isinstance(result.elem, IntType) else made

    def held(self, w: int) -> int:
        """Return the width at which an integer of width `w` is kept."""
        return WIDE if w > 1 else 1

    def narrow(self, a: Term, w: int) -> Term:
        """Return the low bits of a 64-bit term."""
        return a if is_const(a) or w == WIDE else z3.Extract(w - 1, 0, a)

    def _exactly(self, w: int, made: Term) -> Term:
        return made if is_const(made) or w == WIDE else z3.SignExt(WIDE - w, term(made, w))
