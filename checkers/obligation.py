"""An obligation: what must have no model, and what a model of it would mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import z3

from ..spec.rules import IN_POOL, NON_NEGATIVE, Reserved
from .bitvectors import Term, conj, disj, is_const, term
from .problem import Problem, truth
from .ttir import Op


@dataclass(frozen=True, kw_only=True)
class Obligation:
    """The negation of a promise, as a term that must be unsatisfiable.

    Args:
        invariant: id.
        statement: what is asked, in words; empty when the invariant's sentence says it.
        op: the statement of the kernel it speaks of.
        violation: the promise is broken; bounds and assumptions are not in it.
        given: the caller's promises that it uses, key -> term.
        assuming: further assumptions and approximations, in words -> term (True for none).
        row, slot, column: where a model puts the counterexample, as terms.
        twin: a second row whose slot the counterexample needs.
        integers: products are compared: the solver is asked over integers first.
        payload: (source argument, row term, column term, bits term) that shows a value fault.
    """

    invariant: str
    op: Op | None
    violation: Term
    given: Mapping[str, Term]
    statement: str = ""
    assuming: Mapping[str, Term] = field(default_factory=dict)
    row: Term | None = None
    twin: Term | None = None
    slot: Term | None = None
    column: Term | None = None
    payload: tuple[str, Term, Term, Term] | None = None
    integers: bool = False


def slot_givens(problem: Problem, rows: list[Term], *, beyond: bool = False) -> dict[str, Term]:
    """Return what the caller promises of the slots of these rows, as far as they are rows.

    A skip rule for slots outside the pool says what happens to them, so the promise that there are
    none is not made of a slot that such a rule drops.

    With `beyond`, what is read past the table is taken for a legal slot too: W7 reports that it is
    read, and what follows from its contents is not to be reported again. Only legal slots count
    then, dropped or not: W4 speaks of no others.
    """
    contract = problem.instance.contract
    dropping = [] if beyond else [r for r in contract.skip if not isinstance(r, Reserved)]
    lower: list[Any] = []
    upper: list[Any] = []
    for row in rows:
        at = term(row, 64)
        is_row = True if beyond else conj(at >= 0, at < term(problem.env["ROWS"], 64))
        env = problem.row_env(row)
        least, most = problem.legal(env)
        dropped = [truth(rule.condition, env) for rule in dropping]
        lower.append(implies(is_row, disj(least, *dropped)))
        upper.append(implies(is_row, disj(most, *dropped)))
    made = {NON_NEGATIVE.key: conj(*lower), IN_POOL.key: conj(*upper)}
    promised = {given.key for given in contract.given}
    return {key: holds for key, holds in made.items() if beyond or key in promised}


def implies(a: Term, b: Term) -> Term:
    """Return an implication, folded."""
    if is_const(a):
        return b if a else True
    return z3.Implies(a, term(b, 1))
