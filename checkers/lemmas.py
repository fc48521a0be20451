"""What W13 leans on besides the kernel: the contract's own map from slots to bytes is injective."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import z3

from ..spec.rules import Segment
from .bitvectors import Term, conj, term
from .coverage import is_empty
from .obligation import Obligation
from .problem import ARITHMETIC, WIDE, Problem, truth

#: Places of the largest pool that a contract is asked of.
MOST_PLACES = 1 << 40


def injective(problem: Problem) -> Iterator[Obligation]:
    """Yield that distinct owned slots have distinct places, and distinct columns distinct bytes."""
    yield _slots(problem)
    contract = problem.instance.contract
    live = [segment for segment in contract.segments if not is_empty(problem, segment)]
    for first, second in combinations_with_replacement(live, 2):
        if first.into != second.into:
            continue
        place, more = z3.BitVecs("place more", WIDE)
        column, twin = z3.BitVecs("column column'", WIDE)
        # A later place is written as a sum, so that products of places cancel.
        orders: list[tuple[Segment, Segment, Any]] = [(first, second, place)]
        orders.append((first, second, place + 1 + more))
        if first is not second:
            orders.append((second, first, place + 1 + more))
        for low, high, other in orders:
            here = {**problem.env, "place": place, "col": column}
            there = {**problem.env, "place": other, "col": twin}
            differ: Term = column != twin if low is high and other is place else True
            yield Obligation(
                invariant="W13",
                op=None,
                statement=f"the contract gives {first.name} and {second.name} bytes of their own",
                violation=conj(
                    _place(place),
                    _place(other),
                    _place(more),
                    problem.inside(low, problem.env, column),
                    problem.inside(high, problem.env, twin),
                    _offset(problem, low.at, here) == _offset(problem, high.at, there),
                    differ,
                ),
                given={},
                integers=True,
            )


def _place(place: Any) -> Any:
    # Any pool will do: the map does not depend on its size.
    return z3.And(place >= 0, place < MOST_PLACES)


def _offset(problem: Problem, at: Any, env: dict[str, Term]) -> Any:
    return term(problem.evaluate(at, env), WIDE)


def _slots(problem: Problem) -> Obligation:
    owner = problem.instance.contract.owner
    sides: list[dict[str, Term]] = []
    conditions: list[Term] = []
    for tag in ("", "'"):
        slot = z3.BitVec(f"slot{tag}", WIDE)
        env: dict[str, Term] = {**problem.env, "slot": slot}
        env["place"] = owner.place.evaluate(env, ARITHMETIC)
        conditions.append(z3.And(slot >= 0, slot < MOST_PLACES))
        conditions.append(True if owner.owned is None else truth(owner.owned, env))
        sides.append(env)
    first, second = sides
    return Obligation(
        invariant="W13",
        op=None,
        statement="distinct slots of one rank have distinct places",
        violation=conj(
            *conditions,
            first["slot"] != second["slot"],
            term(first["place"], WIDE) == term(second["place"], WIDE),
        ),
        given={},
        integers=True,
    )
