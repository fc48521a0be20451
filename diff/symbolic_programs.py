"""Evaluates a random program in the z3 domain at concrete inputs, beside the torch domain.

At IR width, and in the algebra without wrap-around wherever nothing wraps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from ..checkers.access import Access
from ..checkers.bitvectors import BitVectors, signed, term
from ..checkers.domain import Unsupported
from ..checkers.ideal import Ideal
from ..checkers.lanes import Pointer
from ..checkers.symbolic import SymbolicDomain, arguments
from ..checkers.ttir import Op, PtrType
from ..checkers.ttir import Program as Kernel
from ..checkers.ttir_parser import parse_ttir
from ..checkers.walker import Walker
from ..checkers.wrap import wraps
from .program_types import BITS
from .programs import Program, Record, stored
from .tally import Disagreement, Tally, operand, operands, pattern, where

#: Ops whose number may leave the type's range, by their exact value.
_EXACT = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a << b,
}


@dataclass(frozen=True)
class _Point:
    """One lane of one program in one iteration, and the place of a record that it is."""

    pid: tuple[int, int, int]
    lane: tuple[int, ...]
    trip: int

    def place(self, program: Program, record: Record) -> int:
        x, y, _ = program.grid
        number = (self.pid[2] * y + self.pid[1]) * x + self.pid[0]
        at = number
        if not record.scalar:
            lane = 0
            for size, i in zip(program.lanes, self.lane, strict=True):
                lane = lane * size + i
            at = number * program.width + lane
        return self.trip % record.trips * program.places(record) + at


def check(
    program: Program, memory: Mapping[str, bytes], tally: Tally, *, points: int = 2, seed: int = 0
) -> list[Disagreement]:
    """Evaluate a program at some lanes in both algebras; return the first disagreement, or none.

    Args:
        program: what to evaluate.
        memory: the torch domain's final memory.
        tally: counts what was compared, as "z3" and "z3 without wrap-around".
        points: lanes that are looked at.
        seed: chooses them.
    """
    kernel = parse_ttir(program.ttir)
    records = [record for record in program.records if record.first >= 0]
    stores = {
        id(op): record
        for op, record in zip(
            (op for op in kernel.walk() if op.name == "tt.store"), records, strict=True
        )
    }
    source = random.Random(seed)  # noqa: S311 - which lanes are looked at
    chosen = [_point(program, source) for _ in range(points)]
    for domain, algebra in (("z3", BitVectors()), ("z3 without wrap-around", Ideal())):
        walked = _Walked(program, kernel, algebra, stores)
        tally.ran[domain] += 1
        for point in chosen:
            wrapped = _wrapped(program, memory, point) if domain != "z3" else set()
            found = walked.compare(point, memory, domain, tally, wrapped)
            if found:
                return found
    return []


def _point(program: Program, source: random.Random) -> _Point:
    x, y, z = (source.randrange(extent) for extent in program.grid)
    lane = tuple(source.randrange(size) for size in program.lanes)
    return _Point((x, y, z), lane, source.randrange(12))


class _Walked:
    """A program walked in one algebra."""

    def __init__(
        self, program: Program, kernel: Kernel, algebra: BitVectors, stores: Mapping[int, Record]
    ) -> None:
        self.program, self.stores, self.algebra = program, stores, algebra
        values: dict[str, Any] = {}
        for name, kind in kernel.args:
            assert isinstance(kind.elem, PtrType)
            values[name] = Pointer(name[1:], 0, kind.elem.pointee)
        written = frozenset(program.outputs)
        self.domain = SymbolicDomain(program.grid, written, algebra)
        trace = Walker(kernel, self.domain, arguments(values)).run()
        assert not trace.effects, trace.effects
        self.index = algebra.index_width

    def compare(
        self,
        point: _Point,
        memory: Mapping[str, bytes],
        domain: str,
        tally: Tally,
        wrapped: set[int],
    ) -> list[Disagreement]:
        """Compare every store at one point."""
        program = self.program
        taken: set[int] = set()
        numbers = {id(record): k for k, record in enumerate(program.records)}
        for access, record, (active, offset, value) in self.at(point, memory, tally, domain):
            place = point.place(program, record)
            if z3.is_false(active):
                continue
            if numbers[id(record)] in wrapped or not z3.is_true(active):
                tally.add("open", domain, record.label)
                continue
            taken.add(id(record))
            want = stored(program, memory, record)[place]
            assert isinstance(access.op, Op)
            if signed(offset.as_long(), 64) != record.first + place:
                return [self._differ(domain, record, memory, place, f"place {offset}", "another")]
            if not (z3.is_bv_value(value) or z3.is_true(value) or z3.is_false(value)):
                tally.add("open", domain, record.label)
                continue
            got = value.as_long() & ((1 << max(BITS[record.elem], 8)) - 1)
            if got != want or not self._in_range(value, record):
                shown = pattern(record.elem, got)
                return [
                    self._differ(domain, record, memory, place, shown, pattern(record.elem, want))
                ]
            tally.add("compared", domain, record.label)
        return []

    def _in_range(self, value: Any, record: Record) -> bool:
        w = max(BITS[record.elem], 8)
        return value.size() == w or signed(value.as_long(), 64) == signed(value.as_long(), w)

    def _differ(
        self,
        domain: str,
        record: Record,
        memory: Mapping[str, bytes],
        place: int,
        got: str,
        want: str,
    ) -> Disagreement:
        seen = operands(self.program, memory, record, place)
        return Disagreement(
            domain, record.label, seen, got, want, where(self.program, record, place)
        )

    def at(
        self, point: _Point, memory: Mapping[str, bytes], tally: Tally, domain: str
    ) -> Iterator[tuple[Access, Record, tuple[Any, Any, Any]]]:
        """Yield every store with its condition, offset and value as numerals where possible."""
        found: list[tuple[Access, Record]] = []
        terms: list[Any] = []
        for access in self.domain.accesses:
            if access.kind != "store":
                continue
            record = self.stores[id(access.op)]
            idx = tuple(
                0 if size == 1 else z3.BitVec(f"lane{axis}", self.index)
                for axis, size in enumerate(access.shape)
            )
            try:
                pointer: Pointer = access.pointer.at(idx)
                assert access.value is not None
                value = access.value.at(idx)
                active = access.active(idx)
            except Unsupported as why:
                tally.add("refused", domain, f"{record.label}: {why.op}")
                continue
            w = self.algebra.held(max(BITS[record.elem], 8))
            found.append((access, record))
            terms += [term(active, 1), term(pointer.offset, 64), term(value, w)]
        settled = self._settle(terms, point, memory)
        for k, (access, record) in enumerate(found):
            yield access, record, (settled[3 * k], settled[3 * k + 1], settled[3 * k + 2])

    def _settle(self, terms: list[Any], point: _Point, memory: Mapping[str, bytes]) -> list[Any]:
        pairs: list[tuple[Any, Any]] = []
        for pid, number in zip(self.domain.programs, point.pid, strict=True):
            if not isinstance(pid, int):
                pairs.append((pid, z3.BitVecVal(number, pid.size())))
        for axis, number in enumerate(point.lane):
            pairs.append((z3.BitVec(f"lane{axis}", self.index), z3.BitVecVal(number, self.index)))
        for loop in self.domain.loops:
            trips = next(
                (r.trips for a in self.domain.accesses if loop in a.loops
                 for r in (self.stores.get(id(a.op)),) if r is not None), 1
            )  # fmt: skip
            pairs.append((loop.index, z3.BitVecVal(point.trip % trips, 64)))
        if not terms:
            return []
        # One application holds all terms, so that what they share is rewritten once.
        pack = z3.Function("pack", *(item.sort() for item in terms), z3.BoolSort())
        whole = z3.simplify(z3.substitute(pack(*terms), *pairs))
        for _ in range(4):
            loads = list(self._loads(whole, memory))
            if not loads:
                break
            whole = z3.simplify(z3.substitute(whole, *loads))
        return whole.children()

    def _loads(self, whole: Any, memory: Mapping[str, bytes]) -> Iterator[tuple[Any, Any]]:
        """Yield every load at a known offset with the bits that are there."""
        names = set(self.domain.memories)
        seen: set[int] = set()
        stack = [whole]
        while stack:
            item = stack.pop()
            if item.get_id() in seen:
                continue
            seen.add(item.get_id())
            children = item.children()
            if item.decl().name() in names and children and z3.is_bv_value(children[0]):
                name, _, width = item.decl().name().partition("[")
                size = int(width[:-1]) // 8
                at = signed(children[0].as_long(), 64) * size
                bits = int.from_bytes(memory[name][at : at + size], "little")
                yield item, z3.BitVecVal(bits, 8 * size)
            stack += children


def _wrapped(program: Program, memory: Mapping[str, bytes], point: _Point) -> set[int]:
    """Return the records whose number, at this point, comes from an operation that wraps.

    Also holds the width layer's own condition to plain numbers: `wraps` must say the same.
    """
    found: set[int] = set()
    for k, record in enumerate(program.records):
        before = (*record.operands, *record.controls)
        if record.first < 0 or any(i in found for i in before):
            found.add(k)
            continue
        place = point.place(program, record)
        given = [
            operand(program, memory, record, place, program.records[i]) for i in record.operands
        ]
        if record.name == "arith.trunci" and record.elem != "i1" and given[0] is not None:
            w = BITS[program.records[record.operands[0]].elem]
            value = signed(given[0], w)
            if signed(value, BITS[record.elem]) != value:
                found.add(k)
        if record.name not in _EXACT or record.elem == "i1" or None in given:
            continue
        w = BITS[record.elem]
        a, b = (signed(int(x or 0), w) for x in given)
        if record.name == "arith.shli" and not 0 <= b < w:
            continue  # the branch was not taken, and its memory holds what was there before
        exact = _EXACT[record.name](a, b)
        over = signed(exact, w) != exact
        for x, y in ((a, b), (term(a, w), b), (a, term(b, w)), (term(a, w), term(b, w))):
            said = wraps(record.name, x, y, w)
            said = said if isinstance(said, bool) else z3.is_true(z3.simplify(said))
            assert said == over, f"wraps({record.label}, {a}, {b}) is {said}"
        if over:
            found.add(k)
    return found
