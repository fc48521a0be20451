"""Texts that no compiler prints: each fault is told with its line, beside its right twin."""

from __future__ import annotations

import pytest
from kvproof.checkers.ttir_parser import TtirSyntaxError, parse_ttir

ARGS = "%p: !tt.ptr<i32>, %n: i32, %c: i1"


def module(body, args=ARGS):
    """Return a kernel whose body begins in line 3 and ends with a return."""
    return f"module {{\n  tt.func public @k({args}) {{\n{body}\n    tt.return\n  }}\n}}\n"


LOOP = "%0 = scf.for %i = %n to %n step %n iter_args(%a = %n) -> (i32) : i32 {"

#: The right text, the spoilt one, the line of the fault, and words of the message.
TWINS = (
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n, %m : i32", 3, "%m is not defined"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n, %c : i32", 3, "%c is i1, not i32"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n : i32", 3, "1 operands"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n %n : i32", 3, "',' between operands"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n, : i32", 3, "a value after ','"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n, %n", 3, "no type"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n, %n :", 3, "expected a type"),
    ("%0 = arith.addi %n, %n : i32", "%0 = arith.addi %n, %n : i32 i32", 3, "unexpected 'i32'"),
    ("%0 = arith.addi %n, %n : i32", "%n = arith.addi %n, %n : i32", 3, "%n is defined twice"),
    ("%0 = arith.addi %n, %n : i32", "%0 = addi %n, %n : i32", 3, "expected an op"),
    ("%0 = arith.addi %n, %n : i32", "%0 =", 3, "an op before the line ends"),
    ("%0 = arith.cmpi eq, %n, %n : i32", "%0 = arith.cmpi %n, %n : i32", 3, "no predicate"),
    ("%0 = arith.cmpi eq, %n, %n : i32", "%0 = arith.cmpi oeq, %n, %n : i32", 3, "'oeq'"),
    ("%0 = arith.constant 127 : i8", "%0 = arith.constant 256 : i8", 3, "bad constant"),
    ("%0 = arith.constant 1.0 : f32", "%0 = arith.constant 1.0 : i32", 3, "bad constant"),
    ("%0 = arith.constant 1 : i8", "%0 = arith.constant : i8", 3, "expected a constant"),
    (
        "%0 = arith.constant dense<1> : tensor<2xi8>",
        "%0 = arith.constant 1 : tensor<2xi8>",
        3,
        "no constant of tensor<2xi8>",
    ),
    (
        "%0 = arith.constant dense<[1, 2]> : tensor<2xi8>",
        "%0 = arith.constant dense<[1, 2, 3]> : tensor<2xi8>",
        3,
        "does not fill",
    ),
    ("%0 = tt.load %p : !tt.ptr<i32>", "%0 = tt.load %p : !tt.ptr<i64>", 3, "not !tt.ptr<i64>"),
    ("%0 = tt.load %p : !tt.ptr<i32>", "%0 = tt.load : !tt.ptr<i32>", 3, "0 operands"),
    ("%0 = tt.load %p : !tt.ptr<i32>", "%0 = tt.load %p, %n : !tt.ptr<i32>", 3, "%n is i32"),
    ("tt.store %p, %n : !tt.ptr<i32>", "tt.store %p, %c : !tt.ptr<i32>", 3, "%c is i1, not i32"),
    ("tt.store %p, %n : !tt.ptr<i32>", "tt.store %p : !tt.ptr<i32>", 3, "1 operands"),
    ("tt.store %p, %n : !tt.ptr<i32>", "tt.store (%p, %n : !tt.ptr<i32>", 3, "unclosed|part of"),
    ("%0 = tt.get_program_id x : i32", "%0 = tt.get_program_id w : i32", 3, "no axis|unexpected"),
    (
        "%0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>",
        "%0 = tt.make_range {end = 4 : i32} : tensor<4xi32>",
        3,
        "no start",
    ),
    (
        "%0 = tt.splat %n : i32 -> tensor<4xi32>",
        "%0:2 = tt.splat %n : i32 -> tensor<4xi32>",
        3,
        "2 results and 1 result types",
    ),
    ('tt.assert %c, "a" : i1', 'tt.assert %c, "a : i1', 3, "unexpected character"),
    ('tt.assert %c, "a" : i1', "tt.assert %c : i1", 3, "no message"),
    (
        "scf.if %c {\n%0 = tt.load %p : !tt.ptr<i32>\n}",
        "scf.if %c {\n%0 = tt.load %p : !tt.ptr<i32>\n}\ntt.store %p, %0 : !tt.ptr<i32>",
        6,
        "%0 is not defined",
    ),
    (
        "%0 = scf.if %c -> (i32) {\nscf.yield %n : i32\n} else {\nscf.yield %n : i32\n}",
        "%0 = scf.if %c -> (i32) {\nscf.yield %n : i32\n}",
        3,
        "results and no else",
    ),
    (
        f"{LOOP}\nscf.yield %a : i32\n}}",
        f"{LOOP}\n}}",
        3,
        "hands on nothing, where i32 is taken",
    ),
    ("cf.br ^bb1\n^bb1:", "cf.br ^bb2\n^bb1:", 3, r"block \^bb2 is not defined"),
    ("cf.br ^bb1\n^bb1:", "cf.br ^bb1\n^bb1:\ntt.return\n^bb1:", 6, r"\^bb1 is defined twice"),
    ("cf.br ^bb1\n^bb1:", "cf.br ^bb1(%c : i32)\n^bb1(%x: i32):", 3, "%c is i1, not i32"),
    ("cf.br ^bb1\n^bb1:", "^bb1:\ntt.return\ntt.return", 6, "an op follows tt.return"),
    ("cf.cond_br %c, ^bb1, ^bb1\n^bb1:", "cf.cond_br %c, ^bb1\n^bb1:", 3, "1 targets"),
    ("acme.op %n loc(#loc)", "acme.op %n loc(#loc1)", 3, "undefined location #loc1"),
)


