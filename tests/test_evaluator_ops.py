"""Ops of the evaluator that need more than the algebra: reductions, and what is undefined."""

from __future__ import annotations

import pytest
import torch
from kvproof.checkers.domain import Unsupported
from kvproof.checkers.evaluator import Buffer, compile_program, evaluate
from kvproof.checkers.ttir_parser import parse_ttir

from .launches import noise

REDUCE = """
module {{
  tt.func public @k(%a: !tt.ptr<{1}>, %b: !tt.ptr<{1}>) {{
    %r = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
    %p = tt.get_program_id x : i32
    %n = arith.constant 8 : i32
    %s = arith.muli %p, %n : i32
    %0 = tt.addptr %a, %s : !tt.ptr<{1}>, i32
    %1 = tt.splat %0 : !tt.ptr<{1}> -> tensor<8x!tt.ptr<{1}>>
    %2 = tt.addptr %1, %r : tensor<8x!tt.ptr<{1}>>, tensor<8xi32>
    %3 = tt.load %2 : tensor<8x!tt.ptr<{1}>>
    %4 = "tt.reduce"(%3) <{{axis = 0 : i32}}> ({{
    ^bb0(%x: {1}, %y: {1}):
      %z = arith.{0} %x, %y : {1}
      tt.reduce.return %z : {1}
    }}) : (tensor<8x{1}>) -> {1}
    %5 = tt.addptr %b, %p : !tt.ptr<{1}>, i32
    tt.store %5, %4 : !tt.ptr<{1}>
    tt.return
  }}
}}
"""
COMBINERS = {
    "addi": lambda x: (sum(x) + (1 << 31)) % (1 << 32) - (1 << 31),
    "maxsi": max,
    "minsi": min,
    "maxui": lambda x: max(x, key=lambda v: v % (1 << 32)),
    "minui": lambda x: min(x, key=lambda v: v % (1 << 32)),
}


@pytest.mark.parametrize("name", COMBINERS)
def test_a_reduction_of_integers(name):
    a, b = noise(24, 4, torch.int32), torch.zeros(3, dtype=torch.int32)
    made = evaluate(
        parse_ttir(REDUCE.format(name, "i32")), (3, 1, 1), {"a": Buffer.of(a), "b": Buffer.of(b)}
    )
    assert b.tolist() == [COMBINERS[name](a[8 * i : 8 * i + 8].tolist()) for i in range(3)]
    assert made.inexact == ()


def test_a_sum_of_floats_is_called_inexact_and_a_maximum_is_not():
    a = torch.tensor([1.0, 2.0, -3.0, 4.5, 0.0, 0.25, 7.0, -1.0])
    for name, total in (("addf", 10.75), ("maxnumf", 7.0), ("minimumf", -3.0)):
        b = torch.zeros(1)
        made = evaluate(
            parse_ttir(REDUCE.format(name, "f32")),
            (1, 1, 1),
            {"a": Buffer.of(a), "b": Buffer.of(b)},
        )
        assert b.item() == total
        assert (made.inexact != ()) == (name == "addf")


def test_a_reduction_by_something_else_is_unsupported():
    a, b = torch.zeros(8, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    arguments = {"a": Buffer.of(a), "b": Buffer.of(b)}
    evaluate(parse_ttir(REDUCE.format("ori", "i32")), (1, 1, 1), arguments)
    with pytest.raises(Unsupported, match="reduction"):
        evaluate(parse_ttir(REDUCE.format("subi", "i32")), (1, 1, 1), arguments)


DIVIDE = """
module {{
  tt.func public @k(%b: !tt.ptr<i32>) {{
    %p = tt.get_program_id x : i32
    %c = arith.constant {0} : i32
    %t = arith.constant 2 : i32
    %one = arith.constant 7 : i32
    %q = arith.divsi %one, %c : i32
    %here = arith.cmpi slt, %p, %t : i32
    scf.if %here {{
      %d = arith.subi %p, %t : i32
      %e = arith.addi %d, %c : i32
      %r = arith.remsi %one, %e : i32
      %0 = tt.addptr %b, %p : !tt.ptr<i32>, i32
      %s = arith.addi %q, %r : i32
      tt.store %0, %s : !tt.ptr<i32>
    }}
    tt.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("divisor", "programs", "counts"),
    ((3, 4, []), (-1, 4, []), (2, 4, [1]), (1, 2, [1]), (0, 4, [1])),
)
def test_a_division_by_zero_is_told_on_every_run(divisor, programs, counts):
    prepared = compile_program(parse_ttir(DIVIDE.format(divisor)))
    for _ in range(2):
        b = torch.zeros(4, dtype=torch.int32)
        made = evaluate(prepared, (programs, 1, 1), {"b": Buffer.of(b)})
        assert [(event.kind, event.count) for event in made.events] == [
            ("undefined", count) for count in counts
        ]
