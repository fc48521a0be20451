"""Loops of the z3 domain: one symbolic iteration, or unrolling where values are carried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from .access import Loop
from .bitvectors import Term, conj, is_const, term
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
        wide = 2 * w
        index = z3.BitVec(f"k{len(self.loops)}", 64)
        low, high, by = (z3.SignExt(w, term(bound, w)) for bound in (lower, upper, step))
        count = index if wide == 64 else z3.ZeroExt(wide - 64, index)
        reached = low + count * by
        guard = z3.And(
            z3.ULE(index, z3.BitVecVal((1 << w) - 1, 64)), by > 0, reached < high
        )
        iv = z3.Extract(w - 1, 0, reached)
        frame = Loop(index, guard, iv, w, lower, step)
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
