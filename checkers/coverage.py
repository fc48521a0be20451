"""Promises that speak of every row and column: W2, W7 and W13."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Any

import z3

from ..spec.rules import DISTINCT, Segment
from .access import Access
from .bitvectors import Term, conj, disj, is_const, neg, term
from .lanes import Idx
from .obligation import Obligation
from .problem import WIDE, Hit, Problem, widen
from .promises import accepted, row_of, segments_of
from .witness import Witness, candidates, solved

#: Returns whether an obligation holds; used to look for a witness.
Try = Callable[[Obligation], bool]

ROW = z3.BitVec("row", WIDE)
COLUMN = z3.BitVec("column", WIDE)


def _is_row(problem: Problem) -> Term:
    return z3.And(ROW >= 0, term(problem.env["ROWS"], WIDE) > ROW)


def _columns(problem: Problem, segment: Segment) -> list[tuple[Any, str]]:
    """Return the readings of a column: within the row, within its source, and in its segment.

    Heads that lie a page apart in the cache still lie side by side in the source.
    """
    start = problem.evaluate(segment.at, {**problem.env, "place": 0, "col": 0})
    origin = problem.evaluate(segment.begin, {**problem.env, "row": 0, "col": 0})
    found: dict[str, tuple[Any, str]] = {}
    for first, name in ((start, "row column"), (origin, "source column"), (0, "column")):
        reading = z3.simplify(term(first, WIDE) + COLUMN)
        found.setdefault(reading.sexpr(), (reading, "column" if reading.eq(COLUMN) else name))
    return list(found.values())


def completeness(
    problem: Problem, hits: list[tuple[Problem, Hit]], segment: Segment, holds: Try
) -> tuple[Obligation, tuple[Hit, Witness] | None]:
    """W2 for one segment: the obligation, and the witness that decides it when one does.

    Each store comes with its own kernel, whose grid the witness must stay in.

    Without a single witness the obligation asks whether any candidate of any store hits; that it
    fails is only a hint, to be confirmed by a run.
    """
    env = problem.row_env(ROW)
    target = term(problem.evaluate(segment.at, {**env, "col": COLUMN}), WIDE)
    wanted = conj(_is_row(problem), accepted(problem, env), problem.inside(segment, env, COLUMN))
    stores = [(own, hit) for own, hit in hits if hit.arg == segment.into]

    def stored(own: Problem, hit: Hit, witness: Witness) -> Term:
        return conj(
            witness.apply(hit.active),
            witness.apply(term(hit.offset, WIDE)) == target,
            *_in_grid(own, witness),
        )

    def obligation(landed: Term, text: str) -> Obligation:
        return Obligation(
            invariant="W2",
            op=stores[0][1].access.op if stores else None,
            statement=f"segment {segment.name}" + (f" ({text})" if text else ""),
            violation=conj(wanted, neg(landed)),
            given={},
            row=ROW,
            slot=env["slot"],
            column=COLUMN,
        )

    options: list[Term] = []
    for own, hit in stores:
        columns = _columns(problem, segment)
        for witness in candidates(own, hit.access, hit.idx, ROW, columns):
            landed = stored(own, hit, witness)
            made = obligation(landed, f"witness {witness.text}")
            if holds(made):
                return made, (hit, witness)
            options.append(landed)
        options += [
            stored(own, hit, witness)
            for witness in solved(own, hit.access, hit.idx, ROW, hit.offset, target)
        ]
    return obligation(disj(*options), ""), None


def _in_grid(problem: Problem, witness: Witness) -> list[Any]:
    """Return the condition that the witness names programs of the grid."""
    conditions: list[Any] = []
    for pid, extent in zip(problem.domain.programs, problem.domain.grid, strict=True):
        for symbol, value in witness.values:
            if symbol is pid or (z3.is_expr(pid) and symbol.eq(pid)):
                limit = term(extent, WIDE)
                conditions.append(z3.And(value >= 0, widen(value) < limit))
    return conditions


def slot_accesses(problem: Problem) -> Iterator[tuple[Access, Idx, Term, Term]]:
    """Yield every load of the slot table: access, lanes, condition, row. Raises Unsupported."""
    table = problem.instance.contract.slots.arg
    for access in problem.domain.accesses:
        if access.kind != "load":
            continue
        idx = problem.lane_terms(access)
        arg, offset = problem.place_of(access.pointer.at(idx))
        if arg == table:
            active = conj(access.active(idx), *problem.lane_bounds(access, idx))
            yield access, idx, active, offset


def row_count(problem: Problem, holds: Try) -> Iterator[Obligation]:
    """W7: slots are loaded inside the table only, and every row's slot is loaded."""
    loads = list(slot_accesses(problem))
    rows = term(problem.env["ROWS"], WIDE)
    for access, _, active, offset in loads:
        at = term(offset, WIDE)
        yield Obligation(
            invariant="W7",
            op=access.op,
            statement="no slot past the table is read",
            violation=conj(active, z3.Or(at < 0, at >= rows)),
            given={},
            row=at,
        )
    options: list[Term] = []
    statement = "every row's slot is read"
    for access, idx, active, offset in loads:
        for witness in candidates(problem, access, idx, ROW, []):
            read = conj(
                witness.apply(active),
                witness.apply(term(offset, WIDE)) == ROW,
                *_in_grid(problem, witness),
            )
            made = Obligation(
                invariant="W7",
                op=access.op,
                statement=statement,
                given={},
                row=ROW,
                violation=conj(_is_row(problem), neg(read)),
            )
            if holds(made):
                yield made
                return
            options.append(read)
    # Without a witness only a run can tell, and it shows accepted rows only.
    env = problem.row_env(ROW)
    yield Obligation(
        invariant="W7",
        op=loads[0][0].op if loads else None,
        statement=statement,
        given={},
        violation=conj(_is_row(problem), accepted(problem, env), neg(disj(*options))),
        row=ROW,
        slot=env["slot"],
    )


