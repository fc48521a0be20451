"""One writer in one configuration, walked in the z3 domain: what the obligations are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import z3

from ..spec.contract import Instance
from ..spec.dtypes import dtype
from ..spec.expr import PLAIN, Expr, steps_by_one
from ..spec.recipe import Binding
from ..spec.rules import Compare, Segment
from .access import Access
from .bitvectors import Term, conj, disj, is_const, term
from .domain import Trace, Unsupported
from .family import Family
from .lanes import Idx, Lanes, Pointer, cone
from .symbolic import SymbolicDomain
from .ttir import Program, Type

WIDE = 64
#: How a memory is named that belongs to no tensor of the call.
TEMPORARY = "a temporary behind "


class Wide:
    """Evaluates contract expressions as 64-bit terms; ints stay ints."""

    def const(self, value: int) -> Term:
        """Return the constant."""
        return value

    def binary(self, op: str, left: Term, right: Term) -> Term:
        """Return `left op right`; `//` and `%` only ever see non-negative numbers."""
        if is_const(left, right):
            return PLAIN.binary(op, left, right)
        if op in ("//", "%") and is_const(right) and right == 1:
            return left if op == "//" else 0
        if op == "*" and (same_int(left, 1) or same_int(right, 1)):
            return right if same_int(left, 1) else left
        a, b = term(left, WIDE), term(right, WIDE)
        return {
            "+": lambda: a + b,
            "-": lambda: a - b,
            "*": lambda: a * b,
            "//": lambda: a / b,
            "%": lambda: z3.SRem(a, b),
        }[op]()


def widen(value: Any) -> Any:
    """Return an integer term as 64 bits."""
    return value if value.size() == WIDE else z3.SignExt(WIDE - value.size(), value)


def same_int(value: Term, number: int) -> bool:
    """Tell whether a term is that constant."""
    return is_const(value) and value == number


ARITHMETIC = Wide()
# The naive reference has the same table: it shares no code with the prover.
_COMPARE = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def truth(compare: Compare, env: Mapping[str, Term]) -> Term:
    """Return a contract condition as a term."""
    left = compare.left.evaluate(env, ARITHMETIC)
    right = compare.right.evaluate(env, ARITHMETIC)
    if is_const(left, right):
        return bool(_COMPARE[compare.op](left, right))
    return _COMPARE[compare.op](term(left, WIDE), term(right, WIDE))


@dataclass
class Hit:
    """One arbitrary lane of one store.

    Args:
        access: the store.
        idx: its lane terms.
        active: the condition that it stores.
        arg: the contract's argument that it stores to; None for one the contract does not name.
        offset: element offset from that argument's first element.
        row: the row whose slot the address was computed from, a 64-bit term; None when no slot
            was loaded.
        slot: that row's slot, 64 bits.
    """

    access: Access
    idx: Idx
    active: Term
    arg: str | None
    offset: Term
    row: Term | None
    slot: Term | None


@dataclass
class Problem:
    """A writer's kernel in the z3 domain, with the contract's symbols as terms.

    Raises Unsupported from its properties where an op has no row.
    """

    instance: Instance
    binding: Binding
    family: Family
    program: Program
    domain: SymbolicDomain
    trace: Trace
    env: dict[str, Term]
    bounds: list[Any]
    slot_stride: Term = 1

    def place_of(self, pointer: Pointer) -> tuple[str | None, Term]:
        """Return (contract argument, element offset from its first element) of an address.

        Raises Unsupported where the kernel sees elements of another size than the contract's.
        """
        arg = self.binding.contract_arg(pointer.arg)
        if arg is not None and arg in self.instance.contract.arguments():
            wanted = dtype(self.instance.dtypes[arg]).size
            if Type(pointer.elem).element_bytes() != wanted:
                why = f"elements of {Type(pointer.elem).element_bytes()} bytes, not of {wanted}"
                launch = self.family.launch
                raise Unsupported(f"the pointer into {arg}", f"{launch.file}:{launch.line}", why)
        return arg, pointer.offset

    def lane_terms(self, access: Access, tag: str = "") -> Idx:
        """Return fresh lane indices for an access; a dimension of one lane is 0."""
        return tuple(
            0 if size == 1 else z3.BitVec(f"lane{axis}{tag}", self.domain.algebra.index_width)
            for axis, size in enumerate(access.shape)
        )

    def lane_bounds(self, access: Access, idx: Idx) -> list[Any]:
        """Return the ranges of lane indices."""
        return [
            z3.ULT(lane, size)
            for lane, size in zip(idx, access.shape, strict=True)
            if not is_const(lane)
        ]

    def slot_loads(self, root: Lanes, idx: Idx) -> list[Term]:
        """Return the offsets of all slots that a value is computed from, each once."""
        table = self.instance.contract.slots.arg
        found: dict[Any, Term] = {}
        for value, here, _ in cone(root, idx):
            if value.access is None or value.access.kind != "load":
                continue
            arg, offset = self.place_of(value.access.pointer.at(here))
            if arg == table:
                key = offset if is_const(offset) else ("z3", offset.get_id())
                found[key] = offset
        return list(found.values())

    def slot(self, row: Term) -> Term:
        """Return the slot of a row, widened to 64 bits."""
        table = self.instance.contract.slots.arg
        width = 64 if self.instance.dtypes[table] == "i64" else 32
        memory = self.domain.memory(self.binding.keyword(table), width)
        loaded = memory(term(ARITHMETIC.binary("*", row, self.slot_stride), WIDE))
        return loaded if width == WIDE else z3.SignExt(WIDE - width, loaded)

    def row_env(self, row: Term) -> dict[str, Term]:
        """Return the symbols of the contract for one row, `slot` and `place` included."""
        env = {**self.env, "row": row, "slot": self.slot(row)}
        env["place"] = self.instance.contract.owner.place.evaluate(env, ARITHMETIC)
        return env

    def legal(self, env: Mapping[str, Term]) -> tuple[Term, Term]:
        """Return the two halves of a slot's legality: not negative, inside the pool."""
        slot = term(env["slot"], WIDE)
        end = self.value("POOL", "WORLD")
        return slot >= 0, slot < term(end, WIDE)

    def value(self, *names: str) -> Term:
        """Return the product of named symbols."""
        product: Term = 1
        for name in names:
            product = ARITHMETIC.binary("*", product, self.env[name])
        return product

    def skipped(self, env: Mapping[str, Term]) -> Term:
        """Return the condition that a row is in the skip set."""
        return disj(*(truth(rule.condition, env) for rule in self.instance.contract.skip))

    def owned(self, env: Mapping[str, Term]) -> Term:
        """Return the condition that this rank stores the row."""
        owned = self.instance.contract.owner.owned
        return True if owned is None else truth(owned, env)

    def evaluate(self, expr: Expr, env: Mapping[str, Term]) -> Term:
        """Return a contract expression as a 64-bit term or int."""
        return expr.evaluate(env, ARITHMETIC)

    def column(self, segment: Segment, env: Mapping[str, Term], offset: Term) -> Term:
        """Return the column of a segment that an element offset would be.

        Raises Unsupported for a layout whose columns do not lie side by side: it has no such
        inverse.
        """
        return self.inverse(segment.at, {**env, "col": 0}, offset, segment.name)

    def inverse(self, at: Expr, env: Mapping[str, Term], offset: Term, what: str) -> Any:
        """Return `offset` less the expression at column 0. Raises Unsupported as `column` does."""
        if not steps_by_one(at, "col"):
            raise Unsupported("the contract", what, f"columns of {at} do not lie side by side")
        return term(offset, WIDE) - term(self.evaluate(at, env), WIDE)

    def inside(self, segment: Segment, env: Mapping[str, Term], column: Term) -> Term:
        """Return the condition that a column is one of the segment's."""
        width = self.evaluate(segment.width, env)
        return z3.And(column >= 0, column < term(width, WIDE))

    def hits(self) -> list[Hit]:
        """Return one arbitrary lane of every store. Raises Unsupported."""
        return [self.hit(access) for access in self.domain.accesses if access.kind == "store"]

    def hit(self, access: Access) -> Hit:
        """Return one arbitrary lane of a store. Raises Unsupported."""
        idx = self.lane_terms(access)
        arg, offset = self.place_of(access.pointer.at(idx))
        rows = self.slot_loads(access.pointer, idx)
        if not rows and access.mask is not None:
            rows = self.slot_loads(access.mask, idx)
        # A row's slot stands at row * stride: the row is found again by dividing.
        row = ARITHMETIC.binary("//", rows[0], self.slot_stride) if rows else None
        slot = None if row is None else self.slot(row)
        active = conj(access.active(idx), *self.lane_bounds(access, idx))
        return Hit(access, idx, active, arg, offset, row, slot)
