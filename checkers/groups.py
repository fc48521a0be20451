"""Which obligations a kernel has, grouped by the invariant and statement that they decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from ..spec.rules import Segment
from .bitvectors import conj
from .coverage import completeness, is_empty, order, pairs, row_count, source_loads
from .domain import Unsupported, line_of
from .lemmas import injective
from .obligation import Obligation, slot_givens
from .problem import Hit, Problem
from .promises import of_store, segments_of
from .solving import Solving
from .witness import Witness
from .wrap import any_wrap, condition_wraps, cone_wraps

Item = tuple[Problem, Obligation]
Make = Callable[[], Iterator[Item]]


@dataclass
class Group:
    """Obligations that decide one result.

    Args:
        invariant: id.
        statement: set for a statement with a result of its own (a claim on reserved slots).
        makes: functions that yield obligations; each may raise Unsupported.
        hint: a failure is only a hint until a run confirms it: it means that no witness was found.
    """

    invariant: str
    statement: str = ""
    makes: list[Make] = field(default_factory=list)
    hint: bool = False


@dataclass
class Kernel:
    """One launched kernel, walked twice.

    Args:
        exact: at IR width.
        ideal: with numbers that do not wrap; equal to `exact` where W4 holds.
    """

    exact: Problem
    ideal: Problem


#: Promises that are decided at IR width; all others where nothing wraps.
_EXACT = frozenset({"W6", "W10", "W12"})


def width_obligations(problem: Problem) -> Iterator[Item]:
    """W4: one obligation per access and per condition of the control flow."""
    for access in problem.domain.accesses:
        idx = problem.lane_terms(access)
        lanes = conj(*problem.lane_bounds(access, idx))
        rows = problem.slot_loads(access.pointer, idx)
        if access.mask is not None:
            rows += problem.slot_loads(access.mask, idx)
        for wrap in cone_wraps(access, idx, lanes):
            yield (
                problem,
                Obligation(
                    invariant="W4",
                    op=wrap.op,
                    statement=f"behind the {access.kind} at {line_of(access.op)}",
                    violation=wrap.condition,
                    given=slot_givens(problem, rows, beyond=True),
                    row=rows[0] if rows else None,
                    slot=problem.slot(rows[0]) if rows else None,
                ),
            )
    for op, value, path in problem.trace.conditions:
        rows = problem.slot_loads(value, ())
        yield (
            problem,
            Obligation(
                invariant="W4",
                op=op,
                statement="behind a branch or loop bound",
                violation=any_wrap(list(condition_wraps(value, path))),
                given=slot_givens(problem, rows, beyond=True),
                row=rows[0] if rows else None,
                slot=problem.slot(rows[0]) if rows else None,
            ),
        )


class Grouping:
    """Builds the groups of a writer's kernels.

    Args:
        kernels: the launches of one call, in order.
        solving: used to look for witnesses.
    """

    def __init__(self, kernels: list[Kernel], solving: Solving) -> None:
        self.kernels = kernels
        self.solving = solving
        self.witnesses: dict[str, tuple[Hit, Witness]] = {}
        self._hits: dict[int, list[Hit]] = {}
        self._groups: dict[tuple[str, str], Group] = {}

    def groups(self) -> list[Group]:
        """Return every group; W4 comes first, W13 after W2, whose witnesses it needs."""
        for kernel in self.kernels:
            self._add("W4", "", lambda p=kernel.exact: width_obligations(p))
            for name in ("exact", "ideal"):
                problem: Problem = getattr(kernel, name)
                self._stores(problem, exact=name == "exact")
        contract = self.kernels[0].ideal.instance.contract
        for segment in contract.segments:
            self._add("W2", "", lambda s=segment: self._complete(s)).hint = True
        for kernel in self.kernels:
            ideal = kernel.ideal
            holds = self._holds(ideal)
            made = self._add("W7", "", lambda p=ideal, h=holds: ((p, o) for o in row_count(p, h)))
            made.hint = True
            self._add("W8", "", lambda p=ideal: ((p, o) for o in source_loads(p)))
            self._add("W13", "", lambda p=ideal: self._order(p))
        return list(self._groups.values())

    def hits(self, problem: Problem) -> list[Hit]:
        """Return the stores of a kernel, made once. Raises Unsupported."""
        if id(problem) not in self._hits:
            self._hits[id(problem)] = problem.hits()
        return self._hits[id(problem)]

    def _holds(self, problem: Problem) -> Callable[[Obligation], bool]:
        return lambda obligation: self.solving.holds(problem, obligation)

    def _add(self, invariant: str, statement: str, make: Make) -> Group:
        group = self._groups.setdefault((invariant, statement), Group(invariant, statement))
        group.makes.append(make)
        return group

    def _stores(self, problem: Problem, *, exact: bool) -> None:
        """Add the promises of every store; a store whose address is opaque spoils them all."""
        try:
            hits = self.hits(problem)
        except Unsupported as why:
            for name in ("W6", "W10", "W12") if exact else ("W1", "W2", "W8", "W9", "W13"):
                if name != "W12" or problem.instance.world_rank[0] > 1:
                    self._add(name, "", _raiser(why))
            return
        for hit in hits:
            for invariant, make in of_store(problem, hit):
                if (invariant in _EXACT) != exact:
                    continue
                if invariant in ("W6", "claim"):
                    self._claims(problem, make, claims=invariant == "claim")
                else:
                    self._add(invariant, "", lambda p=problem, m=make: ((p, o) for o in m()))

    def _claims(
        self, problem: Problem, make: Callable[[], Iterator[Obligation]], *, claims: bool
    ) -> None:
        """Give each statement on skipped slots a group of its own."""
        contract = problem.instance.contract
        statements = ["; ".join(rule.sentence for rule in contract.skip)] if contract.skip else []
        if claims:
            statements = [claim.sentence for claim in contract.claims]
        for statement in statements:
            self._add(
                "W6",
                statement,
                lambda p=problem, m=make, s=statement: ((p, o) for o in m() if o.statement == s),
            )

    def _complete(self, segment: Segment) -> Iterator[Item]:
        problem = self.kernels[0].ideal
        if is_empty(problem, segment):
            return
        hits = [(k.ideal, hit) for k in self.kernels for hit in self.hits(k.ideal)]
        made, chosen = completeness(problem, hits, segment, self._holds(problem))
        if chosen is not None:
            self.witnesses[segment.name] = chosen
        yield problem, made

    def _order(self, problem: Problem) -> Iterator[Item]:
        hits = [hit for hit in self.hits(problem) if hit.arg in problem.instance.contract.caches()]
        needed = {
            segment.name
            for hit in hits
            for segment in segments_of(problem, hit)
            if not is_empty(problem, segment)
        }
        if needed <= self.witnesses.keys():
            made = chain(injective(problem), order(problem, hits, self.witnesses))
        else:
            made = pairs(problem, hits)
        for obligation in made:
            yield problem, obligation


def _raiser(why: Unsupported) -> Make:
    def make() -> Iterator[Item]:
        raise why
        yield

    return make
