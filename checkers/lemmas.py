"""What W13 leans on besides the kernel: the contract's own map from slots to bytes is injective."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import z3

from .bitvectors import Term, conj, disj, term
from .coverage import is_empty
from .obligation import Obligation
from .problem import ARITHMETIC, WIDE, Problem, truth


def injective(problem: Problem) -> Iterator[Obligation]:
    """Yield that distinct owned slots have distinct places, and distinct columns distinct bytes."""
    yield _slots(problem)
    contract = problem.instance.contract
    live = [segment for segment in contract.segments if not is_empty(problem, segment)]
    for first, second in combinations_with_replacement(live, 2):
        if first.into != second.into:
            continue
        place, other = z3.BitVecs("place place'", WIDE)
        column, twin = z3.BitVecs("column column'", WIDE)
        here = {**problem.env, "place": place, "col": column}
        there = {**problem.env, "place": other, "col": twin}
        same: Term = True
        if first is second:
            same = disj(place != other, column != twin)
        yield Obligation(
            invariant="W13",
            op=None,
            statement=f"the contract gives {first.name} and {second.name} bytes of their own",
            violation=conj(
                _place(problem, place),
                _place(problem, other),
                problem.inside(first, problem.env, column),
                problem.inside(second, problem.env, twin),
                _offset(problem, first.at, here) == _offset(problem, second.at, there),
                same,
            ),
            given={},
            integers=True,
        )


def _place(problem: Problem, place: Any) -> Any:
    return z3.And(place >= 0, place < term(problem.env["POOL"], WIDE))


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
        conditions += problem.legal(env)
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
