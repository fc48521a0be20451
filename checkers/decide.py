"""Deciding a group of obligations, and what each assumption excludes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import z3

from ..spec.verdict import Verdict
from .bitvectors import term
from .domain import Unsupported
from .groups import Group, Item
from .minimise import Counterexample, decode, minimise
from .obligation import Obligation
from .problem import WIDE, Problem
from .solving import Answer, Solving


@dataclass
class Decision:
    """The outcome of one group.

    Args:
        group: the group.
        verdict: the decision.
        problem, obligation: what a REFUTED or undecided verdict speaks of, or the first obligation.
        shown: the smallest counterexample.
        detail: why, in one line.
        seconds: time spent.
        items: every obligation that was asked.
    """

    group: Group
    verdict: Verdict
    problem: Problem | None = None
    obligation: Obligation | None = None
    answer: Answer | None = None
    shown: Counterexample | None = None
    detail: str = ""
    line: str = ""
    seconds: float = 0.0
    items: list[Item] = field(default_factory=list)


def decide(group: Group, solving: Solving) -> Decision:
    """Ask every obligation of a group. REFUTED wins, then UNKNOWN, UNSUPPORTED, PROVED."""
    begun = time.perf_counter()
    decision = Decision(group, Verdict.PROVED)
    for make in group.makes:
        try:
            decision.items += make()
        except Unsupported as why:
            decision.verdict = Verdict.UNSUPPORTED
            decision.detail, decision.line = str(why), why.line
    for problem, obligations in by_problem(decision.items):
        for obligation, answer in answers(group, problem, obligations, solving):
            if answer.status == "sat":
                _refute(decision, problem, obligation, answer, solving)
                decision.seconds = time.perf_counter() - begun
                return decision
            if answer.status == "unknown" and decision.verdict is not Verdict.UNKNOWN:
                decision.verdict = Verdict.UNKNOWN
                decision.problem, decision.obligation = problem, obligation
                decision.detail = f"the solver gave up: {answer.reason}"
    if decision.obligation is None and decision.items:
        decision.problem, decision.obligation = decision.items[0]
    decision.seconds = time.perf_counter() - begun
    return decision


def answers(
    group: Group,
    problem: Problem,
    obligations: list[Obligation],
    solving: Solving,
    drop: str = "",
) -> Iterator[tuple[Obligation, Answer]]:
    """Yield the answers that matter: W4's many small conditions are one question."""
    if group.invariant == "W4":
        found = solving.any_of(problem, obligations, drop)
        if found is None:
            return
        if found[1].status == "sat":
            yield found
            return
    for obligation in obligations:
        yield obligation, solving.ask(problem, obligation, drop)


def by_problem(items: list[Item]) -> list[tuple[Problem, list[Obligation]]]:
    """Return the obligations of each problem, in order."""
    found: dict[int, tuple[Problem, list[Obligation]]] = {}
    for problem, obligation in items:
        found.setdefault(id(problem), (problem, []))[1].append(obligation)
    return list(found.values())


def _refute(
    decision: Decision, problem: Problem, obligation: Obligation, answer: Answer, solving: Solving
) -> None:
    small = minimise(problem, obligation, answer, solving)
    decision.verdict = Verdict.REFUTED
    decision.problem, decision.obligation, decision.answer = problem, obligation, small
    decision.shown = decode(problem, obligation, small)


def largest_safe(decision: Decision, solving: Solving) -> tuple[int, str] | None:
    """Return the largest slot, or number of rows, up to which nothing wraps, and which of the two.

    None when neither bound alone makes every obligation of the group hold.
    """
    failing = [
        (problem, obligation)
        for problem, obligation in decision.items
        if solving.ask(problem, obligation).status != "unsat"
    ]
    for name in ("slot", "rows"):
        bound = _largest(failing, name, solving)
        if bound is not None:
            return bound, name
    return None


def _largest(items: list[Item], name: str, solving: Solving) -> int | None:
    def safe(limit: int) -> bool:
        for problem, obligation in items:
            bounded = obligation.slot if name == "slot" else problem.env["ROWS"]
            if bounded is None:
                return False
            cap = term(bounded, WIDE) <= z3.BitVecVal(limit, WIDE)
            if solving.ask(problem, obligation, extra=[cap]).status != "unsat":
                return False
        return True

    if not items or not safe(0):
        return None
    low, high = 0, 1 << 40
    while low < high:
        middle = (low + high + 1) // 2
        if safe(middle):
            low = middle
        else:
            high = middle - 1
    return low
