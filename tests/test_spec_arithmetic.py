"""Expressions and casts: plain arithmetic that proofs, runs and the reference share."""

from __future__ import annotations

import pytest
import torch
from kvproof.checkers.integers import Integers, Untranslatable
from kvproof.spec.dtypes import cast_bits, cast_table, dtype
from kvproof.spec.errors import KvproofError
from kvproof.spec.expr import Const, Sym, cdiv, steps_by_one, substitute


def test_an_expression_reads_as_it_was_written() -> None:
    a, b = Sym("a"), Sym("b")
    assert str((a + 1) * b - a // 2 % 3) == "(a + 1) * b - a // 2 % 3"
    assert str(a - (b - 1)) == "a - (b - 1)"
    assert str(2 * a) == "2 * a"


def test_an_expression_evaluates_alike_on_ints_and_tensors() -> None:
    expr = cdiv(Sym("n") * 3 + 1, 4)
    n = torch.arange(100)
    assert expr.evaluate({"n": n}).tolist() == [expr.evaluate({"n": k}) for k in range(100)]


def test_neutral_elements_are_folded_and_nothing_else() -> None:
    a = Sym("a")
    assert (a + 0, 0 + a, a * 1, a // 1, a * 0) == (a, a, a, a, Const(0))
    assert a - 1 != a


def test_columns_side_by_side_are_told_from_others() -> None:
    place, col = Sym("place"), Sym("col")
    assert steps_by_one(place // 4 * 64 + place % 4 * 16 + col, "col")
    assert steps_by_one(col + place * 8 - 3, "col")
    for other in (
        place * 8 + col * 2,
        place * 8 - col,
        col + col,
        place * 8,
        (place + col) * 1 // 2,
    ):
        assert not steps_by_one(other, "col")


def test_an_unbound_symbol_is_named() -> None:
    with pytest.raises(KeyError, match="b"):
        (Sym("a") + Sym("b")).evaluate({"a": 1})
    assert substitute(Sym("a") + Sym("b"), {"b": Const(2)}).evaluate({"a": 1}) == 3


@pytest.mark.parametrize(
    ("bits", "code"),
    (
        (0x0000, 0x00),
        (0x8000, 0x80),  # -0.0
        (0x3F80, 0x38),  # 1.0
        (0x43E0, 0x7E),  # 448, the largest
        (0x43E8, 0x7E),  # 464, a tie beyond it, saturates
        (0x447A, 0x7E),  # 1000 saturates
        (0x7F80, 0x7E),  # infinity saturates
        (0xFF80, 0xFE),
        (0x7FC0, 0x7F),  # NaN stays NaN
        (0x4188, 0x58),  # 17, a tie between 16 and 18, goes to even
        (0x3B00, 0x01),  # 2**-9, the smallest subnormal
        (0x3A80, 0x00),  # half of it, a tie, goes to even
        (0x3A81, 0x01),
    ),
)
def test_the_fp8_cast_at_its_edges(bits: int, code: int) -> None:
    assert cast_bits(dtype("bf16"), dtype("f8e4m3fn"), bits, saturate=True) == code


def test_without_saturation_overflow_is_nan() -> None:
    assert cast_bits(dtype("bf16"), dtype("f8e4m3fn"), 0x447A) == 0x7F
    assert cast_bits(dtype("f32"), dtype("f16"), 0x477FF000) == 0x7C00
    assert cast_bits(dtype("f32"), dtype("f16"), 0x477FE000) == 0x7BFF


@pytest.mark.parametrize("source", ("bf16", "f16"))
@pytest.mark.parametrize("target", ("f32", "f16", "bf16", "f8e5m2"))
def test_every_pattern_agrees_with_torch_where_torch_is_ieee(source: str, target: str) -> None:
    patterns = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
    values = patterns.view(getattr(torch, dtype(source).torch))
    theirs = values.to(getattr(torch, dtype(target).torch))
    width = dtype(target).bits
    raw = {8: torch.uint8, 16: torch.int16, 32: torch.int32}[width]
    bits = theirs.view(raw).to(torch.int64) & ((1 << width) - 1)
    ours = torch.tensor(cast_table(source, target, saturate=False))
    number = ~torch.isnan(values.float())
    assert torch.equal(ours[number], bits[number])
    assert all(dtype(target).is_nan(code) for code in ours[~number].tolist())


def test_an_unknown_dtype_lists_the_known_ones() -> None:
    with pytest.raises(KvproofError, match="use one of bf16"):
        dtype("float16")


def test_terms_over_the_integers_keep_their_meaning() -> None:
    import z3

    a, b = z3.BitVecs("a b", 64)
    small = [a >= -9, a <= 9, b >= 1, b <= 5]
    made = Integers().query([*small, a / b == -2, z3.SRem(a, b) == -1])
    solver = z3.Solver()
    solver.add(*made)
    assert solver.check() == z3.sat
    x, y = (solver.model().eval(z3.Int(f"{name} as integer")).as_long() for name in "ab")
    assert (int(x / y), x - y * int(x / y)) == (-2, -1)
    with pytest.raises(Untranslatable):
        Integers().query([(a & b) == 1])
