"""The z3 algebra and the torch algebra agree: on constants, and on terms that hold constants."""

from __future__ import annotations

import itertools

import pytest
import torch
import z3
from kvproof.checkers.bitvectors import BitVectors, term
from kvproof.checkers.tensor_algebra import TensorAlgebra
from kvproof.checkers.tensor_integers import DTYPE

from .integers import columns, edges, signed

ORDERS = ("eq", "ne", *(sign + order for sign in "su" for order in ("lt", "le", "gt", "ge")))
BINARY = {
    "add": lambda g, a, b, w: g.add(a, b, w),
    "sub": lambda g, a, b, w: g.sub(a, b, w),
    "mul": lambda g, a, b, w: g.mul(a, b, w),
    "mulhi": lambda g, a, b, w: g.mulhi(a, b, w),
    **{
        name: lambda g, a, b, w, name=name: g.bitwise(name, a, b, w)
        for name in ("andi", "ori", "xori")
    },
    **{
        name: lambda g, a, b, w, name=name: g.divide(name, a, b, w)
        for name in ("divsi", "divui", "remsi", "remui")
    },
    **{
        name: lambda g, a, b, w, name=name: g.shift(name, a, b, w)
        for name in ("shli", "shrsi", "shrui")
    },
    **{name: lambda g, a, b, w, name=name: g.compare(name, a, b, w) for name in ORDERS},
}


def settle(made, w):
    """Return the Python value of a constant or of a term without variables."""
    if isinstance(made, int):
        return made
    folded = z3.simplify(made)
    return z3.is_true(folded) if z3.is_bool(folded) else signed(folded.as_long(), w)


@pytest.mark.parametrize("w", (8, 64))
@pytest.mark.parametrize("name", BINARY)
def test_integers_agree(name, w):
    numbers = [*edges(w)[::2], 0, 1, -1, w - 1, w]
    cases = list(itertools.product(numbers, repeat=2))
    run = BINARY[name]
    want = run(TensorAlgebra(), *columns(w, cases), w).tolist()
    solver = BitVectors()
    folded = [settle(run(solver, a, b, w), w) for a, b in cases]
    terms = [settle(run(solver, term(a, w), term(b, w), w), w) for a, b in cases]
    for case, torch_value, constant, value in zip(cases, want, folded, terms, strict=True):
        assert (constant, value) == (torch_value, torch_value), case


@pytest.mark.parametrize("name", ORDERS)
def test_truth_values_agree(name):
    for a, b in itertools.product((False, True), repeat=2):
        want = TensorAlgebra().compare(name, torch.tensor(a), torch.tensor(b), 1).item()
        solver = BitVectors()
        assert settle(solver.compare(name, a, b, 1), 1) == want
        assert settle(solver.compare(name, z3.BoolVal(a), z3.BoolVal(b), 1), 1) == want


@pytest.mark.parametrize(("w", "to"), ((8, 32), (32, 64), (1, 16), (1, 32)))
def test_widths_agree(w, to):
    for value in (False, True) if w == 1 else edges(w):
        tensor = torch.tensor(value, dtype=DTYPE[w])
        for name in ("sext", "zext"):
            want = getattr(TensorAlgebra(), name)(tensor, w, to).item()
            for given in (value, term(value, w)):
                assert settle(getattr(BitVectors(), name)(given, w, to), to) == want, (name, given)
    for value in edges(to):
        want = TensorAlgebra().trunc(torch.tensor(value, dtype=DTYPE[to]), to, w).item()
        for given in (value, term(value, to)):
            assert settle(BitVectors().trunc(given, to, w), w) == want


FLOATS = {
    "bf16": (0, 0x8000, 1, 0x3F80, 0xBF81, 0x7F7F, 0x7F80, 0xFF80, 0x4049, 0x0080),
    "f16": (0, 0x8000, 1, 0x03FF, 0x0400, 0x3C00, 0xBC01, 0x7BFF, 0x7C00, 0xFC00),
    "f32": (0, 0x80000000, 1, 0x3F800000, 0xBF808001, 0x7F7FFFFF, 0x7F800000, 0x3F808000),
}


@pytest.mark.parametrize("fmt", FLOATS)
@pytest.mark.parametrize("name", ("addf", "subf", "mulf", "maxnumf", "minimumf"))
def test_float_arithmetic_agrees_but_for_nan(name, fmt):
    w = 32 if fmt == "f32" else 16
    raw = [signed(bits, w) for bits in FLOATS[fmt]]
    for a, b in itertools.product(raw, repeat=2):
        want = TensorAlgebra().float_binary(name, a, b, fmt)
        made = z3.simplify(BitVectors().float_binary(name, term(a, w), term(b, w), fmt))
        # What is left open (a NaN's payload, the sign of a zero) is no numeral.
        if z3.is_bv_value(made):
            assert signed(made.as_long(), w) == want, (a, b)
        else:
            assert want & (1 << (w - 1)) - 1 in {0, (1 << (w - 1)) - 1}


@pytest.mark.parametrize("predicate", ("oeq", "une", "olt", "ult", "oge", "uno", "ord", "one"))
def test_float_comparisons_agree(predicate):
    raw = [signed(bits, 16) for bits in (*FLOATS["bf16"], 0x7FC0, 0xFF81)]
    for a, b in itertools.product(raw, repeat=2):
        want = TensorAlgebra().float_compare(predicate, a, b, "bf16")
        made = BitVectors().float_compare(predicate, term(a, 16), term(b, 16), "bf16")
        assert settle(made, 1) == want, (a, b)


@pytest.mark.parametrize(
    ("source", "target"), (("f32", "bf16"), ("f32", "f16"), ("bf16", "f32"), ("f16", "f32"))
)
def test_float_casts_of_numbers_agree(source, target):
    w, to = (32 if fmt == "f32" else 16 for fmt in (source, target))
    for bits in FLOATS[source]:
        a = signed(bits, w)
        want = TensorAlgebra().float_cast(a, source, target, "rtne")
        made = BitVectors().float_cast(term(a, w), source, target, "rtne")
        assert settle(made, to) == want, hex(bits)
