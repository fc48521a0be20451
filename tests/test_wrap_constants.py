"""Constants in the two z3 algebras and in the width layer: the signed range, and factors of -1."""

from __future__ import annotations

import pytest
import z3
from kvproof.checkers.bitvectors import BitVectors
from kvproof.checkers.ideal import Ideal
from kvproof.checkers.optable import OPS
from kvproof.checkers.ttir import FloatType, IntType, Op, Type
from kvproof.checkers.wrap import wraps


@pytest.mark.parametrize("algebra", (BitVectors(), Ideal()))
def test_the_bits_of_a_negative_float_constant_are_a_negative_number(algebra):
    op = Op(
        "arith.bitcast",
        result_types=(Type(IntType(32)),),
        operand_types=(Type(FloatType("f32")),),
    )
    made = OPS["arith.bitcast"].apply(algebra, op, (0x80000000,))
    assert made == -(1 << 31)
    assert algebra.compare("slt", made, 0, 32) is True
    assert algebra.number(0x7F, 8) == 0x7F


@pytest.mark.parametrize("factor", (-1, -2, -3, 2, 3, 7))
@pytest.mark.parametrize("w", (8, 32))
def test_a_product_with_a_constant_wraps_where_plain_numbers_say(w, factor):
    top = 1 << (w - 1)
    for value in {0, 1, -1, 5, top - 1, -top, 1 - top, top // 3, -top // 3, top // 7 + 1}:
        said = wraps("arith.muli", z3.BitVecVal(value, w), factor, w)
        assert z3.is_true(z3.simplify(said)) == (not -top <= value * factor < top), value


def test_a_smaller_one_with_a_constant_keeps_the_width_of_the_algebra():
    op = Op(
        "arith.minsi",
        result_types=(Type(IntType(8)),),
        operand_types=(Type(IntType(8)), Type(IntType(8))),
    )
    wide = OPS["arith.minsi"].apply(Ideal(), op, (z3.BitVec("x", 64), 3))
    assert wide.size() == 64
    exact = OPS["arith.minsi"].apply(BitVectors(), op, (z3.BitVec("x", 8), 3))
    assert exact.size() == 8


def test_an_uninterpreted_function_of_integers_takes_their_bits_in_both_algebras():
    kind = Type(IntType(16))
    op = Op("math.absi", result_types=(kind,), operand_types=(kind,))
    assert OPS["math.absi"].apply(Ideal(), op, (z3.BitVec("x", 64),)).size() == 64
    assert OPS["math.absi"].apply(BitVectors(), op, (z3.BitVec("x", 16),)).size() == 16


@pytest.mark.parametrize("name", ("maxnumf", "minnumf"))
def test_a_signalling_nan_loses_against_a_number(name):
    from kvproof.checkers.tensor_algebra import TensorAlgebra

    number, nan = 0x40000000, 0x7F800001
    for pair in ((number, nan), (nan, number)):
        assert TensorAlgebra().float_binary(name, *pair, "f32") == number
    assert TensorAlgebra().float_binary(name, nan, nan, "f32") == 0x7FFFFFFF
