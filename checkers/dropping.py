"""Dropping each assumption of a proof in turn, to show the counterexample that it excludes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from ..spec.errors import KvproofError
from ..spec.rules import CONTIGUOUS, DISTINCT
from ..spec.verdict import Dropped, Verdict
from .bitvectors import term
from .coverage import pairs
from .decide import Decision, answers, by_problem
from .domain import Unsupported
from .groups import Grouping, Kernel
from .minimise import decode, minimise
from .problem import WIDE, Problem
from .solving import Solving, number

#: Captures the writer again with a slot table of stride 2.
Recapture = Callable[[], list[Kernel]]


def drops(decision: Decision, solving: Solving, recapture: Recapture | None) -> Iterator[Dropped]:
    """Yield what each droppable assumption of a proved group excludes.

    Args:
        decision: the decision; nothing is dropped of one that is not PROVED.
        solving: asks the solver.
        recapture: when given, W1 is asked again for a slot table that is not contiguous.
    """
    problem = decision.problem
    if decision.verdict is not Verdict.PROVED or problem is None:
        return
    used = {key for _, obligation in decision.items for key in obligation.given}
    for given in problem.instance.contract.given:
        if given.key == CONTIGUOUS.key:
            if decision.group.invariant == "W1" and recapture is not None:
                yield _strided(recapture, solving)
        elif given.droppable and given.key in used:
            if given.key == DISTINCT.key:
                yield _duplicates(decision, solving)
            else:
                yield _drop(decision, given.key, solving)


def _drop(decision: Decision, key: str, solving: Solving) -> Dropped:
    using = [item for item in decision.items if key in item[1].given]
    for problem, obligations in by_problem(using):
        for obligation, answer in answers(decision.group, problem, obligations, solving, key):
            if answer.status == "unknown":
                return Dropped(key, Verdict.UNKNOWN, answer.reason)
            if answer.status == "sat":
                small = minimise(problem, obligation, answer, solving, key, quick=True)
                shown = decode(problem, obligation, small, build=False)
                pool = shown.dims["POOL"]
                text = f"{_slot(shown.slot)} of a pool of {pool} places"
                return Dropped(key, Verdict.REFUTED, f"{text} breaks {obligation.invariant}")
    return Dropped(key, Verdict.PROVED)


def _slot(slot: int | None) -> str:
    """Name a slot; one that only the solver would think of is told by its side."""
    if slot is None or abs(slot) > 1 << 41:
        return f"some slot {'below -' if (slot or 0) < 0 else 'above '}2^41"
    return f"slot {slot}"


def _duplicates(decision: Decision, solving: Solving) -> Dropped:
    """Ask whether two rows with one slot store one byte."""
    key = DISTINCT.key
    seen: set[int] = set()
    for problem, _ in decision.items:
        if id(problem) in seen:
            continue
        seen.add(id(problem))
        try:
            found = _shared_byte(problem, solving)
        except Unsupported as why:
            return Dropped(key, Verdict.UNSUPPORTED, str(why))
        if found is not None:
            return found
    return Dropped(key, Verdict.PROVED)


def _shared_byte(problem: Problem, solving: Solving) -> Dropped | None:
    hits = [hit for hit in problem.hits() if hit.arg in problem.instance.contract.caches()]
    for obligation in pairs(problem, hits):
        # Two rows and a low slot are enough where they show it, and quick.
        few = [
            term(value, WIDE) == wish
            for value, wish in ((problem.env["ROWS"], 2), (obligation.row, 0))
            if value is not None and z3.is_expr(value)
        ]
        if obligation.slot is not None:
            few.append(term(obligation.slot, WIDE) <= 8)
        answer = solving.ask(problem, obligation, DISTINCT.key, few)
        if answer.status != "sat":
            answer = solving.ask(problem, obligation, DISTINCT.key)
        if answer.status == "unknown":
            return Dropped(DISTINCT.key, Verdict.UNKNOWN, answer.reason)
        if answer.status == "sat" and obligation.slot is not None:
            slot = number(answer.model, obligation.slot)
            text = f"two rows at slot {slot} store the same bytes: which one stays is not defined"
            return Dropped(DISTINCT.key, Verdict.REFUTED, text)
    return None


def _strided(recapture: Recapture, solving: Solving) -> Dropped:
    """Ask the frame again for a slot table of stride 2, captured as such."""
    key = CONTIGUOUS.key
    try:
        kernels = recapture()
    except KvproofError as problem:
        return Dropped(key, Verdict.UNKNOWN, str(problem))
    for kernel in kernels:
        kernel.ideal.slot_stride = kernel.exact.slot_stride = 2
    for group in Grouping(kernels, solving).groups():
        for make in group.makes if group.invariant == "W1" else ():
            try:
                for problem, obligation in make():
                    answer = solving.ask(problem, obligation)
                    if answer.status == "sat":
                        text = "with a slot table of stride 2, rows are stored at other rows' slots"
                        return Dropped(key, Verdict.REFUTED, text)
                    if answer.status == "unknown":
                        return Dropped(key, Verdict.UNKNOWN, answer.reason)
            except Unsupported as why:
                return Dropped(key, Verdict.UNSUPPORTED, str(why))
    return Dropped(key, Verdict.PROVED)
