"""Two kernels that do the same: store by store, one condition, one address, the same bits.

Both are walked over the same symbols: program ids, lanes, loop iterations, slots, contents of
memory. What a masked-off load without a default yields is the same for both where their loads stand
at the same place. Loads are not compared: that they stay inside their arguments is W7's and W8's.
"""

from __future__ import annotations

from typing import Any

from .access import Access
from .bitvectors import Term, conj, disj, neg, term
from .domain import Unsupported
from .lanes import Lanes, Pointer
from .obligation import slot_givens
from .problem import WIDE, Problem
from .solving import Solving
from .ttir import Type


def equivalent(original: Problem, other: Problem, solving: Solving) -> bool:
    """Tell whether two kernels are proved to store the same under a contract's preconditions.

    Args:
        original: one kernel, walked at IR width.
        other: the other one, under the same instance and launch.
        solving: asks the solver.

    False says that it is not proved, not that they differ.
    """
    first, second = (
        [access for access in problem.domain.accesses if access.kind == "store"]
        for problem in (original, other)
    )
    if other.trace.effects or len(first) != len(second):
        return False
    try:
        questions = [_differ(original, a, b) for a, b in zip(first, second, strict=True)]
    except Unsupported:
        return False
    bounds = [*original.bounds, *other.bounds]
    for violation, rows in questions:
        if violation is False:
            continue
        asked = [*bounds, *slot_givens(original, rows).values(), violation]
        terms = [term(made, 1) for made in asked if made is not True]
        if solving.solve(terms).status != "unsat":
            return False
    return True


def _differ(problem: Problem, a: Access, b: Access) -> tuple[Term, list[Term]]:
    """Return the condition that two stores differ at a lane, and the rows whose slots it uses."""
    if a.shape != b.shape or len(a.loops) != len(b.loops):
        raise Unsupported(a.op.name, "?", "stores of other shapes")
    idx = problem.lane_terms(a)
    here, there = a.active(idx), b.active(idx)
    left: Pointer = a.pointer.at(idx)
    right: Pointer = b.pointer.at(idx)
    rows = [row for access in (a, b) for row in problem.slot_loads(access.pointer, idx)]
    for access in (a, b):
        if access.mask is not None:
            rows += problem.slot_loads(access.mask, idx)
    lanes = problem.lane_bounds(a, idx)
    if left.arg != right.arg or left.elem != right.elem:
        return conj(*lanes, disj(here, there)), rows
    places = term(left.offset, WIDE) != term(right.offset, WIDE)
    changed = disj(places, _bits(a, idx) != _bits(b, idx))
    unlike = disj(conj(here, neg(there)), conj(there, neg(here)))
    return conj(*lanes, disj(unlike, conj(here, there, changed))), rows


def _bits(access: Access, idx: tuple[Term, ...]) -> Any:
    value = access.value
    assert isinstance(value, Lanes)
    return term(value.at(idx), Type(access.op.operand_types[1].elem).width())
