"""From a solver's model to the smallest case a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import z3

from ..spec.case import Case
from ..spec.dtypes import dtype
from ..spec.reference import accepted
from .bitvectors import Term, is_const, term
from .floats import is_nan
from .obligation import Obligation
from .problem import WIDE, Problem
from .solving import Answer, Solving, number

#: More rows than this are not built as a case.
MOST_ROWS = 1 << 12

#: Slots that say something by themselves: reserved, real, the sentinel, and one that is none.
TELLING = (0, 1, 2, -1, -2)


@dataclass(frozen=True)
class Counterexample:
    """A broken promise at a concrete place.

    Args:
        case: the runnable case; None when it would need too many rows.
        row, slot, column: the place; None where the obligation has none.
        dims: every symbol as a number.
    """

    case: Case | None
    row: int | None
    slot: int | None
    column: int | None
    dims: Mapping[str, int]


def minimise(
    problem: Problem,
    obligation: Obligation,
    answer: Answer,
    solving: Solving,
    drop: str = "",
    *,
    quick: bool = False,
) -> Answer:
    """Return the answer of a model that is as small as a few more questions make it.

    Preferences are kept one after another where they are still satisfiable: few rows, the first
    row, a small pool, the first column, a small slot, small dimensions, and for a value an element
    that is no NaN, best of all -0.0.

    Args:
        problem: the kernel.
        obligation: what is broken.
        answer: the solver's model.
        solving: asks the solver.
        drop: key of an assumption that is left out.
        quick: only look for a telling slot and a small pool, for a sentence rather than a run.
    """
    return _Minimiser(problem, obligation, answer, solving, drop).run(quick=quick)


class _Minimiser:
    """Keeps wishes one after another as long as a model remains."""

    def __init__(
        self,
        problem: Problem,
        obligation: Obligation,
        answer: Answer,
        solving: Solving,
        drop: str,
    ) -> None:
        self.problem, self.obligation, self.answer = problem, obligation, answer
        self.solving, self.drop = solving, drop
        self.kept: list[Any] = []

    def run(self, *, quick: bool) -> Answer:
        """Return the answer of the smallest model found."""
        env, wanted = self.problem.env, self.obligation
        if quick:
            if not self._at_once(4):
                self._slot()
                self._among(env["POOL"], (1, 4, 64))
            return self.answer
        if not self._at_once(2):
            self._least(env["ROWS"], 1)
            self._least(wanted.row, 0)
            for name in self.problem.instance.dims:
                self._least(env[name], 0)
            self._among(env["POOL"], (1, 2, 4))
            if not self._slot() and wanted.slot is not None:
                self._least(wanted.slot, 1)
        self._least(env["POOL"], 1)
        if wanted.column is not None:
            self._prefer(term(wanted.column, WIDE) == 0)
        if wanted.payload is not None:
            source, _, _, element = wanted.payload
            fmt = dtype(self.problem.instance.dtypes[source])
            if fmt.kind == "float" and not fmt.finite_only and fmt.bits > 8:
                self._prefer(z3.Not(is_nan(element, fmt.mlir)))
            self._prefer(element == 1 << (fmt.bits - 1))
        return self.answer

    def _prefer(self, wish: Term) -> bool:
        """Keep a wish when a model with it remains."""
        if is_const(wish):
            return bool(wish)
        if not z3.is_true(self.answer.model.eval(wish, model_completion=True)):
            found = self.solving.ask(self.problem, self.obligation, self.drop, [*self.kept, wish])
            if found.status != "sat":
                return False
            self.answer = found
        self.kept.append(wish)
        return True

    def _at_once(self, places: int) -> bool:
        """Prefer what most counterexamples allow, in one question: one row, a telling slot."""
        env, wanted = self.problem.env, self.obligation
        if not self.problem.instance.is_concrete or wanted.slot is None:
            return False
        small = [z3.ULE(term(env["POOL"], WIDE), places)]
        if not is_const(env["ROWS"]):
            small.append(term(env["ROWS"], WIDE) == 1)
        return any(
            self._prefer(z3.And(*small, term(wanted.slot, WIDE) == slot)) for slot in TELLING
        )

    def _slot(self) -> bool:
        """Prefer a slot that says something by itself."""
        slot = self.obligation.slot
        return slot is not None and any(self._prefer(term(slot, WIDE) == wish) for wish in TELLING)

    def _among(self, value: Term, limits: tuple[int, ...]) -> None:
        """Prefer the first of some upper bounds that leaves a model."""
        if not is_const(value):
            any(self._prefer(term(value, WIDE) <= limit) for limit in limits)

    def _least(self, value: Term | None, low: int) -> None:
        """Prefer the smallest value from `low` on: by doubling, then by halving."""
        if value is None or is_const(value):
            return
        wide = term(value, WIDE)
        high, reach = number(self.answer.model, value), 1
        while low < high:
            limit = low + reach - 1
            if self._prefer(z3.And(wide >= low, wide <= min(limit, high))):
                high = number(self.answer.model, value)
                reach = max(1, (high - low + 1) // 2)
            else:
                low, reach = limit + 1, reach * 2
        # A later question must not lose what this model already had.
        self.kept.append(wide == z3.BitVecVal(high, WIDE))


def decode(
    problem: Problem, obligation: Obligation, answer: Answer, *, build: bool = True
) -> Counterexample:
    """Return the counterexample of a model; without `build` only its numbers, no case."""
    model = answer.model

    def value(made: Term | None) -> int | None:
        return None if made is None else number(model, made)

    row, slot, column = (value(x) for x in (obligation.row, obligation.slot, obligation.column))
    dims = {name: number(model, problem.env[name]) for name in problem.instance.dims}
    rows = number(model, problem.env["ROWS"])
    pool = number(model, problem.env["POOL"])
    past = row is not None and not 0 <= row < rows
    # Reading past the table shows as such in any call; what is read there, no case can say.
    told = not past or (rows > 0 and obligation.invariant in ("W7", "W8"))
    if not build or rows > MOST_ROWS or not told:
        return Counterexample(None, row, slot, column, {**dims, "ROWS": rows, "POOL": pool})
    slots = [number(model, problem.slot(index)) for index in range(rows)]
    case = Case(dims=dims, pool=pool, slots=tuple(slots))
    named = (row, value(obligation.twin))
    spoken = {index for index in named if index is not None and 0 <= index < rows}
    case = case if row is None else _fill(problem, case, spoken)
    payload: dict[tuple[str, int, int], int] = {}
    if obligation.payload is not None and column is not None and row is not None:
        source, _, _, element = obligation.payload
        bits = int(model.eval(element, model_completion=True).as_long())
        if not past:
            payload[source, row, column] = bits
    case = Case(dims=case.dims, pool=case.pool, slots=case.slots, payload=payload)
    if column is not None and not _is_column(problem, column, dims):
        column = None  # the store lies outside every segment of the row's own place
    return Counterexample(case, row, slot, column, {**dims, "ROWS": rows, "POOL": pool})


def _is_column(problem: Problem, column: int, dims: Mapping[str, int]) -> bool:
    widths = [s.width.evaluate(dims) for s in problem.instance.contract.segments]
    return 0 <= column < sum(widths)


def _fill(problem: Problem, case: Case, spoken: set[int]) -> Case:
    """Give the rows that the counterexample does not speak of slots that no rule forbids."""
    instance = problem.instance
    slots = list(case.slots)
    taken = {slots[row] for row in spoken}
    pool = case.pool
    candidate = 0
    for index in range(len(slots)):
        if index in spoken:
            continue
        while True:
            trial = Case(dims=case.dims, pool=max(pool, candidate + 1), slots=(candidate,))
            if candidate not in taken and accepted(instance, trial, 0):
                break
            candidate += 1
            if candidate > 4 * len(slots) + 64:
                return case
        slots[index] = candidate
        pool = max(pool, candidate + 1)
        taken.add(candidate)
    return Case(dims=case.dims, pool=pool, slots=tuple(slots))
