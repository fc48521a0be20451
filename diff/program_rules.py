"""The vocabulary of random programs: every op that a program may hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from .program_floats import floats, functions
from .program_types import BITS, INTS, TRITON, UNSIGNED, Rule
from .program_types import unsigned as _u


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


@cache
def rules(*, gpu: bool = False) -> dict[str, tuple[Rule, ...]]:
    """Return the rules by op name; with `gpu` only those that a GPU backend lowers."""
    found: dict[str, list[Rule]] = {}
    for make in (_integers, _truth, floats, functions):
        for rule in make():
            if rule.gpu or not gpu:
                found.setdefault(rule.name, []).append(rule)
    return {name: tuple(items) for name, items in found.items()}
