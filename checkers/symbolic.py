"""The z3 domain: one arbitrary program, one arbitrary lane per tensor dimension.

A tensor is a function from lane indices to a term; splats, broadcasts and reshapes relabel the
indices and cost nothing. Memory that the kernel only reads is an uninterpreted function of the
element offset. Addresses are (argument, signed 64-bit element offset).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from .bitvectors import BitVectors, Term, conj, disj, is_const, neg, same, term
from .domain import Body, Path, Unsupported, line_of
from .lanes import Dep, Idx, Lanes, Pointer, reindex
from .optable import OpRow
from .ttir import Elem, IntType, Op, PtrType, Type

#: A loop that carries values is unrolled up to this many iterations.
UNROLL = 256


@dataclass
class Loop:
    """A loop that carries no value: one symbolic iteration.

    Args:
        index: the iteration number, a 64-bit term of its own.
        guard: the condition that the iteration happens.
        iv: the induction variable's term.
        width: its width in bits.
    """

    index: Any
    guard: Any
    iv: Term
    width: int
    lower: Term
    step: Term


@dataclass
class Access:
    """A load or store, for every program and lane at once.

    Args:
        kind: "load" or "store".
        op: the op.
        pointer, mask, value, other: operand tensors; `mask` is None when there is none.
        path: the condition under which the op runs.
        loops: the enclosing symbolic loops, outermost first.
        shape: the lanes.
    """

    kind: str
    op: Op
    pointer: Lanes
    mask: Lanes | None
    path: Path
    shape: tuple[int, ...]
    loops: tuple[Loop, ...]
    value: Lanes | None = None
    other: Lanes | None = None

    def active(self, idx: Idx) -> Term:
        """Return the condition that this lane accesses memory."""
        return conj(self.path, True if self.mask is None else self.mask.at(idx))


@dataclass
class SymbolicDomain:
    """Implements `domain.Domain` on z3 terms.

    Args:
        grid: extent of each grid axis, a 64-bit term or an int.
        written: arguments that some store of the kernel writes; loads from them are opaque.
    """

    grid: Sequence[Term]
    written: frozenset[str] = frozenset()
    algebra: BitVectors = field(default_factory=BitVectors)
    accesses: list[Access] = field(default_factory=lambda: [])
    loops: list[Loop] = field(default_factory=lambda: [])
    checks: list[tuple[Op, Lanes, Path]] = field(default_factory=lambda: [])
    _memories: dict[str, Any] = field(default_factory=lambda: {})
    _stack: list[Loop] = field(default_factory=lambda: [])

    def __post_init__(self) -> None:
        """Make the program ids; an axis of extent 1 is the constant 0."""
        self.programs: list[Term] = [
            0 if is_const(extent) and extent == 1 else z3.BitVec(f"pid{axis}", 32)
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
        return self.scalar(extent if is_const(extent) else z3.Extract(31, 0, extent))

    def make_range(self, op: Op, start: int, end: int) -> Lanes:
        return Lanes((end - start,), lambda idx: self.algebra.add(idx[0], start, 32), op)

    # --- shapes -------------------------------------------------------------------------

    def splat(self, op: Op, value: Lanes) -> Lanes:
        return reindex(op, value, lambda _: ())

    def expand_dims(self, op: Op, value: Lanes, axis: int) -> Lanes:
        return reindex(op, value, lambda idx: (*idx[:axis], *idx[axis + 1 :]))

    def broadcast(self, op: Op, value: Lanes) -> Lanes:
        return reindex(
            op,
            value,
            lambda idx: tuple(
                0 if size == 1 else i for size, i in zip(value.shape, idx, strict=True)
            ),
        )

    def transpose(self, op: Op, value: Lanes, order: tuple[int, ...]) -> Lanes:
        return reindex(op, value, lambda idx: tuple(idx[order.index(d)] for d in range(len(idx))))

    def reshape(self, op: Op, value: Lanes) -> Lanes:
        shape = op.result_types[0].shape
        if op.attrs.get("allow_reorder") and shape != value.shape:
            raise Unsupported(op.name, line_of(op), "the order of elements is left open")
        squeezed = [size for size in shape if size != 1]
        if squeezed == [size for size in value.shape if size != 1]:

            def squeeze(idx: Idx) -> Idx:
                rest = iter(i for i, size in zip(idx, shape, strict=True) if size != 1)
                return tuple(0 if size == 1 else next(rest) for size in value.shape)

            return reindex(op, value, squeeze)

        def relabel(idx: Idx) -> Idx:
            flat: Term = 0
            for size, i in zip(shape, idx, strict=True):
                flat = self.algebra.add(self.algebra.mul(flat, size, 32), i, 32)
            out: list[Term] = []
            for size in reversed(value.shape):
                out.append(self.algebra.divide("remui", flat, size, 32))
                flat = self.algebra.divide("divui", flat, size, 32)
            return tuple(reversed(out))

        return reindex(op, value, relabel)

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
        return self.algebra.select(c, a, b, Type(elem).width())

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

    # --- memory -------------------------------------------------------------------------

    def memory(self, arg: str, width: int) -> Any:
        """Return the uninterpreted contents of an argument: offset -> bits."""
        key = f"{arg}[{width}]"
        if key not in self._memories:
            sort = z3.BitVecSort(width)
            self._memories[key] = z3.Function(key, z3.BitVecSort(64), sort)
        return self._memories[key]

    def load(self, op: Op, operands: tuple[Lanes, ...], path: Path) -> Lanes:
        pointer = operands[0]
        mask = operands[1] if len(operands) > 1 else None
        other = operands[2] if len(operands) > 2 else None
        access = Access(
            "load", op, pointer, mask, path, pointer.shape, tuple(self._stack), None, other
        )
        self.accesses.append(access)
        elem = op.result_types[0].elem
        w = 8 if elem == IntType(1) else Type(elem).width()

        def fn(idx: Idx) -> Term:
            place: Pointer = pointer.at(idx)
            if place.arg in self.written:
                raise Unsupported(op.name, line_of(op), f"a load from {place.arg}, which is stored")
            bits = self.memory(place.arg, w)(term(place.offset, 64))
            if mask is None:
                loaded = bits
            else:
                otherwise = (
                    self._undefined(op, idx, w)
                    if other is None
                    else self.algebra.zext(other.at(idx), 1, 8)
                    if elem == IntType(1)
                    else other.at(idx)
                )
                loaded = self.algebra.select(mask.at(idx), bits, otherwise, w)
            return self.algebra.trunc(loaded, 8, 1) if elem == IntType(1) else loaded

        def deps(idx: Idx) -> list[Dep]:
            live: Term = True if mask is None else mask.at(idx)
            found: list[Dep] = [(pointer, idx, live)]
            if mask is not None:
                found.append((mask, idx, True))
            if other is not None:
                found.append((other, idx, neg(live)))
            return found

        made = Lanes(pointer.shape, fn, op, deps)
        access.value = made
        made.access = access
        return made

    def _undefined(self, op: Op, idx: Idx, w: int) -> Term:
        """Return the value of a masked-off lane: arbitrary, but the same for the same lane."""
        name = f"undefined {op.results[0]}"
        keys = [term(pid, 32) for pid in self.programs]
        keys += [term(i, 32) for i in idx] + [loop.index for loop in self._stack]
        function = z3.Function(name, *(key.sort() for key in keys), z3.BitVecSort(w))
        return function(*keys)

    def store(self, op: Op, operands: tuple[Lanes, ...], path: Path) -> None:
        pointer, value = operands[:2]
        mask = operands[2] if len(operands) > 2 else None
        self.accesses.append(
            Access("store", op, pointer, mask, path, pointer.shape, tuple(self._stack), value)
        )

    def reduce(self, op: Op, operands: tuple[Lanes, ...], axis: int) -> tuple[Lanes, ...]:
        why = Unsupported(op.name, line_of(op), "a reduction over lanes")
        return tuple(self.opaque(op, kind, why) for kind in op.result_types)

    def check(self, op: Op, condition: Lanes, path: Path) -> None:
        self.checks.append((op, condition, path))

    def opaque(self, op: Op, kind: Type, why: Unsupported) -> Lanes:
        def fn(_: Idx) -> Term:
            raise why

        return Lanes(kind.shape, fn, op)

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
        self._stack.append(frame)
        try:
            body(Lanes((), lambda _: iv, op), (), conj(path, guard))
        finally:
            self._stack.pop()
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
            carried = body(self.scalar(iv), carried, path)
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


def _narrow(value: Lanes, idx: Idx) -> Idx:
    """Return the index for an operand: a scalar operand ignores the lanes."""
    return idx if value.shape else ()


def _at(value: Lanes, idx: Idx) -> Term:
    return value.at(_narrow(value, idx))


def arguments(values: Mapping[str, Any]) -> dict[str, Lanes]:
    """Return kernel arguments as scalars of the domain, keyed with their "%"."""
    return {
        name: Lanes((), lambda _, value=value: value, None) for name, value in values.items()
    }


__all__ = ["Access", "Loop", "SymbolicDomain", "arguments", "same"]
