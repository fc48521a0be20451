"""The z3 domain: one arbitrary program, one arbitrary lane per tensor dimension.

A tensor is a function from lane indices to a term; splats, broadcasts and reshapes relabel the
indices and cost nothing. Memory that the kernel only reads is an uninterpreted function of the
element offset. Addresses are (argument, signed 64-bit element offset).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from .access import Access, Loop
from .bitvectors import BitVectors, Term, conj, disj, is_const, neg
from .domain import Path, Unsupported, line_of
from .lanes import Dep, Idx, Lanes, Pointer
from .optable import OpRow
from .symbolic_loops import Loops
from .symbolic_memory import Memory
from .symbolic_shapes import Shapes
from .ttir import Elem, IntType, Op, PtrType, Type


@dataclass
class SymbolicDomain(Shapes, Memory, Loops):
    """Implements `domain.Domain` on z3 terms.

    Args:
        grid: extent of each grid axis, a 64-bit term or an int.
        written: arguments that some store of the kernel writes; loads from them are opaque.
    """

    grid: Sequence[Term]
    written: frozenset[str] = frozenset()
    algebra: BitVectors = field(default_factory=BitVectors)
    accesses: list[Access] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    checks: list[tuple[Op, Lanes, Path]] = field(default_factory=list)
    memories: dict[str, Any] = field(default_factory=dict)
    stack: list[Loop] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the program ids; an axis of extent 1 is the constant 0."""
        self.programs: list[Term] = [
            0
            if is_const(extent) and extent == 1
            else z3.BitVec(f"pid{axis}", self.algebra.index_width)
            for axis, extent in enumerate(self.grid)
        ]

    # --- leaves -------------------------------------------------------------------------

    def scalar(self, value: Term, op: Op | None = None) -> Lanes:
        """Return a scalar value."""
        return Lanes((), lambda _: value, op)

    def constant(self, op: Op, value: int) -> Lanes:
        made: Term = bool(value) if op.result_types[0].elem == IntType(1) else value
        return Lanes(op.result_types[0].shape, lambda _: made, op)

    def program_id(self, axis: int) -> Lanes:
        return self.scalar(self.programs[axis])

    def num_programs(self, axis: int) -> Lanes:
        extent = self.grid[axis]
        if is_const(extent) or self.algebra.index_width == extent.size():
            return self.scalar(extent)
        return self.scalar(z3.Extract(self.algebra.index_width - 1, 0, extent))

    def make_range(self, op: Op, start: int, end: int) -> Lanes:
        return Lanes((end - start,), lambda idx: self.algebra.add(idx[0], start, 32), op)

    # --- arithmetic ---------------------------------------------------------------------

    def pointwise(self, row: OpRow, op: Op, operands: tuple[Lanes, ...]) -> Lanes:
        if op.name == "arith.select":
            return self._select(row, op, operands)

        def fn(idx: Idx) -> Term:
            return row.apply(self.algebra, op, tuple(_at(value, idx) for value in operands))

        return Lanes(
            op.result_types[0].shape,
            fn,
            op,
            lambda idx: [(value, _narrow(value, idx), True) for value in operands],
        )

    def _select(self, row: OpRow, op: Op, operands: tuple[Lanes, ...]) -> Lanes:
        condition, a, b = operands

        def fn(idx: Idx) -> Term:
            c = _at(condition, idx)
            if is_const(c):
                return _at(a if c else b, idx)
            return self._choose(op, op.result_types[0].elem, c, _at(a, idx), _at(b, idx))

        def deps(idx: Idx) -> list[Dep]:
            c = _at(condition, idx)
            return [
                (condition, _narrow(condition, idx), True),
                (a, _narrow(a, idx), c),
                (b, _narrow(b, idx), neg(c)),
            ]

        return Lanes(op.result_types[0].shape, fn, op, deps)

    def _choose(self, op: Op, elem: Elem, c: Term, a: Any, b: Any) -> Any:
        if isinstance(elem, PtrType):
            if a.arg != b.arg or a.elem != b.elem:
                raise Unsupported(op.name, line_of(op), "a choice between two buffers")
            return Pointer(a.arg, self.algebra.select(c, a.offset, b.offset, 64), a.elem)
        w = Type(elem).width()
        return self.algebra.select(
            c, a, b, self.algebra.held(w) if isinstance(elem, IntType) else w
        )

    def addptr(self, op: Op, pointer: Lanes, offset: Lanes) -> Lanes:
        elem = op.operand_types[1].elem
        w = elem.width if isinstance(elem, IntType) else 0

        def fn(idx: Idx) -> Pointer:
            base: Pointer = pointer.at(_narrow(pointer, idx))
            step = _at(offset, idx)
            wide = step if w == 64 else self.algebra.sext(step, w, 64)
            return Pointer(base.arg, self.algebra.add(base.offset, wide, 64), base.elem)

        return Lanes(
            op.result_types[0].shape,
            fn,
            op,
            lambda idx: [(value, _narrow(value, idx), True) for value in (pointer, offset)],
        )

    def pointer_cast(self, op: Op, pointer: Lanes) -> Lanes:
        result = op.result_types[0].elem
        assert isinstance(result, PtrType)
        new = result.pointee

        def fn(idx: Idx) -> Pointer:
            base: Pointer = pointer.at(idx)
            if Type(base.elem).element_bytes() != Type(new).element_bytes():
                raise Unsupported(op.name, line_of(op), "a pointer to another element size")
            return Pointer(base.arg, base.offset, new)

        return Lanes(pointer.shape, fn, op, lambda idx: [(pointer, idx, True)])

    # --- control ------------------------------------------------------------------------

    def truth(self, value: Lanes) -> Path:
        return value.at(())

    def both(self, a: Path, b: Path) -> Path:
        return conj(a, b)

    def either(self, a: Path, b: Path) -> Path:
        return disj(a, b)

    def negate(self, a: Path) -> Path:
        return neg(a)

    def never(self, a: Path) -> bool:
        return a is False

    def merge(self, kind: Type, condition: Path, a: Lanes, b: Lanes) -> Lanes:
        if is_const(condition):
            return a if condition else b

        def fn(idx: Idx) -> Term:
            op = a.op or b.op
            assert op is not None
            return self._choose(op, kind.elem, condition, a.at(idx), b.at(idx))

        return Lanes(
            kind.shape, fn, a.op, lambda idx: [(a, idx, condition), (b, idx, neg(condition))]
        )


def _narrow(value: Lanes, idx: Idx) -> Idx:
    """Return the index for an operand: a scalar operand ignores the lanes."""
    return idx if value.shape else ()


def _at(value: Lanes, idx: Idx) -> Term:
    return value.at(_narrow(value, idx))


def arguments(values: Mapping[str, Any]) -> dict[str, Lanes]:
    """Return kernel arguments as scalars of the domain, keyed with their "%"."""
    return {name: Lanes((), lambda _, value=value: value, None) for name, value in values.items()}
