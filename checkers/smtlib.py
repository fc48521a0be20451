"""z3 terms as SMT-LIB 2.7 text that every solver reads.

z3 prints a few operations of its own: the two directions of a signed product's overflow become
definitions over `bvsmulo`, and the bits of a float become a variable that converts to it. The bits
of a NaN stay open that way, as z3 leaves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import z3

#: z3's one-sided overflow conditions of a signed product, as definitions over the operands.
_PRODUCTS = {
    z3.Z3_OP_BSMUL_NO_OVFL: (
        "product does not overflow",
        "(not (and (bvsmulo a b) (= (bvslt a {zero}) (bvslt b {zero}))))",
    ),
    z3.Z3_OP_BSMUL_NO_UDFL: (
        "product does not underflow",
        "(not (and (bvsmulo a b) (xor (bvslt a {zero}) (bvslt b {zero}))))",
    ),
}


class _Plain:
    """Rewrites terms into operations that SMT-LIB names."""

    def __init__(self) -> None:
        self.sides: list[Any] = []
        self.definitions: dict[str, str] = {}
        self._memo: dict[int, tuple[Any, Any]] = {}

    def term(self, item: Any) -> Any:
        """Return the term rewritten, children before parents, without recursion."""
        stack = [item]
        while stack:
            top = stack[-1]
            if top.get_id() in self._memo:
                stack.pop()
                continue
            waiting = [c for c in top.children() if c.get_id() not in self._memo]
            if waiting:
                stack += waiting
                continue
            children = [self._memo[c.get_id()][1] for c in top.children()]
            self._memo[top.get_id()] = (top, self._made(top, children))
            stack.pop()
        return self._memo[item.get_id()][1]

    def _made(self, item: Any, children: list[Any]) -> Any:
        kind = item.decl().kind()
        if kind in _PRODUCTS:
            w = children[0].size()
            text, body = _PRODUCTS[kind]
            name = f"{text} {w}"
            vector = f"(_ BitVec {w})"
            zero = f"(_ bv0 {w})"
            self.definitions[name] = (
                f"(define-fun |{name}| ((a {vector}) (b {vector})) Bool {body.format(zero=zero)})"
            )
            return z3.Function(name, *(c.sort() for c in children), z3.BoolSort())(*children)
        if kind == z3.Z3_OP_FPA_TO_IEEE_BV:
            (value,) = children
            bits = z3.BitVec(f"bits of float {len(self.sides)}", item.size())
            self.sides.append(z3.fpBVToFP(bits, value.sort()) == value)
            return bits
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR) and len(children) == 1:
            return children[0]
        if all(a.eq(b) for a, b in zip(children, item.children(), strict=True)):
            return item
        return _again(item, children)


#: Connectives that z3 keeps with any number of operands.
_MANY: dict[int, Callable[..., Any]] = {
    z3.Z3_OP_AND: z3.And,
    z3.Z3_OP_OR: z3.Or,
    z3.Z3_OP_DISTINCT: z3.Distinct,
}


def _again(item: Any, children: list[Any]) -> Any:
    """Return the same operation on other operands."""
    many = _MANY.get(item.decl().kind())
    if many is not None:
        return many(*children)
    made = children
    if len(children) > item.decl().arity():
        result = made[0]
        for child in made[1:]:
            result = item.decl()(result, child)
        return result
    return item.decl()(*made)


_TOKEN = re.compile(r"\|[^|]*\||[^\s()|]+")


def _quoted(found: re.Match[str]) -> str:
    """Quote a symbol with an apostrophe, which z3 prints bare."""
    token = found.group()
    return f"|{token}|" if "'" in token and not token.startswith("|") else token


def text_of(terms: Iterable[Any]) -> str:
    """Return a script that asserts the terms and asks whether they can hold together."""
    plain = _Plain()
    rewritten = [plain.term(item) for item in terms]
    solver = z3.Solver()
    solver.add(*rewritten, *plain.sides)
    lines = solver.to_smt2().replace("(set-info :status unknown)\n", "")
    for name, definition in plain.definitions.items():
        pattern = re.compile(rf"\(declare-fun \|{re.escape(name)}\| \([^\n]*\n?[^\n]*Bool\)\n")
        lines = pattern.sub("", lines)
        lines = f"{definition}\n{lines}"
    lines = _TOKEN.sub(_quoted, lines)
    header = "(set-logic ALL)\n"
    return (
        header
        + "\n".join(line for line in lines.splitlines() if not line.startswith("; benchmark"))
        + "\n"
    )
