"""The contract's promises about stores as obligations: W1, W6, W8, W9, W10 and W12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import z3

from ..spec.dtypes import dtype
from ..spec.rules import Cast, Segment
from .bitvectors import Term, conj, disj, neg, term
from .domain import Unsupported, line_of
from .lanes import Lanes
from .obligation import Obligation, slot_givens
from .problem import TEMPORARY, WIDE, Hit, Problem, truth
from .provenance import Leaf, leaves


def row_of(hit: Hit) -> Term:
    """Return the row of a store. Raises Unsupported when no slot leads to its address."""
    if hit.row is None:
        op = hit.access.op
        raise Unsupported(op.name, line_of(op), "its address does not come from a slot")
    return hit.row


def accepted(problem: Problem, env: dict[str, Term]) -> Term:
    """Return the condition that a row must be stored on this rank."""
    least, most = problem.legal(env)
    return conj(least, most, neg(problem.skipped(env)), problem.owned(env))


def segments_of(problem: Problem, hit: Hit) -> list[Segment]:
    """Return the segments of the cache that a store writes to."""
    return [s for s in problem.instance.contract.segments if s.into == hit.arg]


def places(problem: Problem, hit: Hit, env: dict[str, Term]) -> list[tuple[Segment, Any, Any]]:
    """Return (segment, column that the store would be, condition that it is one of them)."""
    found: list[tuple[Segment, Any, Any]] = []
    for segment in segments_of(problem, hit):
        column = problem.column(segment, env, hit.offset)
        found.append((segment, column, problem.inside(segment, env, column)))
    return found


def is_temporary(arg: str | None) -> bool:
    """Tell whether a memory is one that the host function made for itself."""
    return arg is None or arg.startswith((TEMPORARY, "~"))


def frame(problem: Problem, hit: Hit) -> Iterator[Obligation]:
    """W1: a store hits a segment of the accepted row whose slot it loaded."""
    if hit.arg not in problem.instance.contract.caches():
        named = problem.instance.contract.arguments()
        if hit.arg not in named and not is_temporary(hit.arg):
            yield Obligation(
                invariant="W1",
                op=hit.access.op,
                statement=f"only the cache is stored, not {hit.arg}",
                violation=hit.active,
                given={},
            )
        return
    row = row_of(hit)
    env = problem.row_env(row)
    found = places(problem, hit, env)
    good = conj(accepted(problem, env), disj(*(inside for _, _, inside in found)))
    yield Obligation(
        invariant="W1",
        op=hit.access.op,
        violation=conj(hit.active, neg(good)),
        given=slot_givens(problem, [row]),
        row=row,
        slot=env["slot"],
        column=found[0][1],
    )


def skip_set(problem: Problem, hit: Hit) -> Iterator[Obligation]:
    """W6: no store happens for a row whose slot is skipped."""
    row = row_of(hit)
    env = problem.row_env(row)
    column = places(problem, hit, env)[0][1]
    given = slot_givens(problem, [row])
    rules = problem.instance.contract.skip
    if rules:
        yield Obligation(
            invariant="W6",
            statement="; ".join(rule.sentence for rule in rules),
            op=hit.access.op,
            violation=conj(hit.active, problem.skipped(env)),
            given=given,
            row=row,
            slot=env["slot"],
            column=column,
        )


def claims(problem: Problem, hit: Hit) -> Iterator[Obligation]:
    """W6: a claimed slot is not stored; a place is not stored by whatever row."""
    row = row_of(hit)
    env = problem.row_env(row)
    for claim in problem.instance.contract.claims:
        stored = truth(claim.condition, env)
        if claim.space == "local":
            there = {**env, "place": claim.index}
            stored = disj(*(inside for _, _, inside in places(problem, hit, there)))
        yield Obligation(
            invariant="W6",
            op=hit.access.op,
            statement=claim.sentence,
            integers=True,
            violation=conj(hit.active, stored),
            given=slot_givens(problem, [row]),
            row=row,
            slot=env["slot"],
            column=places(problem, hit, env)[0][1],
        )


def ownership(problem: Problem, hit: Hit) -> Iterator[Obligation]:
    """W12: no store happens for a row that another rank owns."""
    if problem.instance.contract.owner.owned is None or problem.instance.world_rank[0] == 1:
        return
    row = row_of(hit)
    env = problem.row_env(row)
    yield Obligation(
        invariant="W12",
        op=hit.access.op,
        violation=conj(hit.active, neg(problem.owned(env))),
        given=slot_givens(problem, [row]),
        row=row,
        slot=env["slot"],
        column=places(problem, hit, env)[0][1],
    )


def _source_column(problem: Problem, segment: Segment, row: Term, offset: Term) -> Any:
    env = {**problem.env, "row": row, "col": 0}
    return problem.inverse(segment.begin, env, offset, segment.source)


def _in_row(problem: Problem, leaf: Leaf, row: Term) -> Term:
    """Return the condition that a loaded element lies in that row of a source."""
    options: list[Term] = []
    for segment in problem.instance.contract.segments:
        if segment.source == leaf.arg:
            column = _source_column(problem, segment, row, leaf.offset)
            options.append(problem.inside(segment, problem.env, column))
    return disj(*options)


def _is_element(problem: Problem, leaf: Leaf, segment: Segment, row: Term, column: Term) -> Term:
    """Return the condition that a loaded element is a segment's element of row and column."""
    if leaf.arg != segment.source:
        return False
    return _source_column(problem, segment, row, leaf.offset) == term(column, WIDE)


