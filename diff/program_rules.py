"""The vocabulary of random programs: every op that a program may hold, in IR and in Triton source.

A rule is one op at one combination of element types. The IR text is what the proof and the torch
domain read and what a GPU compiles; the source text is the same program for Triton's interpreter.
Operands of ops that are undefined somewhere (division, shifts, float to integer) are guarded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

#: Bits of every element type.
BITS = {
    "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64,
    "bf16": 16, "f16": 16, "f32": 32, "f64": 64, "f8E4M3FN": 8, "f8E5M2": 8,
}  # fmt: skip
INTS = ("i8", "i16", "i32", "i64")
FLOATS = ("bf16", "f16", "f32", "f64")
SMALL = ("f8E4M3FN", "f8E5M2")

#: Triton's name of an element type, and of the unsigned integer of the same width.
TRITON = {
    "i1": "tl.int1", "i8": "tl.int8", "i16": "tl.int16", "i32": "tl.int32", "i64": "tl.int64",
    "bf16": "tl.bfloat16", "f16": "tl.float16", "f32": "tl.float32", "f64": "tl.float64",
    "f8E4M3FN": "tl.float8e4nv", "f8E5M2": "tl.float8e5",
}  # fmt: skip
UNSIGNED = {name: f"tl.uint{BITS[name]}" for name in INTS}


@dataclass(frozen=True)
class Rule:
    """One op at one combination of types.

    Args:
        name: name of the op.
        ins, out: element types of operands and result.
        ttir: the text after `%r = `; {0}, {1} are operands, {t} the result's type, {a} the first
            operand's.
        source: the same as a Triton expression; {0} and {1} are operands.
        guard: what keeps operands inside the op's domain: "shift", "sdiv", "udiv", "magnitude",
            "to signed", "to unsigned", or "".
        exact: False where hardware may differ in the last bits.
        gpu: False where Triton's backend has no lowering.
    """

    name: str
    ins: tuple[str, ...]
    out: str
    ttir: str
    source: str
    guard: str = ""
    exact: bool = True
    gpu: bool = True

    @property
    def label(self) -> str:
        """The op with its types, e.g. "arith.addi i32"."""
        left = ", ".join(dict.fromkeys(self.ins))
        return f"{self.name} {left}" + ("" if self.out in self.ins else f" to {self.out}")


def _u(operand: str, elem: str) -> str:
    return f"{operand}.to({UNSIGNED[elem]}, bitcast=True)"


def _integers() -> Iterator[Rule]:
    plain = {"addi": "+", "subi": "-", "muli": "*", "andi": "&", "ori": "|", "xori": "^"}
    for t in INTS:
        s, x, y = TRITON[t], _u("{0}", t), _u("{1}", t)
        back = f".to({s}, bitcast=True)"
        for name, sign in plain.items():
            yield Rule(
                f"arith.{name}",
                (t, t),
                t,
                f"arith.{name} {{0}}, {{1}} : {{t}}",
                f"({{0}} {sign} {{1}})",
            )
        for name, expr, guard in (
            ("divsi", "({0} // {1})", "sdiv"),
            ("remsi", "({0} % {1})", "sdiv"),
            ("divui", f"({x} // {y}){back}", "udiv"),
            ("remui", f"({x} % {y}){back}", "udiv"),
            ("shli", "({0} << {1})", "shift"),
            ("shrsi", "({0} >> {1})", "shift"),
            ("shrui", f"({x} >> {y}){back}", "shift"),
            ("minsi", "tl.minimum({0}, {1})", ""),
            ("maxsi", "tl.maximum({0}, {1})", ""),
            ("minui", f"tl.minimum({x}, {y}){back}", ""),
            ("maxui", f"tl.maximum({x}, {y}){back}", ""),
        ):
            yield Rule(
                f"arith.{name}", (t, t), t, f"arith.{name} {{0}}, {{1}} : {{t}}", expr, guard
            )
        for predicate, sign in _ORDERS.items():
            unsigned = predicate.startswith("u")
            expr = f"({x if unsigned else '{0}'} {sign} {y if unsigned else '{1}'})"
            yield Rule(
                "arith.cmpi", (t, t), "i1", f"arith.cmpi {predicate}, {{0}}, {{1}} : {{a}}", expr
            )
        if t in ("i32", "i64"):
            yield Rule(
                "tt.mulhiui", (t, t), t, "tt.mulhiui {0}, {1} : {t}", f"tl.umulhi({x}, {y}){back}"
            )
        yield Rule("math.absi", (t,), t, "math.absi {0} : {t}", "tl.abs({0})", "magnitude")
        for u in INTS:
            if BITS[u] > BITS[t]:
                yield Rule(
                    "arith.extsi", (t,), u, "arith.extsi {0} : {a} to {t}", f"{{0}}.to({TRITON[u]})"
                )
                yield Rule(
                    "arith.extui",
                    (t,),
                    u,
                    "arith.extui {0} : {a} to {t}",
                    f"{x}.to({UNSIGNED[u]}).to({TRITON[u]}, bitcast=True)",
                )
                yield Rule(
                    "arith.trunci", (u,), t, "arith.trunci {0} : {a} to {t}", f"{{0}}.to({s})"
                )


_ORDERS = {
    "eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=",
    "ult": "<", "ule": "<=", "ugt": ">", "uge": ">=",
}  # fmt: skip


def _truth() -> Iterator[Rule]:
    for name, sign in {"andi": "&", "ori": "|", "xori": "^"}.items():
        yield Rule(
            f"arith.{name}",
            ("i1", "i1"),
            "i1",
            f"arith.{name} {{0}}, {{1}} : {{t}}",
            f"({{0}} {sign} {{1}})",
        )
    for t in INTS:
        yield Rule(
            "arith.extui", ("i1",), t, "arith.extui {0} : {a} to {t}", f"{{0}}.to({TRITON[t]})"
        )
        yield Rule(
            "arith.extsi",
            ("i1",),
            t,
            "arith.extsi {0} : {a} to {t}",
            f"(0 - {{0}}.to({TRITON[t]})).to({TRITON[t]})",
        )
        yield Rule("arith.trunci", (t,), "i1", "arith.trunci {0} : {a} to {t}", "(({0} & 1) != 0)")
    yield Rule(
        "arith.uitofp", ("i1",), "f32", "arith.uitofp {0} : {a} to {t}", "{0}.to(tl.float32)"
    )
    for predicate in ("eq", "ne"):
        yield Rule(
            "arith.cmpi",
            ("i1", "i1"),
            "i1",
            f"arith.cmpi {predicate}, {{0}}, {{1}} : {{a}}",
            "({0} ^ {1})" if predicate == "ne" else "(({0} ^ {1}) == 0)",
        )
    for t in BITS:
        yield Rule(
            "arith.select",
            ("i1", t, t),
            t,
            "arith.select {0}, {1}, {2} : {a}, {t}",
            "tl.where({0}, {1}, {2})",
        )


_FLOAT_ORDERS = {
    "oeq": "{0} == {1}", "ogt": "{0} > {1}", "oge": "{0} >= {1}", "olt": "{0} < {1}",
    "ole": "{0} <= {1}", "one": "({0} < {1}) | ({0} > {1})", "une": "{0} != {1}",
    "ord": "({0} == {0}) & ({1} == {1})", "uno": "({0} != {0}) | ({1} != {1})",
    "ueq": "(({0} < {1}) | ({0} > {1})) == 0", "ugt": "({0} <= {1}) == 0",
    "uge": "({0} < {1}) == 0", "ult": "({0} >= {1}) == 0", "ule": "({0} > {1}) == 0",
}  # fmt: skip


def _floats() -> Iterator[Rule]:
    for t in FLOATS:
        s = TRITON[t]
        for name, expr in (
            ("addf", "({0} + {1})"),
            ("subf", "({0} - {1})"),
            ("mulf", "({0} * {1})"),
            ("maxnumf", "tl.maximum({0}, {1})"),
            ("minnumf", "tl.minimum({0}, {1})"),
            ("maximumf", "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)"),
            ("minimumf", "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)"),
        ):
            # f64 has no instruction that passes a NaN on.
            lowered = t != "f64" or name[-4:] != "mumf"
            if t == "bf16" and expr.startswith("tl."):
                expr += ".to(tl.bfloat16)"  # noqa: PLW2901 - the language widens bf16 for it
            yield Rule(
                f"arith.{name}", (t, t), t, f"arith.{name} {{0}}, {{1}} : {{t}}", expr, gpu=lowered
            )
        for predicate, expr in _FLOAT_ORDERS.items():
            yield Rule(
                "arith.cmpf",
                (t, t),
                "i1",
                f"arith.cmpf {predicate}, {{0}}, {{1}} : {{a}}",
                f"({expr})",
            )
        top = 1 << (BITS[t] - 1)
        integer = TRITON[f"i{BITS[t]}"]
        view, back = f".to({integer}, bitcast=True)", f".to({s}, bitcast=True)"
        # The GPU backend lowers it for no tensor; Triton's front end never makes one.
        yield Rule(
            "arith.negf",
            (t,),
            t,
            "arith.negf {0} : {t}",
            f"(({{0}}{view} ^ ({-top})).to({integer})){back}",
            gpu=False,
        )
        yield Rule(
            "math.absf",
            (t,),
            t,
            "math.absf {0} : {t}",
            f"(({{0}}{view} & {top - 1}).to({integer})){back}",
        )
        for i in INTS:
            yield Rule("arith.sitofp", (i,), t, "arith.sitofp {0} : {a} to {t}", f"{{0}}.to({s})")
            yield Rule(
                "arith.uitofp", (i,), t, "arith.uitofp {0} : {a} to {t}", f"{_u('{0}', i)}.to({s})"
            )
            yield Rule(
                "arith.fptosi",
                (t,),
                i,
                "arith.fptosi {0} : {a} to {t}",
                f"{{0}}.to({TRITON[i]})",
                "to signed",
            )
            yield Rule(
                "arith.fptoui",
                (t,),
                i,
                "arith.fptoui {0} : {a} to {t}",
                f"{{0}}.to({UNSIGNED[i]}).to({TRITON[i]}, bitcast=True)",
                "to unsigned",
            )
        for u in FLOATS:
            if BITS[u] > BITS[t]:
                yield Rule(
                    "arith.extf", (t,), u, "arith.extf {0} : {a} to {t}", f"{{0}}.to({TRITON[u]})"
                )
                yield Rule(
                    "arith.truncf", (u,), t, "arith.truncf {0} : {a} to {t}", f"{{0}}.to({s})"
                )
    for t in SMALL:
        for u in ("bf16", "f16", "f32"):
            yield Rule(
                "tt.fp_to_fp",
                (u,),
                t,
                "tt.fp_to_fp {0}, rounding = rtne : {a} -> {t}",
                f"{{0}}.to({TRITON[t]})",
            )
            yield Rule(
                "tt.fp_to_fp", (t,), u, "tt.fp_to_fp {0} : {a} -> {t}", f"{{0}}.to({TRITON[u]})"
            )
    for t in (*INTS, *FLOATS, *SMALL):
        for u in (*INTS, *FLOATS, *SMALL):
            if t != u and BITS[t] == BITS[u]:
                yield Rule(
                    "tt.bitcast",
                    (t,),
                    u,
                    "tt.bitcast {0} : {a} -> {t}",
                    f"{{0}}.to({TRITON[u]}, bitcast=True)",
                )


def _functions() -> Iterator[Rule]:
    t = "f32"
    yield Rule(
        "tt.clampf",
        (t, t, t),
        t,
        "tt.clampf {0}, {1}, {2}, propagateNan = none : {t}",
        "tl.clamp({0}, {1}, {2})",
    )
    yield Rule("arith.divf", (t, t), t, "arith.divf {0}, {1} : {t}", "({0} / {1})", exact=False)
    yield Rule("arith.remf", (t, t), t, "arith.remf {0}, {1} : {t}", "({0} % {1})", exact=False)
    yield Rule(
        "tt.precise_divf", (t, t), t, "tt.precise_divf {0}, {1} : {t}", "tl.div_rn({0}, {1})"
    )
    yield Rule("tt.precise_sqrt", (t,), t, "tt.precise_sqrt {0} : {t}", "tl.sqrt_rn({0})")
    yield Rule("math.fma", (t, t, t), t, "math.fma {0}, {1}, {2} : {t}", "tl.fma({0}, {1}, {2})")
    for name in ("floor", "ceil"):
        yield Rule(f"math.{name}", (t,), t, f"math.{name} {{0}} : {{t}}", f"tl.{name}({{0}})")
    for name in ("trunc", "round", "tanh"):
        # Triton's language has no name for these; the interpreter is given something else.
        yield Rule(
            f"math.{name}",
            (t,),
            t,
            f"math.{name} {{0}} : {{t}}",
            "({0} + {0})",
            exact=name != "tanh",
            gpu=False,
        )
    for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf"):
        yield Rule(
            f"math.{name}", (t,), t, f"math.{name} {{0}} : {{t}}", f"tl.{name}({{0}})", exact=False
        )


@cache
def rules(*, gpu: bool = False) -> dict[str, tuple[Rule, ...]]:
    """Return the rules by op name; with `gpu` only those that a GPU backend lowers."""
    found: dict[str, list[Rule]] = {}
    for make in (_integers, _truth, _floats, _functions):
        for rule in make():
            if rule.gpu or not gpu:
                found.setdefault(rule.name, []).append(rule)
    return {name: tuple(items) for name, items in found.items()}