@pytest.mark.parametrize(("right", "wrong", "line", "message"), TWINS)
def test_a_fault_in_a_body_is_told_beside_its_right_twin(right, wrong, line, message):
    alias = '#loc = loc("a.py":1:1)\n'
    parse_ttir(module(right) + alias)
    with pytest.raises(TtirSyntaxError, match=message) as caught:
        parse_ttir(module(wrong) + alias)
    assert caught.value.line == line
    assert f"TTIR line {line}:" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    (
        ("module {", "modul {", "expected 'module'"),
        ("public", "private", "no public function"),
        ("tt.return\n  }", "tt.return", "expected"),
        ("tt.return\n", "tt.load %p : !tt.ptr<i32>\n", "nothing ends block"),
        ("%n: i32", "%n: int", "expected a type, found 'int'"),
        ("%n: i32", "%p: i32", "%p is defined twice"),
        ("  }\n}\n", "  }\n}\n}\n", "after the module"),
        ("@k", "k", "a function's name"),
        ("@k(%p: !tt.ptr<i32>,", "@k(%p: !tt.ptr<i32>", "expected ','"),
    ),
)
def test_a_fault_in_the_frame_is_told(old, new, message):
    text = module("")
    assert text.count(old) == 1
    parse_ttir(text)
    with pytest.raises(TtirSyntaxError, match=message):
        parse_ttir(text.replace(old, new))


def test_a_function_has_one_name():
    helper = "  tt.func private @h() {\n    tt.return\n  }\n"
    text = module("")
    one = text[:-2] + helper + "}\n"
    assert list(parse_ttir(one).functions) == ["h"]
    with pytest.raises(TtirSyntaxError, match="@h is defined twice"):
        parse_ttir(one[:-2] + helper + "}\n")
    with pytest.raises(TtirSyntaxError, match="@k is defined twice"):
        parse_ttir(text[:-2] + helper.replace("@h", "@k") + "}\n")


def test_every_prefix_of_a_text_is_refused():
    text = module("scf.if %c {\n%0 = tt.load %p : !tt.ptr<i32>\n}").rstrip()
    parse_ttir(text)
    for end in range(len(text)):
        with pytest.raises(TtirSyntaxError):
            parse_ttir(text[:end])
