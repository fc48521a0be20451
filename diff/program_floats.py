"""Rules of random programs for floats and mathematical functions."""

from __future__ import annotations

from collections.abc import Iterator

from .program_types import BITS, FLOATS, INTS, SMALL, TRITON, UNSIGNED, Rule
from .program_types import unsigned as _u

_FLOAT_ORDERS = {
    "oeq": "{0} == {1}", "ogt": "{0} > {1}", "oge": "{0} >= {1}", "olt": "{0} < {1}",
    "ole": "{0} <= {1}", "one": "({0} < {1}) | ({0} > {1})", "une": "{0} != {1}",
    "ord": "({0} == {0}) & ({1} == {1})", "uno": "({0} != {0}) | ({1} != {1})",
    "ueq": "(({0} < {1}) | ({0} > {1})) == 0", "ugt": "({0} <= {1}) == 0",
    "uge": "({0} < {1}) == 0", "ult": "({0} >= {1}) == 0", "ule": "({0} > {1}) == 0",
}  # fmt: skip


def floats() -> Iterator[Rule]:
    """Yield the rules of float arithmetic, comparisons and casts."""
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


def functions() -> Iterator[Rule]:
    """Yield the rules of functions, exact and approximate."""
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
