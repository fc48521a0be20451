"""Witnesses: which program and lane stores a given column of a given row.

Completeness speaks of all rows and columns. Instead of a quantifier the solver is given functions:
program ids, lanes and loop iterations as quotients and remainders of row and column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import z3

from .access import Access, Loop
from .bitvectors import is_const, same, term
from .lanes import Idx
from .problem import WIDE, Problem

#: Extent of a grid axis up to which each of its programs is tried: K and V, parts of a row.
MOST_PARTS = 8

_Assignment = tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Witness:
    """Values for every symbol of an access.

    Args:
        values: (symbol, term) pairs; terms speak of row and column.
        text: the functions in words.
    """

    values: _Assignment
    text: str

    def apply(self, made: Any) -> Any:
        """Return a term with the symbols replaced."""
        if is_const(made):
            return made
        return z3.substitute(made, *self.values)


def _as(symbol: Any, value: Any) -> tuple[Any, Any]:
    """Return the pair (symbol, value at the symbol's width)."""
    made = term(value, WIDE)
    w = symbol.size()
    return symbol, made if w == WIDE else z3.Extract(w - 1, 0, made)


def _split(value: Any, size: int) -> tuple[Any, Any]:
    v = term(value, WIDE)
    return z3.UDiv(v, z3.BitVecVal(size, WIDE)), z3.URem(v, z3.BitVecVal(size, WIDE))


@dataclass(frozen=True)
class _Parts:
    """The symbols of an access that a witness must give."""

    pids: tuple[tuple[int, Any], ...]
    lanes: tuple[tuple[int, Any, int], ...]
    loops: tuple[Loop, ...]


def _parts(problem: Problem, access: Access, idx: Idx) -> _Parts:
    pids = tuple((a, p) for a, p in enumerate(problem.domain.programs) if not is_const(p))
    lanes = tuple((d, lane, access.shape[d]) for d, lane in enumerate(idx) if not is_const(lane))
    return _Parts(pids, lanes, access.loops)


def _iteration(problem: Problem, loop: Loop, value: Any) -> Iterator[tuple[_Assignment, Any, str]]:
    """Yield ways for a loop's induction variable to be `value`, with what is left over."""
    lower, step = loop.lower, loop.step
    if is_const(step) and step > 0 and is_const(lower):
        quotient, rest = _split(term(value, WIDE) - lower, step)
        yield ((loop.index, quotient),), rest, f"iteration = {{}} div {step}"
    for axis, pid in enumerate(problem.domain.programs):
        extent = problem.domain.grid[axis]
        if is_const(pid) or not same(lower, pid) or not same(step, extent):
            continue
        wide = term(extent, WIDE)
        v = term(value, WIDE)
        pairs = (_as(pid, z3.URem(v, wide)), (loop.index, z3.UDiv(v, wide)))
        yield pairs, z3.BitVecVal(0, WIDE), f"pid{axis} = {{}} mod programs"


def _carriers(
    problem: Problem, parts: _Parts, value: Any, name: str
) -> Iterator[tuple[_Assignment, str]]:
    """Yield ways to spread one index over program ids, loops and lanes."""
    for axis, pid in parts.pids:
        yield (_as(pid, value),), f"pid{axis} = {name}"
    for _, lane, size in parts.lanes:
        yield (_as(lane, value),), f"lane = {name}"
        quotient, rest = _split(value, size)
        for axis, pid in parts.pids:
            yield (
                (_as(pid, quotient), _as(lane, rest)),
                f"pid{axis} = {name} div {size}, lane = {name} mod {size}",
            )
        for loop in parts.loops:
            for pairs, _, text in _iteration(
                problem, loop, z3.UDiv(term(value, WIDE), size) * size
            ):
                yield (
                    (*pairs, _as(lane, rest)),
                    f"{text.format(name)}, lane = {name} mod {size}",
                )
    for (_, a, _), (_, b, size) in product(parts.lanes, parts.lanes):
        if a is not b:
            quotient, rest = _split(value, size)
            yield (
                (_as(a, quotient), _as(b, rest)),
                f"lanes = {name} div {size}, {name} mod {size}",
            )
    for loop in parts.loops:
        for pairs, _, text in _iteration(problem, loop, value):
            yield pairs, text.format(name)
    yield (), ""


def _one_of_few(problem: Problem, zeros: _Assignment) -> Iterator[tuple[_Assignment, str]]:
    """Yield the zeros with one program id set to each other number of an axis that has few."""
    for axis, (pid, extent) in enumerate(
        zip(problem.domain.programs, problem.domain.grid, strict=True)
    ):
        if is_const(pid) or not is_const(extent) or extent > MOST_PARTS:
            continue
        for number in range(1, extent):
            pairs = tuple(
                (s, z3.BitVecVal(number, s.size()) if s.eq(pid) else zero) for s, zero in zeros
            )
            if any(s.eq(pid) for s, _ in zeros):
                yield pairs, f"pid{axis} = {number}"


def candidates(
    problem: Problem, access: Access, idx: Idx, row: Any, columns: list[tuple[Any, str]]
) -> list[Witness]:
    """Return witnesses to try for one access, the likeliest first.

    Args:
        problem: the kernel.
        access: the store or load.
        idx: its lane terms.
        row: the row, a 64-bit term.
        columns: readings of the column, e.g. within its segment and within the whole row.
    """
    parts = _parts(problem, access, idx)
    symbols = [p for _, p in parts.pids] + [lane for _, lane, _ in parts.lanes]
    symbols += [loop.index for loop in parts.loops]
    found: list[tuple[int, Witness]] = []
    readings = columns or [(z3.BitVecVal(0, WIDE), "0")]
    for row_part, row_text in _carriers(problem, parts, row, "row"):
        for column, name in readings:
            for col_part, col_text in _carriers(problem, parts, column, name):
                used = [symbol.get_id() for symbol, _ in (*row_part, *col_part)]
                if len(set(used)) != len(used):
                    continue
                rest = [s for s in symbols if s.get_id() not in used]
                zeros = tuple((s, z3.BitVecVal(0, s.size())) for s in rest)
                text = ", ".join(part for part in (row_text, col_text) if part)
                score = 4 * len(rest) + (0 if row_part else 8) + len(used)
                found.append((score, Witness((*row_part, *col_part, *zeros), text)))
                for more, (pairs, axis) in enumerate(_one_of_few(problem, zeros)):
                    words = ", ".join(part for part in (text, axis) if part)
                    found.append((score + more + 1, Witness((*row_part, *col_part, *pairs), words)))
    found.sort(key=lambda item: item[0])
    return [witness for _, witness in found]


def solved(
    problem: Problem, access: Access, idx: Idx, row: Any, offset: Any, target: Any
) -> Iterator[Witness]:
    """Yield witnesses whose lane is solved for from the address.

    For lanes that store side by side, the lane is the target less the address of lane 0. Several
    stores of a row (an unrolled loop) have a base each, which no fixed function of the column
    gives.
    """
    parts = _parts(problem, access, idx)
    symbols = [p for _, p in parts.pids] + [lane for _, lane, _ in parts.lanes]
    symbols += [loop.index for loop in parts.loops]
    for row_part, text in _carriers(problem, parts, row, "row"):
        used = [symbol.get_id() for symbol, _ in row_part]
        for _, lane, _ in parts.lanes:
            if lane.get_id() in used or len(set(used)) != len(used):
                continue
            rest = [s for s in symbols if s.get_id() not in (*used, lane.get_id())]
            zeros = [(s, z3.BitVecVal(0, s.size())) for s in rest]
            first = [*row_part, *zeros, (lane, z3.BitVecVal(0, lane.size()))]
            base = z3.substitute(term(offset, WIDE), *first)
            values = (*row_part, *zeros, _as(lane, target - base))
            yield Witness(values, f"{text}, lane from the address".lstrip(", "))