def sources(problem: Problem, hit: Hit, found: list[Leaf]) -> Iterator[Obligation]:
    """W8: every element that reaches a store lies in that row of a source."""
    row = row_of(hit)
    env = problem.row_env(row)
    astray = disj(*(conj(leaf.live, neg(_in_row(problem, leaf, row))) for leaf in found))
    yield Obligation(
        invariant="W8",
        op=hit.access.op,
        statement="every element that is stored lies in its row of a source",
        violation=conj(hit.active, accepted(problem, env), astray),
        given={},
        row=row,
        slot=env["slot"],
        column=places(problem, hit, env)[0][1],
    )


def segments(problem: Problem, hit: Hit, found: list[Leaf]) -> Iterator[Obligation]:
    """W9: what is stored at a segment's column is that column of its source, and nothing else."""
    row = row_of(hit)
    env = problem.row_env(row)
    in_rows = conj(*(disj(neg(leaf.live), _in_row(problem, leaf, row)) for leaf in found))
    for segment, column, inside in places(problem, hit, env):
        right = [(leaf, _is_element(problem, leaf, segment, row, column)) for leaf in found]
        some = disj(*(conj(leaf.live, is_it) for leaf, is_it in right))
        other = disj(*(conj(leaf.live, neg(is_it)) for leaf, is_it in right))
        yield Obligation(
            invariant="W9",
            op=hit.access.op,
            statement=f"segment {segment.name}",
            violation=conj(
                hit.active, accepted(problem, env), inside, in_rows, disj(neg(some), other)
            ),
            given={},
            row=row,
            slot=env["slot"],
            column=column,
        )


def encoding(problem: Problem, hit: Hit, found: list[Leaf]) -> Iterator[Obligation]:
    """W10: the stored bits are the encoding of the element that W9 speaks of."""
    row = row_of(hit)
    env = problem.row_env(row)
    instance = problem.instance
    value = hit.access.value
    assert isinstance(value, Lanes)
    bits = value.at(hit.idx)
    for segment, column, inside in places(problem, hit, env):
        source = dtype(instance.dtypes[segment.source])
        element = z3.BitVec("element", source.bits)
        memory = problem.domain.memory(problem.binding.keyword(segment.source), source.bits)
        made = z3.substitute_funs(
            term(bits, dtype(instance.dtypes[segment.into]).bits), (memory, element)
        )
        right = disj(
            *(conj(leaf.live, _is_element(problem, leaf, segment, row, column)) for leaf in found)
        )
        encode = instance.contract.encode
        assuming: dict[str, Term] = {}
        if isinstance(encode, Cast):
            target = dtype(encode.target)
            wanted = problem.domain.algebra.float_cast(element, source.mlir, target.mlir, "rtne")
            if z3.is_app(wanted) and wanted.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                assuming[
                    f"the compiler's cast {source.name} to {target.name} is the declared table"
                ] = True
        else:
            wanted = element
        if made.size() != wanted.size():
            op = hit.access.op
            raise Unsupported(op.name, line_of(op), "an element of another width is stored")
        yield Obligation(
            invariant="W10",
            op=hit.access.op,
            statement=f"segment {segment.name}: {encode.sentence}",
            violation=conj(hit.active, accepted(problem, env), inside, right, made != wanted),
            given={},
            assuming=assuming,
            row=row,
            slot=env["slot"],
            column=column,
            payload=(segment.source, row, column, element),
        )


def stored_sources(problem: Problem, hit: Hit) -> Iterator[Obligation]:
    """W8: sources and slot table are not stored."""
    contract = problem.instance.contract
    if hit.arg in contract.arguments() and hit.arg not in contract.caches():
        yield Obligation(
            invariant="W8",
            op=hit.access.op,
            statement=f"{hit.arg} is not stored",
            violation=hit.active,
            given={},
        )


def of_store(problem: Problem, hit: Hit) -> Iterator[tuple[str, Any]]:
    """Yield (invariant, function that yields its obligations) for one store."""
    yield "W8", lambda: stored_sources(problem, hit)
    yield "W1", lambda: frame(problem, hit)
    if hit.arg not in problem.instance.contract.caches():
        return
    yield "W6", lambda: skip_set(problem, hit)
    yield "claim", lambda: claims(problem, hit)
    yield "W12", lambda: ownership(problem, hit)
    value = hit.access.value
    assert value is not None

    def with_leaves(make: Any) -> Any:
        return lambda: make(problem, hit, leaves(problem, value, hit.idx))

    yield "W8", with_leaves(sources)
    yield "W9", with_leaves(segments)
    yield "W10", with_leaves(encoding)
