"""One row per pointwise TTIR op: what it does at IR width, in any domain.

A row is written against `Algebra`, which the z3 domain and the torch domain implement. Integers are
signless two's complement of the width in the IR; i1 is a truth value. Floats are bit patterns.
An op without a row is not guessed: whatever depends on it is UNSUPPORTED.

Source: the MLIR documentation of the `arith` and `math` dialects and Triton's own dialect. `divsi`
and `remsi` truncate toward zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .ttir import FloatType, IntType, Op


class Algebra(Protocol):
    """Scalar operations of a domain. `w` is a width in bits; 1 means truth values."""

    def add(self, a: Any, b: Any, w: int) -> Any: ...
    def sub(self, a: Any, b: Any, w: int) -> Any: ...
    def mul(self, a: Any, b: Any, w: int) -> Any: ...
    def divide(self, op: str, a: Any, b: Any, w: int) -> Any: ...
    def bitwise(self, op: str, a: Any, b: Any, w: int) -> Any: ...
    def shift(self, op: str, a: Any, b: Any, w: int) -> Any: ...
    def compare(self, predicate: str, a: Any, b: Any, w: int) -> Any: ...
    def select(self, c: Any, a: Any, b: Any, w: int) -> Any: ...
    def sext(self, a: Any, w: int, to: int) -> Any: ...
    def zext(self, a: Any, w: int, to: int) -> Any: ...
    def trunc(self, a: Any, w: int, to: int) -> Any: ...
    def mulhi(self, a: Any, b: Any, w: int) -> Any: ...
    def float_binary(self, op: str, a: Any, b: Any, fmt: str) -> Any: ...
    def float_unary(self, op: str, a: Any, fmt: str) -> Any: ...
    def float_compare(self, predicate: str, a: Any, b: Any, fmt: str) -> Any: ...
    def float_cast(self, a: Any, source: str, target: str, rounding: str | None) -> Any: ...
    def int_to_float(self, a: Any, w: int, fmt: str, *, signed: bool) -> Any: ...
    def float_to_int(self, a: Any, fmt: str, w: int, *, signed: bool) -> Any: ...
    def bits(self, a: Any, w: int) -> Any: ...
    def number(self, a: Any, w: int) -> Any: ...
    def held(self, w: int) -> int: ...
    def uninterpreted(self, name: str, args: tuple[Any, ...], op: Op) -> Any: ...


Row = Callable[[Algebra, Op, tuple[Any, ...]], Any]


@dataclass(frozen=True)
class OpRow:
    """What one op does.

    Args:
        name: the op's name in TTIR.
        meaning: the operation in words, for the semantics table.
        apply: the operation on scalars of a domain.
        exact: False for an op that the proof keeps as an uninterpreted function.
    """

    name: str
    meaning: str
    apply: Row
    exact: bool = True


def width(op: Op, operand: int = 0) -> int:
    """Return the integer width of an operand. Raises TypeError when it is no integer."""
    elem = op.operand_types[operand].elem
    if not isinstance(elem, IntType):
        raise TypeError(f"{op.name}: operand {operand} is no integer")
    return elem.width


def result_width(op: Op) -> int:
    """Return the integer width of the result. Raises TypeError when it is no integer."""
    elem = op.result_types[0].elem
    if not isinstance(elem, IntType):
        raise TypeError(f"{op.name}: the result is no integer")
    return elem.width


def float_name(op: Op, operand: int | None = 0) -> str:
    """Return the float format of an operand, or of the result when `operand` is None."""
    types = op.result_types if operand is None else op.operand_types
    elem = types[operand or 0].elem
    if not isinstance(elem, FloatType):
        raise TypeError(f"{op.name}: operand {operand} is no float")
    return elem.name


def _bitcast(g: Algebra, op: Op, v: tuple[Any, ...]) -> Any:
    if op.operand_types[0].width() != op.result_types[0].width():
        raise TypeError(f"{op.name}: widths differ")
    w = op.operand_types[0].width()
    source, target = op.operand_types[0].elem, op.result_types[0].elem
    bits = g.bits(v[0], w) if isinstance(source, IntType) else v[0]
    return g.number(bits, w) if isinstance(target, IntType) else bits


def _select(g: Algebra, op: Op, v: tuple[Any, ...]) -> Any:
    return g.select(v[0], v[1], v[2], op.result_types[0].width())


def _umulhi(g: Algebra, op: Op, v: tuple[Any, ...]) -> Any:
    return g.mulhi(v[0], v[1], width(op))


def _clampf(g: Algebra, op: Op, v: tuple[Any, ...]) -> Any:
    fmt = float_name(op)
    lower = g.float_binary("maxnumf", v[0], v[1], fmt)
    return g.float_binary("minnumf", lower, v[2], fmt)


def _minmax(g: Algebra, op: Op, v: tuple[Any, ...], predicate: str) -> Any:
    w = width(op)
    return g.select(g.compare(predicate, v[0], v[1], w), v[0], v[1], g.held(w))


def _uninterpreted(g: Algebra, op: Op, v: tuple[Any, ...]) -> Any:
    return g.uninterpreted(op.name, v, op)


def _rows() -> list[OpRow]:
    rows = [
        OpRow("arith.addi", "sum modulo 2^w", lambda g, o, v: g.add(v[0], v[1], width(o))),
        OpRow("arith.subi", "difference modulo 2^w", lambda g, o, v: g.sub(v[0], v[1], width(o))),
        OpRow("arith.muli", "product modulo 2^w", lambda g, o, v: g.mul(v[0], v[1], width(o))),
        OpRow("arith.select", "second or third by the first", _select),
        OpRow(
            "arith.extsi", "widen by sign", lambda g, o, v: g.sext(v[0], width(o), result_width(o))
        ),
        OpRow(
            "arith.extui", "widen by zeros", lambda g, o, v: g.zext(v[0], width(o), result_width(o))
        ),
        OpRow("arith.trunci", "low bits", lambda g, o, v: g.trunc(v[0], width(o), result_width(o))),
        OpRow(
            "arith.cmpi",
            "integer comparison",
            lambda g, o, v: g.compare(str(o.attrs["predicate"]), v[0], v[1], width(o)),
        ),
        OpRow(
            "arith.cmpf",
            "float comparison",
            lambda g, o, v: g.float_compare(str(o.attrs["predicate"]), v[0], v[1], float_name(o)),
        ),
        OpRow("arith.bitcast", "the same bits", _bitcast),
        OpRow("tt.mulhiui", "high half of the unsigned product", _umulhi),
        OpRow("tt.clampf", "clamp, NaN gives the lower bound", _clampf),
        OpRow(
            "arith.sitofp",
            "signed integer to float",
            lambda g, o, v: g.int_to_float(v[0], width(o), float_name(o, None), signed=True),
        ),
        OpRow(
            "arith.uitofp",
            "unsigned integer to float",
            lambda g, o, v: g.int_to_float(v[0], width(o), float_name(o, None), signed=False),
        ),
        OpRow(
            "arith.fptosi",
            "float to signed integer, toward zero",
            lambda g, o, v: g.float_to_int(v[0], float_name(o), result_width(o), signed=True),
        ),
        OpRow(
            "arith.fptoui",
            "float to unsigned integer, toward zero",
            lambda g, o, v: g.float_to_int(v[0], float_name(o), result_width(o), signed=False),
        ),
    ]
    for name in ("divsi", "divui", "remsi", "remui"):
        rows.append(
            OpRow(
                f"arith.{name}",
                "division, toward zero" if name.startswith("div") else "remainder of it",
                lambda g, o, v, name=name: g.divide(name, v[0], v[1], width(o)),
            )
        )
    for name in ("andi", "ori", "xori"):
        rows.append(
            OpRow(
                f"arith.{name}",
                "bitwise",
                lambda g, o, v, name=name: g.bitwise(name, v[0], v[1], width(o)),
            )
        )
    for name in ("shli", "shrsi", "shrui"):
        rows.append(
            OpRow(
                f"arith.{name}",
                "shift; an amount of w or more is undefined",
                lambda g, o, v, name=name: g.shift(name, v[0], v[1], width(o)),
            )
        )
    for name, predicate in (
        ("minsi", "slt"),
        ("maxsi", "sgt"),
        ("minui", "ult"),
        ("maxui", "ugt"),
    ):
        rows.append(
            OpRow(
                f"arith.{name}",
                "smaller or larger",
                lambda g, o, v, p=predicate: _minmax(g, o, v, p),
            )
        )
    for name in (
        "addf",
        "subf",
        "mulf",
        "divf",
        "remf",
        "maxnumf",
        "minnumf",
        "maximumf",
        "minimumf",
    ):
        rows.append(
            OpRow(
                f"arith.{name}",
                "IEEE, round to nearest even",
                lambda g, o, v, name=name: g.float_binary(name, v[0], v[1], float_name(o)),
                exact=name not in ("divf", "remf"),
            )
        )
    for name in ("arith.negf", "math.absf"):
        rows.append(
            OpRow(
                name,
                "sign bit",
                lambda g, o, v: g.float_unary(o.name.partition(".")[2], v[0], float_name(o)),
            )
        )
    for name in ("arith.extf", "arith.truncf", "tt.fp_to_fp"):
        rows.append(
            OpRow(
                name,
                "convert between float formats",
                lambda g, o, v: g.float_cast(
                    v[0], float_name(o), float_name(o, None), _rounding(o)
                ),
            )
        )
    functions = "exp exp2 log log2 sqrt rsqrt sin cos tanh erf floor ceil fma absi trunc round"
    for name in functions.split():
        rows.append(OpRow(f"math.{name}", "mathematical function", _uninterpreted, exact=False))
    for name in ("tt.precise_sqrt", "tt.precise_divf"):
        rows.append(OpRow(name, "mathematical function", _uninterpreted, exact=False))
    return rows


def _rounding(op: Op) -> str | None:
    value = op.attrs.get("rounding")
    return None if value is None else str(value)


OPS = {row.name: row for row in _rows()}

#: Ops without a row that touch no memory: what depends on their results is UNSUPPORTED, nothing
#: else. Every other unknown op may store anywhere and makes the whole kernel UNSUPPORTED.
PURE = frozenset(
    {
        "tt.dot",
        "tt.dot_scaled",
        "tt.histogram",
        "tt.gather",
        "tt.scan",
        "tt.map_elementwise",
        "tt.unsplat",
        "tt.ptr_to_int",
        "tt.int_to_ptr",
        "tt.make_tensor_ptr",
        "tt.make_tensor_descriptor",
        "tt.advance",
        "ub.poison",
        "tt.cat",
        "tt.join",
        "tt.split",
    }
)


def is_pure(op: Op) -> bool:
    """Tell whether an op without a row is known to leave memory alone."""
    if op.name.startswith(("arith.", "math.")) or op.name in PURE:
        return True
    if op.name in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        return bool(op.attrs.get("pure"))
    return False
