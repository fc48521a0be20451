"""Loads and stores of the z3 domain: memory that is only read is an uninterpreted function."""

from __future__ import annotations

from typing import Any

import z3

from .access import Access, Loop
from .bitvectors import BitVectors, Term, neg, term
from .domain import Path, Unsupported, line_of
from .lanes import Dep, Idx, Lanes, Pointer
from .ttir import IntType, Op, Type


class Memory:
    """Loads and stores.

    Attributes:
        programs: the program id terms.
        written: arguments that some store of the kernel writes; loads from them are opaque.
        accesses: every access, in program order.
    """

    algebra: BitVectors
    programs: list[Term]
    written: frozenset[str]
    accesses: list[Access]
    memories: dict[str, Any]
    stack: list[Loop]
    checks: list[tuple[Op, Lanes, Path]]

    def memory(self, arg: str, width: int) -> Any:
        """Return the uninterpreted contents of an argument: offset -> bits."""
        key = f"{arg}[{width}]"
        if key not in self.memories:
            sort = z3.BitVecSort(width)
            self.memories[key] = z3.Function(key, z3.BitVecSort(64), sort)
        return self.memories[key]

    def load(self, op: Op, operands: tuple[Lanes, ...], path: Path) -> Lanes:
        pointer = operands[0]
        mask = operands[1] if len(operands) > 1 else None
        other = operands[2] if len(operands) > 2 else None
        access = Access(
            "load", op, pointer, mask, path, pointer.shape, tuple(self.stack), None, other
        )
        self.accesses.append(access)
        serial = len(self.accesses)
        elem = op.result_types[0].elem
        w = 8 if elem == IntType(1) else Type(elem).width()

        def fn(idx: Idx) -> Term:
            place: Pointer = pointer.at(idx)
            if place.arg in self.written:
                raise Unsupported(op.name, line_of(op), f"a load from {place.arg}, which is stored")
            bits = self.memory(place.arg, w)(term(place.offset, 64))
            held = w
            if isinstance(elem, IntType):
                bits, held = self.algebra.number(bits, w), self.algebra.held(w)
            if mask is None:
                loaded = bits
            else:
                otherwise = (
                    self._undefined(op, serial, idx, access.loops, held)
                    if other is None
                    else self.algebra.zext(other.at(idx), 1, 8)
                    if elem == IntType(1)
                    else other.at(idx)
                )
                loaded = self.algebra.select(mask.at(idx), bits, otherwise, held)
            return self.algebra.trunc(loaded, 8, 1) if elem == IntType(1) else loaded

        def deps(idx: Idx) -> list[Dep]:
            live: Term = True if mask is None else mask.at(idx)
            found: list[Dep] = [(pointer, idx, live)]
            if mask is not None:
                found.append((mask, idx, True))
            if other is not None:
                found.append((other, idx, neg(live)))
            return found

        made = Lanes(pointer.shape, fn, op, deps)
        access.value = made
        made.access = access
        return made

    def _undefined(self, op: Op, serial: int, idx: Idx, loops: tuple[Loop, ...], w: int) -> Term:
        """Return the value of a masked-off lane: arbitrary, but the same for the same lane."""
        name = f"undefined {op.results[0]} {serial}"
        keys = [term(pid, self.algebra.index_width) for pid in self.programs]
        keys += [term(i, self.algebra.index_width) for i in idx] + [loop.index for loop in loops]
        function = z3.Function(name, *(key.sort() for key in keys), z3.BitVecSort(w))
        return function(*keys)

    def store(self, op: Op, operands: tuple[Lanes, ...], path: Path) -> None:
        pointer, value = operands[:2]
        mask = operands[2] if len(operands) > 2 else None
        self.accesses.append(
            Access("store", op, pointer, mask, path, pointer.shape, tuple(self.stack), value)
        )

    def reduce(self, op: Op, operands: tuple[Lanes, ...], axis: int) -> tuple[Lanes, ...]:
        why = Unsupported(op.name, line_of(op), "a reduction over lanes")
        return tuple(self.opaque(op, kind, why) for kind in op.result_types)

    def check(self, op: Op, condition: Lanes, path: Path) -> None:
        self.checks.append((op, condition, path))

    def opaque(self, op: Op, kind: Type, why: Unsupported) -> Lanes:
        def fn(_: Idx) -> Term:
            raise why

        return Lanes(kind.shape, fn, op)
