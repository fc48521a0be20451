"""Integers of the torch algebra, against plain big-int arithmetic."""

from __future__ import annotations

import itertools

import pytest
import torch
from kvproof.checkers.tensor_algebra import TensorAlgebra
from kvproof.checkers.tensor_integers import DTYPE

from .integers import PREDICATES, WIDTHS, columns, edges, signed, unsigned


def pairs(w):
    return list(itertools.product(edges(w), edges(w)))


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def divided(op, a, b, w):
    if op.endswith("ui"):
        a, b = unsigned(a, w), unsigned(b, w)
    if b == 0:
        made = (1 if op == "divsi" and a < 0 else -1) if op.startswith("div") else a
    else:
        made = quotient(a, b) if op.startswith("div") else a - quotient(a, b) * b
    return signed(made, w)


def shifted(op, a, b, w):
    amount = unsigned(b, w)
    if op == "shli":
        return signed(a << amount, w) if amount < w else 0
    if op == "shrui":
        return signed(unsigned(a, w) >> amount, w) if amount < w else 0
    return a >> min(amount, w - 1)


def compared(name, a, b, w):
    if name in ("eq", "ne"):
        return PREDICATES[name](a, b)
    if name[0] == "u":
        a, b = unsigned(a, w), unsigned(b, w)
    return PREDICATES[name[1:]](a, b)


ORDERS = ("eq", "ne", *(sign + order for sign in "su" for order in ("lt", "le", "gt", "ge")))
INTEGER_OPS = {
    "add": (lambda g, a, b, w: g.add(a, b, w), lambda a, b, w: signed(a + b, w)),
    "sub": (lambda g, a, b, w: g.sub(a, b, w), lambda a, b, w: signed(a - b, w)),
    "mul": (lambda g, a, b, w: g.mul(a, b, w), lambda a, b, w: signed(a * b, w)),
    "mulhi": (
        lambda g, a, b, w: g.mulhi(a, b, w),
        lambda a, b, w: signed((unsigned(a, w) * unsigned(b, w)) >> w, w),
    ),
    "andi": (lambda g, a, b, w: g.bitwise("andi", a, b, w), lambda a, b, w: a & b),
    "ori": (lambda g, a, b, w: g.bitwise("ori", a, b, w), lambda a, b, w: a | b),
    "xori": (lambda g, a, b, w: g.bitwise("xori", a, b, w), lambda a, b, w: a ^ b),
    **{
        op: (
            lambda g, a, b, w, op=op: g.divide(op, a, b, w),
            lambda a, b, w, op=op: divided(op, a, b, w),
        )
        for op in ("divsi", "divui", "remsi", "remui")
    },
    **{
        op: (
            lambda g, a, b, w, op=op: g.shift(op, a, b, w),
            lambda a, b, w, op=op: shifted(op, a, b, w),
        )
        for op in ("shli", "shrsi", "shrui")
    },
    **{
        name: (
            lambda g, a, b, w, name=name: g.compare(name, a, b, w),
            lambda a, b, w, name=name: compared(name, a, b, w),
        )
        for name in ORDERS
    },
}


@pytest.mark.parametrize("w", WIDTHS)
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integers_are_those_of_plain_arithmetic(name, w):
    run, expect = INTEGER_OPS[name]
    algebra, cases = TensorAlgebra(), pairs(w)
    want = [expect(a, b, w) for a, b in cases]
    a, b = columns(w, cases)
    made = run(algebra, a, b, w)
    assert made.dtype == (torch.bool if name in ORDERS else DTYPE[w])
    assert made.tolist() == want
    for number in edges(w):
        one = torch.full((len(edges(w)),), number, dtype=DTYPE[w])
        other = torch.tensor(edges(w), dtype=DTYPE[w])
        assert torch.equal(run(algebra, number, other, w), run(algebra, one, other, w))
        assert torch.equal(run(algebra, other, number, w), run(algebra, other, one, w))
    plain = [run(algebra, a, b, w) for a, b in cases]
    assert plain == want
    assert all(isinstance(value, int) for value in plain)


