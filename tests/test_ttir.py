"""The types that values of IR have."""

from __future__ import annotations

import pytest
from kvproof.checkers.ttir import (
    Block,
    FloatType,
    IntType,
    Op,
    OpaqueType,
    Program,
    PtrType,
    Region,
    SourceLine,
    Successor,
    Type,
)
from kvproof.spec.errors import KvproofError


@pytest.mark.parametrize(
    ("kind", "text", "width", "size"),
    (
        (Type(IntType(1)), "i1", 1, 1),
        (Type(IntType(64), (4,)), "tensor<4xi64>", 64, 8),
        (Type(FloatType("bf16")), "bf16", 16, 2),
        (Type(FloatType("f8E4M3FN"), (2, 8)), "tensor<2x8xf8E4M3FN>", 8, 1),
        (Type(PtrType(FloatType("f16")), (4, 32)), "tensor<4x32x!tt.ptr<f16>>", 64, 8),
        (Type(PtrType(PtrType(IntType(8)), 3)), "!tt.ptr<!tt.ptr<i8>, 3>", 64, 8),
    ),
)
def test_a_type_knows_its_text_and_its_sizes(kind, text, width, size):
    assert (str(kind), kind.width(), kind.element_bytes()) == (text, width, size)


def test_a_type_without_whole_bytes_has_a_width_only():
    assert Type(FloatType("f4E2M1FN")).width() == 4
    with pytest.raises(KvproofError, match="whole bytes"):
        Type(FloatType("f4E2M1FN")).element_bytes()


def test_an_opaque_type_has_no_width():
    with pytest.raises(KvproofError, match="no known width"):
        Type(OpaqueType("index")).width()


def test_walk_goes_into_regions_and_functions_in_the_order_of_the_text():
    inner = Op("arith.addi")
    branch = Op("scf.if", regions=(Region((Block("^bb0", ops=(inner,)),)),))
    last = Op("tt.return")
    program = Program("k", (), Region((Block("^bb0", ops=(branch, last)),)))
    assert list(program.walk()) == [branch, inner, last]


def test_a_source_line_shows_file_and_line():
    assert str(SourceLine("kernels.py", 12, 4)) == "kernels.py:12"


def flow(**edges: str) -> str:
    """Return the order in which control comes to blocks that branch to those named."""
    blocks = tuple(
        Block(label, ops=(Op("cf.br", successors=tuple(Successor(to) for to in goals)),))
        for label, goals in edges.items()
    )
    return "".join(block.label for block in Region(blocks).in_flow())


@pytest.mark.parametrize(
    ("edges", "order"),
    (
        ({"a": "bc", "b": "", "c": ""}, "abc"),
        # Two early returns share one block, which stands before the second of them.
        ({"a": "bc", "b": "", "c": "bd", "d": ""}, "acdb"),
        ({"a": "cb", "b": "d", "c": "d", "d": ""}, "abcd"),
        ({"a": "c", "b": "", "c": "b"}, "acb"),
        # A circle has no such order: the branch back stays one.
        ({"a": "b", "b": "bc", "c": ""}, "abc"),
        ({"a": "b", "b": "c", "c": "bd", "d": ""}, "abcd"),
    ),
)
def test_a_block_comes_after_those_that_branch_to_it(edges: dict[str, str], order: str) -> None:
    assert flow(**edges) == order
