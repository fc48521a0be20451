"""Asking the solver: one obligation, with or without an assumption, under a time limit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from .answered import Answer, Answered
from .bitvectors import Term, is_const, term
from .certify import Certifier
from .integers import Integers, Untranslatable
from .obligation import Obligation
from .problem import Problem


@dataclass
class Solving:
    """Asks z3; keeps count of queries and time.

    Args:
        timeout: seconds per query. A query that runs out is "unknown", never a success.
        certifier: asks a second solver about every "unsat", which its contradiction makes
            "unknown".
        answered: answers of this question or an equal one, from this object or another.
    """

    timeout: float = 10.0
    certifier: Certifier | None = None
    answered: Answered = field(default_factory=Answered)
    queries: int = 0
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    _known: dict[tuple[int, str], tuple[Obligation, Answer]] = field(default_factory=dict)

    def parts(self, obligation: Obligation, drop: str = "") -> list[Any]:
        """Return the obligation's own terms: assumptions but the dropped one, and the violation."""
        asked = [made for key, made in obligation.given.items() if key != drop]
        asked += list(obligation.assuming.values())
        asked.append(obligation.violation)
        return [term(made, 1) for made in asked if made is not True]

    def ask(
        self, problem: Problem, obligation: Obligation, drop: str = "", extra: Iterable[Term] = ()
    ) -> Answer:
        """Ask whether the violation is possible."""
        if obligation.violation is False:
            return Answer("unsat")
        more = tuple(extra)
        known = None if more else self._known.get((id(obligation), drop))
        if known is not None:
            return known[1]
        # A statement on the contract alone does not speak of programs, rows or the pool.
        lemma = obligation.integers and obligation.op is None and problem.instance.is_concrete
        known_bounds = () if lemma else problem.bounds
        bounds = [term(made, 1) for made in (*known_bounds, *more) if made is not True]
        asked = [*bounds, *self.parts(obligation, drop)]
        answer = self._over_integers(asked) if obligation.integers and not drop else None
        answer = self._certified(asked, answer, integers=True) if answer else self.solve(asked)
        if not more:
            self._known[id(obligation), drop] = (obligation, answer)
        return answer

    def _over_integers(self, terms: list[Any]) -> Answer | None:
        """Return "unsat" when the question has no solution even over the integers, else None."""
        begun = time.perf_counter()
        known = self.answered.find(terms, integers=True)
        if known is not None:
            return known
        try:
            asked = Integers().query(terms)
        except Untranslatable:
            return None
        solver = z3.Solver()
        solver.set("timeout", int(self.timeout * 1000))
        solver.add(*asked)
        found = solver.check()
        seconds = time.perf_counter() - begun
        self.times.append(seconds)
        if found != z3.unsat:
            return None
        answer = Answer("unsat", None, seconds)
        self.answered.keep(terms, answer, integers=True)
        return answer

    def any_of(
        self, problem: Problem, obligations: Sequence[Obligation], drop: str = ""
    ) -> tuple[Obligation, Answer] | None:
        """Ask in a single question whether any obligation of one problem can be violated.

        Returns None when none can; else the one that the model violates with that answer, or the
        first one with an "unknown". Meant for many small conditions over the same terms.
        """
        open_ones = [
            obligation
            for obligation in obligations
            if obligation.violation is not False and self._status(obligation, drop) != "unsat"
        ]
        if not open_ones:
            return None
        options = [z3.And(*self.parts(obligation, drop)) for obligation in open_ones]
        bounds = [term(made, 1) for made in problem.bounds if made is not True]
        answer = self.solve([*bounds, z3.Or(*options)])
        if answer.status == "unsat":
            return None
        if answer.status == "sat":
            for obligation, option in zip(open_ones, options, strict=True):
                if z3.is_true(answer.model.eval(option, model_completion=True)):
                    return obligation, answer
        return open_ones[0], Answer("unknown", None, answer.seconds, answer.reason)

    def _status(self, obligation: Obligation, drop: str) -> str:
        known = self._known.get((id(obligation), drop))
        return "" if known is None else known[1].status

    def solve(self, terms: Iterable[Any]) -> Answer:
        """Ask whether a conjunction is satisfiable."""
        asked = list(terms)
        known = self.answered.find(asked)
        if known is not None:
            return self._certified(asked, known) if known.status == "unsat" else known
        solver = z3.SolverFor("QF_UFBV")
        solver.set("timeout", int(self.timeout * 1000))
        begun = time.perf_counter()
        solver.add(*asked)
        found = solver.check()
        seconds = time.perf_counter() - begun
        self.queries += 1
        self.seconds += seconds
        self.times.append(seconds)
        if found == z3.unknown:
            return Answer("unknown", None, seconds, solver.reason_unknown())
        answer = Answer("unsat", None, seconds)
        if found == z3.sat:
            answer = Answer("sat", solver.model(), seconds)
        self.answered.keep(asked, answer)
        return self._certified(asked, answer) if found == z3.unsat else answer

    def _certified(self, asked: list[Any], answer: Answer, *, integers: bool = False) -> Answer:
        """Return an "unsat", or "unknown" where the second solver contradicts it."""
        if self.certifier is None:
            return answer
        problem = self.certifier.unsat(asked, integers=integers)
        return answer if problem is None else Answer("unknown", None, answer.seconds, problem)

    def holds(self, problem: Problem, obligation: Obligation) -> bool:
        """Tell whether an obligation is proved."""
        return self.ask(problem, obligation).status == "unsat"


def number(model: Any, value: Term) -> int:
    """Return a term's signed value in a model."""
    if is_const(value):
        return int(value)
    return int(model.eval(value, model_completion=True).as_signed_long())