def source_loads(problem: Problem) -> Iterator[Obligation]:
    """W8: every load of a source stays inside the source's rows and columns."""
    contract = problem.instance.contract
    rows = term(problem.env["ROWS"], WIDE)
    slot_rows: list[Term] = []
    for _, _, _, offset in slot_accesses(problem):
        slot_rows.append(offset)
    for access in problem.domain.accesses:
        if access.kind != "load":
            continue
        idx = problem.lane_terms(access)
        arg, offset = problem.place_of(access.pointer.at(idx))
        mine = [segment for segment in contract.segments if segment.source == arg]
        if not mine:
            continue
        active = conj(access.active(idx), *problem.lane_bounds(access, idx))
        options: list[Term] = []
        for segment in mine:
            for row in slot_rows:
                at = term(row, WIDE)
                begin = {**problem.env, "row": at, "col": 0}
                column = problem.inverse(segment.begin, begin, offset, segment.source)
                options.append(
                    conj(at >= 0, at < rows, problem.inside(segment, problem.env, column))
                )
        yield Obligation(
            invariant="W8",
            op=access.op,
            statement=f"{arg} is read inside its rows",
            violation=conj(active, neg(disj(*options))),
            given={},
            row=slot_rows[0] if slot_rows else None,
        )


def is_empty(problem: Problem, segment: Segment) -> bool:
    """Tell whether a segment has no column in this configuration."""
    width = problem.evaluate(segment.width, problem.env)
    return is_const(width) and width == 0


def _primed(hit: Hit, problem: Problem, tag: str) -> list[tuple[Any, Any]]:
    """Return every symbol of a store with a copy of its own."""
    symbols = [pid for pid in problem.domain.programs if not is_const(pid)]
    symbols += [lane for lane in hit.idx if not is_const(lane)]
    symbols += [loop.index for loop in hit.access.loops]
    return [(symbol, z3.BitVec(f"{symbol}{tag}", symbol.size())) for symbol in symbols]


def pairs(problem: Problem, hits: list[Hit]) -> Iterator[Obligation]:
    """W13 without witnesses: two arbitrary lanes of two stores, of accepted rows."""
    for first, second in combinations_with_replacement(hits, 2):
        if first.arg != second.arg:
            continue
        primes = _primed(second, problem, "'")

        def other(made: Any, primes: list[tuple[Any, Any]] = primes) -> Any:
            return made if is_const(made) else z3.substitute(made, *primes)

        row, twin = row_of(first), other(row_of(second))
        env, twin_env = problem.row_env(row), problem.row_env(twin)
        slot = term(env["slot"], WIDE)
        differ: Term = True
        if first is second:
            differ = disj(*(symbol != copy for symbol, copy in primes))
        yield Obligation(
            invariant="W13",
            op=first.access.op,
            statement="no byte is stored by two lanes",
            violation=conj(
                *(other(bound) for bound in problem.bounds),
                first.active,
                other(second.active),
                accepted(problem, env),
                accepted(problem, twin_env),
                term(first.offset, WIDE) == other(term(second.offset, WIDE)),
                differ,
            ),
            given={
                DISTINCT.key: z3.Or(
                    term(row, WIDE) == term(twin, WIDE), slot != term(twin_env["slot"], WIDE)
                )
            },
            row=row,
            twin=twin,
            slot=env["slot"],
            integers=True,
        )


def order(
    problem: Problem, hits: list[Hit], witnesses: dict[str, tuple[Hit, Witness]]
) -> Iterator[Obligation]:
    """W13: a lane that stores is the witness of its own row and column, so no two store one byte.

    Together with the contract's map being injective (`lemmas`) and distinct slots, this excludes
    every second store of a byte that belongs to an accepted row.
    """
    for hit in hits:
        row = row_of(hit)
        env = problem.row_env(row)
        for segment in segments_of(problem, hit):
            if is_empty(problem, segment):
                continue
            chosen = witnesses[segment.name]
            column = problem.column(segment, env, hit.offset)
            inside = problem.inside(segment, env, column)
            differs: Term = True
            if chosen[0] is hit:
                pairs = [
                    symbol != z3.substitute(value, (ROW, term(row, WIDE)), (COLUMN, column))
                    for symbol, value in chosen[1].values
                ]
                differs = disj(*pairs)
            yield Obligation(
                invariant="W13",
                op=hit.access.op,
                statement=f"segment {segment.name}: the lane that stores a byte is unique",
                violation=conj(hit.active, accepted(problem, env), inside, differs),
                given={DISTINCT.key: True},
                row=row,
                slot=env["slot"],
                column=column,
            )
