"""Loops of the z3 domain: one symbolic iteration, or unrolling where values are carried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from .access import Loop
from .bitvectors import BitVectors, Term, conj, is_const, term
from .domain import Body, Path, Unsupported, line_of
from .lanes import Lanes
from .ttir import IntType, Op

#: A loop that carries values is unrolled up to this many iterations.
UNROLL = 256


class Loops:
    """Loops.

    Attributes:
        loops: every symbolic loop that was met.
        stack: the symbolic loops around the current op, outermost first.
    """

    algebra: BitVectors
    loops: list[Loop]
    stack: list[Loop]

    def loop(
        self,
        op: Op,
        bounds: tuple[Lanes, Lanes, Lanes],
        init: tuple[Lanes, ...],
        path: Path,
        body: Body,
    ) -> tuple[Lanes, ...]:
        elem = op.operand_types[0].elem
        if not isinstance(elem, IntType) or op.attrs.get("unsigned"):
            raise Unsupported(op.name, line_of(op), "bounds that are no signed integers")
        lower, upper, step = (bound.at(()) for bound in bounds)
        if init:
            return self._unroll(op, (lower, upper, step), init, path, body)
        w = elem.width
        # Counted at twice the width, so that the count itself cannot wrap.
        held, wide = self.algebra.held(w), 2 * w
        index = z3.BitVec(f"k{len(self.loops)}", 64)
        low, high, by = (_widen(term(bound, held), wide) for bound in (lower, upper, step))
        reached = low + _widen(index, wide) * by
        guard = z3.And(index >= 0, z3.ULT(index, 1 << min(w, 63)), by > 0, reached < high)
        iv = reached if held == wide else z3.Extract(held - 1, 0, reached)
        frame = Loop(index, guard, op, iv, w, lower, step)
        self.loops.append(frame)
        self.stack.append(frame)
        try:
            body(Lanes((), lambda _: iv, op), (), conj(path, guard))
        finally:
            self.stack.pop()
        return ()

    def _unroll(
        self,
        op: Op,
        bounds: tuple[Term, Term, Term],
        init: tuple[Lanes, ...],
        path: Path,
        body: Body,
    ) -> tuple[Lanes, ...]:
        lower, upper, step = bounds
        if not is_const(lower, upper, step) or step <= 0:
            raise Unsupported(op.name, line_of(op), "carried values and an unknown trip count")
        if len(range(lower, upper, step)) > UNROLL:
            raise Unsupported(op.name, line_of(op), f"more than {UNROLL} carried iterations")
        carried = init
        for iv in range(lower, upper, step):
            carried = body(Lanes((), lambda _, iv=iv: iv, op), carried, path)
        return carried

    def repeat(
        self,
        op: Op,
        init: tuple[Lanes, ...],
        path: Path,
        before: Callable[..., Any],
        after: Callable[..., Any],
    ) -> tuple[Lanes, ...]:
        carried = init
        for _ in range(UNROLL):
            condition, values = before(carried, path)
            taken = condition.at(())
            if not is_const(taken):
                raise Unsupported(op.name, line_of(op), "a trip count that is not known")
            if not taken:
                return values
            carried = after(values, path)
        raise Unsupported(op.name, line_of(op), f"more than {UNROLL} iterations")


def _widen(value: Any, w: int) -> Any:
    return value if value.size() == w else z3.SignExt(w - value.size(), value)