@pytest.mark.parametrize(("w", "to"), ((8, 16), (8, 64), (16, 32), (32, 64), (1, 8), (1, 32)))
def test_widening_and_narrowing(w, to):
    algebra = TensorAlgebra()
    values = [False, True] if w == 1 else edges(w)
    tensor = torch.tensor(values, dtype=DTYPE[w])
    by_sign = [-int(x) if w == 1 else x for x in values]
    by_zero = [unsigned(int(x), w) for x in values]
    assert algebra.sext(tensor, w, to).tolist() == by_sign
    assert algebra.zext(tensor, w, to).tolist() == by_zero
    assert [algebra.sext(x, w, to) for x in values] == by_sign
    assert [algebra.zext(x, w, to) for x in values] == by_zero
    wide = edges(to)
    low = [bool(x & 1) if w == 1 else signed(x, w) for x in wide]
    assert algebra.trunc(torch.tensor(wide, dtype=DTYPE[to]), to, w).tolist() == low
    assert [algebra.trunc(x, to, w) for x in wide] == low


@pytest.mark.parametrize("name", ORDERS)
def test_truth_values_compare_as_one_bit(name):
    algebra = TensorAlgebra()
    cases = list(itertools.product((False, True), repeat=2))
    want = [compared(name, -int(a), -int(b), 1) for a, b in cases]
    a, b = (torch.tensor(column) for column in zip(*cases, strict=True))
    assert algebra.compare(name, a, b, 1).tolist() == want
    assert [algebra.compare(name, x, y, 1) for x, y in cases] == want
    assert algebra.compare(name, a, True, 1).tolist() == [
        compared(name, -int(x), -1, 1) for x, _ in cases
    ]


def test_truth_values_have_the_arithmetic_of_one_bit():
    algebra = TensorAlgebra()
    a, b = torch.tensor([False, False, True, True]), torch.tensor([False, True, False, True])
    assert algebra.add(a, b, 1).tolist() == [False, True, True, False]
    assert algebra.sub(a, b, 1).tolist() == [False, True, True, False]
    assert algebra.mul(a, b, 1).tolist() == [False, False, False, True]
    with pytest.raises(TypeError, match="truth values"):
        algebra.divide("divsi", a, b, 1)


@pytest.mark.parametrize("c", (True, False))
def test_select_takes_one_side(c):
    algebra = TensorAlgebra()
    assert algebra.select(c, 3, 4, 32) == (3 if c else 4)
    mixed = algebra.select(torch.tensor([c, not c]), 3, 4, 16)
    assert mixed.dtype == torch.int16
    assert mixed.tolist() == ([3, 4] if c else [4, 3])
    assert algebra.select(
        torch.tensor([c]), torch.tensor([1], dtype=torch.int8), -1, 8
    ).tolist() == [1 if c else -1]


UNDEFINED = (
    (lambda g: g.divide("divsi", 7, 0, 32), lambda g: g.divide("divsi", 7, 1, 32)),
    (lambda g: g.divide("remui", torch.tensor([7, 8]), torch.tensor([1, 0]), 64),
     lambda g: g.divide("remui", torch.tensor([7, 8]), torch.tensor([1, 1]), 64)),
    (lambda g: g.divide("divsi", torch.tensor([-128], dtype=torch.int8), -1, 8),
     lambda g: g.divide("divsi", torch.tensor([-127], dtype=torch.int8), -1, 8)),
    (lambda g: g.shift("shli", 1, 32, 32), lambda g: g.shift("shli", 1, 31, 32)),
    (lambda g: g.shift("shrui", 1, torch.tensor([-1, 0]), 64),
     lambda g: g.shift("shrui", 1, torch.tensor([63, 0]), 64)),
    (lambda g: g.float_to_int(0x4F000000, "f32", 32, signed=True),
     lambda g: g.float_to_int(0x4EFFFFFF, "f32", 32, signed=True)),
    (lambda g: g.float_to_int(0x7FC00000, "f32", 8, signed=True),
     lambda g: g.float_to_int(0x42FE0000, "f32", 8, signed=True)),
)  # fmt: skip


@pytest.mark.parametrize(("wrong", "right"), UNDEFINED)
def test_what_the_ir_leaves_undefined_is_reported(wrong, right):
    seen = []
    algebra = TensorAlgebra(lambda what, where: seen.append((what, where)))
    right(algebra)
    assert seen == []
    wrong(algebra)
    assert len(seen) == 1


def test_an_unknown_width_is_refused():
    with pytest.raises(TypeError, match="24 bits"):
        TensorAlgebra().sext(torch.tensor([1]), 8, 24)
