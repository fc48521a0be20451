"""Element types of random programs, and what a rule is: one op, in IR and in Triton source.

A rule is one op at one combination of element types. The IR text is what the proof and the torch
domain read and what a GPU compiles; the source text is the same program for Triton's interpreter.
Operands of ops that are undefined somewhere (division, shifts, float to integer) are guarded.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def unsigned(operand: str, elem: str) -> str:
    """Return an operand viewed as unsigned, as a Triton expression."""
    return f"{operand}.to({UNSIGNED[elem]}, bitcast=True)"
