"""Layer one: does any operation behind an address or mask wrap, or do what is undefined?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from .access import Access
from .bitvectors import Term, conj, disj, is_const, term
from .domain import Unsupported, line_of
from .lanes import Idx, Lanes, Pointer, cone
from .ttir import IntType, Op


@dataclass(frozen=True)
class Wrap:
    """One operation at one lane: the condition that it is needed and wraps."""

    op: Op
    condition: Term


def wraps(name: str, a: Term, b: Term, w: int) -> Term:
    """Return the condition that `a op b` leaves the signed range of `w` bits, or is undefined.

    A multiplication by a constant is compared with its quotient, which solvers like better than a
    double-width product.
    """
    if w == 1:
        return False
    low, high = -(1 << (w - 1)), (1 << (w - 1)) - 1
    if is_const(a, b):
        return _wraps_const(name, a, b, low, high)
    if name == "arith.muli":
        for x, y in ((a, b), (b, a)):
            if is_const(x):
                return _times_const(y, x, w)
    x, y = term(a, w), term(b, w)
    if name == "arith.addi":
        return z3.Or(z3.Not(z3.BVAddNoOverflow(x, y, True)), z3.Not(z3.BVAddNoUnderflow(x, y)))
    if name == "arith.subi":
        return z3.Or(z3.Not(z3.BVSubNoOverflow(x, y)), z3.Not(z3.BVSubNoUnderflow(x, y, True)))
    if name == "arith.muli":
        return z3.Or(z3.Not(z3.BVMulNoOverflow(x, y, True)), z3.Not(z3.BVMulNoUnderflow(x, y)))
    if name in ("arith.divsi", "arith.remsi"):
        if is_const(b) and b not in (0, -1):
            return False
        return z3.Or(y == 0, z3.And(x == low, y == -1))
    if name in ("arith.divui", "arith.remui"):
        return False if is_const(b) and b != 0 else y == 0
    if name == "arith.shli":
        return z3.Or(z3.UGE(y, w), ((x << y) >> y) != x)
    if name in ("arith.shrsi", "arith.shrui"):
        return False if is_const(b) and 0 <= b < w else z3.UGE(y, w)
    return False


def _times_const(y: Term, factor: int, w: int) -> Term:
    high = (1 << (w - 1)) - 1
    if factor in (0, 1):
        return False
    if factor < 0:
        # The bounds swap; -1 only overflows on the most negative number.
        most = (1 << (w - 1)) // -factor
        low_end = y < -(high // -factor)
        return low_end if most > high else z3.Or(low_end, y > most)
    return z3.Or(y > high // factor, y < -((1 << (w - 1)) // factor))


def _wraps_const(name: str, a: int, b: int, low: int, high: int) -> bool:
    if name in ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui"):
        return b == 0 or (a == low and b == -1)
    exact = {
        "arith.addi": lambda: a + b,
        "arith.subi": lambda: a - b,
        "arith.muli": lambda: a * b,
        "arith.shli": lambda: a << b if 0 <= b < 64 else high + 1,
    }.get(name)
    return exact is not None and not low <= exact() <= high


def condition_wraps(value: Lanes, path: Term) -> Iterator[Wrap]:
    """Yield every operation behind a value that control flow depends on, where it is reached."""
    for node, here, guard in cone(value, (), guard=path):
        found = _condition(node, here)
        if found is not False and node.op is not None:
            yield Wrap(node.op, conj(guard, found))


def choices(value: Lanes, idx: Idx, active: Term) -> list[tuple[Lanes, Term]]:
    """Return the conditions that choose between elements on the way to a store.

    They decide which element is stored as a mask does. What is computed from elements themselves
    may wrap as it likes.
    """
    found: list[tuple[Lanes, Term]] = []
    for node, here, guard in cone(value, idx, guard=active):
        if node.op is not None and node.op.name == "arith.select" and node.deps is not None:
            condition, at, _ = node.deps(here)[0]
            found.append((_fixed(condition, at), guard))
    return found


def _fixed(value: Lanes, idx: Idx) -> Lanes:
    """Return a value that stands at one lane index, whatever index it is asked at."""
    return Lanes(value.shape, lambda _: value.at(idx), None, lambda _: [(value, idx, True)])


def cone_wraps(access: Access, idx: Idx, lanes: Term) -> Iterator[Wrap]:
    """Yield every operation behind a lane's address and mask, and behind a choice of its value.

    An address is needed when the lane is active, a mask when its path is taken. Which of two values
    is stored is decided where nothing wraps, so what chooses must not wrap either.

    Args:
        access: the load or store.
        idx: its lane terms.
        lanes: the condition that they are lanes.

    Raises Unsupported where an op in the cone has no row.
    """
    roots: list[tuple[Lanes, Term]] = [(access.pointer, conj(lanes, access.active(idx)))]
    if access.mask is not None:
        roots.append((access.mask, conj(lanes, access.path)))
    if access.kind == "store" and access.value is not None:
        roots += choices(access.value, idx, conj(lanes, access.active(idx)))
    seen: set[tuple[Any, ...]] = set()
    places = [(root, idx, needed) for root, needed in roots]
    places += _choices(access, idx, roots[0][1])
    for root, at, needed in places:
        for value, here, guard in cone(root, at, guard=needed):
            found = _condition(value, here)
            if found is False or value.op is None:
                continue
            key = (id(value), found if is_const(found) else found.get_id(), _id(guard))
            if key not in seen:
                seen.add(key)
                yield Wrap(value.op, conj(guard, found))
    for loop in access.loops:
        # The increment after the last iteration must not wrap either.
        w = loop.width
        over = z3.Not(z3.BVAddNoOverflow(term(loop.iv, w), term(loop.step, w), True))
        yield Wrap(loop.op, conj(access.path, over))


def _choices(access: Access, idx: Idx, needed: Term) -> list[tuple[Lanes, Idx, Term]]:
    """Return the conditions that choose what a store stores, each where it is needed."""
    found: list[tuple[Lanes, Idx, Term]] = []
    if access.value is None or access.kind != "store":
        return found
    try:
        for value, here, guard in cone(access.value, idx, guard=needed):
            if value.op is not None and value.op.name == "arith.select" and value.deps is not None:
                condition, at, _ = value.deps(here)[0]
                found.append((condition, at, guard))
    except Unsupported:
        # What is stored is unknown then, and no promise about it is proved.
        return found
    return found


def _id(guard: Term) -> Any:
    return guard if is_const(guard) else guard.get_id()


def _condition(value: Lanes, idx: Idx) -> Term:
    op = value.op
    if op is None or not op.operand_types or value.access is not None or value.deps is None:
        return False
    if op.name in ("arith.fptosi", "arith.fptoui"):
        # What it gives outside the integer's range is undefined, and the range is not asked.
        raise Unsupported(op.name, line_of(op))
    operands = [dep.at(here) for dep, here, _ in value.deps(idx)]
    elem = op.operand_types[0].elem
    if op.name == "tt.addptr":
        base: Pointer = operands[0]
        return wraps("arith.addi", base.offset, _wide(op, operands[1]), 64)
    if not isinstance(elem, IntType):
        return False
    if op.name == "arith.trunci":
        to = op.result_types[0].elem
        if not isinstance(to, IntType) or to.width == 1 or is_const(operands[0]):
            return False
        kept = z3.SignExt(elem.width - to.width, z3.Extract(to.width - 1, 0, operands[0]))
        return kept != operands[0]
    if op.name == "math.absi":
        # The compiler takes the magnitude of the most negative number for undefined.
        least = -(1 << (elem.width - 1))
        return operands[0] == least
    if len(operands) == 2:
        return wraps(op.name, operands[0], operands[1], elem.width)
    return False


def _wide(op: Op, offset: Term) -> Term:
    elem = op.operand_types[1].elem
    if not isinstance(elem, IntType):
        raise Unsupported(op.name, line_of(op))
    if is_const(offset) or elem.width == 64:
        return offset
    return z3.SignExt(64 - elem.width, offset)


def any_wrap(found: list[Wrap]) -> Term:
    """Return the condition that any of the operations wraps."""
    return disj(*(wrap.condition for wrap in found))
