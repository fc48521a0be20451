"""Integer arithmetic as data: written once, evaluated on ints, torch tensors and solver terms.

A contract states places and widths with these expressions. They print as a person would write
them, compare and hash as data, and evaluate under any `Arithmetic`, so that the naive reference,
the runners and the prover read one and the same statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


class Arithmetic(Protocol):
    """What a domain must offer to evaluate an expression.

    `//` and `%` are only ever asked of non-negative dividends and positive divisors, where every
    convention agrees.
    """

    def const(self, value: int) -> Any:
        """Return the domain's constant for `value`, a count of whatever the expression counts."""
        ...

    def binary(self, op: str, left: Any, right: Any) -> Any:
        """Return `left op right` for op in + - * // %."""
        ...


class PlainArithmetic:
    """Python's own operators: right for ints and for torch integer tensors."""

    def const(self, value: int) -> Any:
        """Return `value` itself, a count of whatever the expression counts."""
        return value

    def binary(self, op: str, left: Any, right: Any) -> Any:
        """Return `left op right`. Raises KeyError on an unknown operator."""
        return {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "//": lambda: left // right,
            "%": lambda: left % right,
        }[op]()


PLAIN = PlainArithmetic()


class Expr:
    """An integer expression. Build it from `Sym`, ints and + - * // %."""

    def __add__(self, other: Expr | int) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: int) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: Expr | int) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: int) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: Expr | int) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: int) -> Expr:
        return binary("*", other, self)

    def __floordiv__(self, other: Expr | int) -> Expr:
        return binary("//", self, other)

    def __mod__(self, other: Expr | int) -> Expr:
        return binary("%", self, other)

    def evaluate(self, env: Mapping[str, Any], arithmetic: Arithmetic = PLAIN) -> Any:
        """Return the value under `env`. Raises KeyError naming a symbol that is not bound."""
        raise NotImplementedError

    def symbols(self) -> frozenset[str]:
        """Return the names of all symbols in the expression."""
        raise NotImplementedError


@dataclass(frozen=True)
class Const(Expr):
    """An integer constant.

    Args:
        value: the number, a count of elements, places or whatever the expression counts.
    """

    value: int

    def evaluate(self, env: Mapping[str, Any], arithmetic: Arithmetic = PLAIN) -> Any:
        """Return the constant in the domain."""
        return arithmetic.const(self.value)

    def symbols(self) -> frozenset[str]:
        """Return nothing: a constant names no symbol."""
        return frozenset()

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Sym(Expr):
    """A named integer: a dimension, a stride, `slot`, `place`, `row` or `col`.

    Args:
        name: the name, as in the contract's dimensions and in what an expression is evaluated in.
    """

    name: str

    def evaluate(self, env: Mapping[str, Any], arithmetic: Arithmetic = PLAIN) -> Any:
        """Return what `env` binds the name to."""
        return env[self.name]

    def symbols(self) -> frozenset[str]:
        """Return the one name."""
        return frozenset((self.name,))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Binary(Expr):
    """Two expressions joined by one of + - * // %. Build it with Python's operators.

    Args:
        op: the operator.
        left: its left side.
        right: its right side.
    """

    op: str
    left: Expr
    right: Expr

    def evaluate(self, env: Mapping[str, Any], arithmetic: Arithmetic = PLAIN) -> Any:
        """Return the joined value in the domain."""
        return arithmetic.binary(
            self.op, self.left.evaluate(env, arithmetic), self.right.evaluate(env, arithmetic)
        )

    def symbols(self) -> frozenset[str]:
        """Return the names on both sides."""
        return self.left.symbols() | self.right.symbols()

    def __str__(self) -> str:
        mine = _PRECEDENCE[self.op]

        def side(expr: Expr, *, right: bool) -> str:
            text = str(expr)
            if isinstance(expr, Binary):
                theirs = _PRECEDENCE[expr.op]
                if theirs < mine or (theirs == mine and right):
                    return f"({text})"
            return text

        return f"{side(self.left, right=False)} {self.op} {side(self.right, right=True)}"


def as_expr(value: Expr | int) -> Expr:
    """Return `value` as an expression."""
    return Const(value) if isinstance(value, int) else value


def binary(op: str, left: Expr | int, right: Expr | int) -> Expr:
    """Return `left op right`, with the neutral elements folded away."""
    a, b = as_expr(left), as_expr(right)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(PLAIN.binary(op, a.value, b.value))
    if op in "+-" and b == Const(0):
        return a
    if op == "+" and a == Const(0):
        return b
    if op in ("*", "//") and b == Const(1):
        return a
    if op == "*" and a == Const(1):
        return b
    if op == "*" and Const(0) in (a, b):
        return Const(0)
    return Binary(op, a, b)


def substitute(expr: Expr, replacements: Mapping[str, Expr]) -> Expr:
    """Return the expression with symbols replaced."""
    if isinstance(expr, Sym):
        return replacements.get(expr.name, expr)
    if isinstance(expr, Binary):
        left = substitute(expr.left, replacements)
        return binary(expr.op, left, substitute(expr.right, replacements))
    return expr


def steps_by_one(expr: Expr, name: str) -> bool:
    """Tell whether an expression is a term without the symbol plus the symbol itself."""
    if isinstance(expr, Sym):
        return expr.name == name
    if not isinstance(expr, Binary) or expr.op not in "+-":
        return False
    left, right = name in expr.left.symbols(), name in expr.right.symbols()
    if left and not right:
        return steps_by_one(expr.left, name)
    return expr.op == "+" and right and not left and steps_by_one(expr.right, name)


def cdiv(value: Expr | int, divisor: Expr | int) -> Expr:
    """Return the quotient rounded up, for a non-negative value and a positive divisor."""
    return binary("//", binary("+", value, binary("-", divisor, 1)), divisor)
