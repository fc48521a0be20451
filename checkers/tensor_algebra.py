"""The torch algebra: `optable.Algebra` on Python ints and CPU tensors.

A value that is the same for every program and lane stays a Python int or bool and costs no tensor
op. Integers are two's complement at IR width (`tensor_integers`), floats bit patterns
(`tensor_floats`).
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from . import tensor_floats as floats
from . import tensor_integers as ints
from .tensor_integers import Report, Value, is_plain, signed
from .ttir import FloatType, Op


def _silent(what: str, where: object) -> None:
    """Report nothing."""


class TensorAlgebra:
    """Implements `optable.Algebra` on tensors.

    Args:
        report: called with what is undefined, and with a truth tensor of where (None: everywhere).
    """

    def __init__(self, report: Report = _silent) -> None:
        self._report = report

    def bits(self, a: Value, w: int) -> Value:
        return a

    def number(self, a: Value, w: int) -> Value:
        return a

    def held(self, w: int) -> int:
        return w

    def add(self, a: Value, b: Value, w: int) -> Value:
        if w == 1:
            return a ^ b
        return signed(a + b, w) if is_plain(a, b) else a + b

    def sub(self, a: Value, b: Value, w: int) -> Value:
        if w == 1:
            return a ^ b
        return signed(a - b, w) if is_plain(a, b) else a - b

    def mul(self, a: Value, b: Value, w: int) -> Value:
        if w == 1:
            return a & b
        return signed(a * b, w) if is_plain(a, b) else a * b

    def divide(self, op: str, a: Value, b: Value, w: int) -> Value:
        return ints.divide(op, a, b, w, self._report)

    def bitwise(self, op: str, a: Value, b: Value, w: int) -> Value:
        return a & b if op == "andi" else a | b if op == "ori" else a ^ b

    def shift(self, op: str, a: Value, b: Value, w: int) -> Value:
        return ints.shift(op, a, b, w, self._report)

    def compare(self, predicate: str, a: Value, b: Value, w: int) -> Value:
        return ints.compare(predicate, a, b, w)

    def select(self, c: Value, a: Value, b: Value, w: int) -> Value:
        return ints.select(c, a, b, w)

    def sext(self, a: Value, w: int, to: int) -> Value:
        return ints.sext(a, w, to)

    def zext(self, a: Value, w: int, to: int) -> Value:
        return ints.zext(a, w, to)

    def trunc(self, a: Value, w: int, to: int) -> Value:
        return ints.trunc(a, to)

    def mulhi(self, a: Value, b: Value, w: int) -> Value:
        return ints.mulhi(a, b, w)

    def float_binary(self, op: str, a: Value, b: Value, fmt: str) -> Value:
        return floats.binary(op, a, b, fmt)

    def float_unary(self, op: str, a: Value, fmt: str) -> Value:
        w = floats.format_of(fmt).bits
        if op == "negf":
            return a ^ -(1 << (w - 1))
        if op == "absf":
            return a & ((1 << (w - 1)) - 1)
        raise TypeError(f"{op} has no bit-level meaning")

    def float_compare(self, predicate: str, a: Value, b: Value, fmt: str) -> Value:
        return floats.compare(predicate, a, b, fmt)

    def float_cast(self, a: Value, source: str, target: str, rounding: str | None) -> Value:
        return floats.cast(a, source, target, rounding)

    def int_to_float(self, a: Value, w: int, fmt: str, *, signed: bool) -> Value:
        return floats.from_int(
            ints.sext(a, 1, 8) if w == 1 and signed else a, max(w, 8), fmt, signed=signed
        )

    def float_to_int(self, a: Value, fmt: str, w: int, *, signed: bool) -> Value:
        made, beyond = floats.to_int(a, fmt, max(w, 8), signed=signed)
        if bool(beyond.any()):
            self._report(f"a float beyond {w} bits to an integer", beyond)
        return ints.trunc(made, 1) if w == 1 else made

    def uninterpreted(self, name: str, args: tuple[Value, ...], op: Op) -> Value:
        elem = op.result_types[0].elem
        short = name.partition(".")[2]
        if not isinstance(elem, FloatType):
            if short != "absi":
                raise TypeError(f"{name}: the result is no float")
            return self._magnitude(args[0], op.result_types[0].width())
        function = _FUNCTIONS.get(short)
        if function is None:
            raise TypeError(f"no rule for {name}")
        made = function(*(floats.decode(x, elem.name) for x in args))
        return floats.lower(floats.encode(made, elem.name), *args)

    def _magnitude(self, a: Value, w: int) -> Value:
        least = self.compare("eq", a, -(1 << (w - 1)), w)
        if least is True or (not is_plain(least) and bool(least.any())):
            self._report(f"the magnitude of the least number of {w} bits", least)
        return self.select(self.compare("slt", a, 0, w), self.sub(0, a, w), a, w)


def _round(x: torch.Tensor) -> torch.Tensor:
    """Round to nearest, ties away from zero."""
    whole = x.trunc()
    return torch.where((x - whole).abs() >= 0.5, whole + x.sign(), whole)


def _fma(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Round `x * y + z` once: the sum is rounded to odd in f64, which a second rounding keeps."""
    if x.dtype == torch.float64:
        raise TypeError("no rule for math.fma of f64")
    product, term = x.double() * y.double(), z.double()
    total = product + term
    part = total - product
    lost = (product - (total - part)) + (term - part)
    bits = total.contiguous().view(torch.int64)
    inexact = (lost != 0) & total.isfinite() & ((bits & 1) == 0)
    away = (lost > 0) == (total > 0)
    odd = bits + torch.where(inexact, torch.where(away, 1, -1), 0)
    return odd.view(torch.float64).to(torch.float32)


def _flushed(x: torch.Tensor) -> torch.Tensor:
    """Make f32 subnormals zeros of their sign, as Triton's floor and ceil do on NVIDIA hardware."""
    if x.dtype != torch.float32:
        return x
    return torch.where(x.abs() < 2.0**-126, x * 0, x)


def _precise_sqrt(x: torch.Tensor) -> torch.Tensor:
    """Round correctly, by way of f64: torch's own f32 root is off by one unit here and there."""
    if x.dtype == torch.float64:
        raise TypeError("no rule for tt.precise_sqrt of f64")
    return torch.sqrt(x.double()).to(torch.float32)


_FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "exp": torch.exp,
    "exp2": torch.exp2,
    "log": torch.log,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "floor": lambda x: torch.floor(_flushed(x)),
    "ceil": lambda x: torch.ceil(_flushed(x)),
    "trunc": torch.trunc,
    "round": _round,
    "fma": _fma,
    "precise_sqrt": _precise_sqrt,
    "precise_divf": torch.div,
}
