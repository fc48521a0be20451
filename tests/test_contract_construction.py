"""What a contract is refused for when it is made: each error beside the nearest accepted field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kvproof.spec.builtin import KV_ROWS, MLA_ROW, PAGED_NHD
from kvproof.spec.contract import Dim, Instance, Range, WriterContract
from kvproof.spec.errors import ContractError
from kvproof.spec.expr import Const, Sym
from kvproof.spec.rules import (
    COL,
    DISTINCT,
    IN_POOL,
    PLACE,
    POOL,
    ROW,
    ROWS,
    SLOT,
    Cast,
    Copy,
    Interleaved,
    Reserved,
    Segment,
    Slots,
)
from kvproof.spec.shapes import TensorShape

WIDTH, STRIDE = Sym("WIDTH"), Sym("STRIDE")
SEGMENT = Segment(
    name="row", source="rows", into="cache", width=WIDTH, at=PLACE * STRIDE + COL, begin=ROW + COL
)
DIMS = (Dim("WIDTH", "elements of a row", 1), Dim("STRIDE", "elements to the next", 1))


def contract(**fields: Any) -> WriterContract:
    """Return a contract of one segment, with other fields."""
    return WriterContract(
        **{
            "name": "mine",
            "promise": "A row.",
            "slots": Slots(arg="loc"),
            "segments": (SEGMENT,),
            "dims": DIMS,
            **fields,
        }
    )


def shape(**fields: Any) -> tuple[TensorShape, ...]:
    """Return the shape of the cache, with other fields."""
    plain = {"arg": "cache", "sizes": (POOL, WIDTH), "strides": (STRIDE, 1)}
    return (TensorShape(**{**plain, **fields}),)


CASES = (
    ("name", "x", " ", "contract: no name - write name="),
    ("slots", Slots(arg="loc"), "loc", "slots is 'loc' - write slots=Slots(arg=\"loc\")"),
    ("slots", Slots(arg="loc"), Slots(arg="rows"), "argument rows holds slots and rows - slots="),
    ("slots", Slots(arg="loc"), Slots(arg="cache"), "argument cache holds slots and rows"),
    ("segments", (SEGMENT,), (), "segments is empty - name at least one"),
    ("segments", (SEGMENT,), SEGMENT, "segments is one Segment, not a tuple - write segments=("),
    ("segments", (SEGMENT,), [SEGMENT], "write a tuple: one or more Segment(...)"),
    ("segments", (SEGMENT,), (SEGMENT, SEGMENT), "segments repeat a name: row - give each a name"),
    (
        "segments",
        (SEGMENT, replace(SEGMENT, name="more", into="other")),
        (SEGMENT, replace(SEGMENT, name="more", into="rows")),
        "argument rows is a source and a cache - a writer reads `source` and stores `into`",
    ),
    ("skip", (Reserved(0),), Reserved(0), "skip is one Reserved, not a tuple - write skip=(Reser"),
    ("skip", (), (0,), "an item of skip is 0 - use Reserved, Negative, Exactly or BeyondPool"),
    ("skip", (), None, "skip is None - write a tuple: Reserved, Negative, Exactly or BeyondPool"),
    ("claims", (Reserved(0),), ("slot 0",), "an item of claims is 'slot 0' - use such as Reserved"),
    ("given", (DISTINCT,), ("distinct",), "an item of given is 'distinct' - use such as DISTINCT"),
    ("given", (DISTINCT, IN_POOL), (DISTINCT, DISTINCT), "given repeat a name: slots-distinct"),
    ("owner", Interleaved(), Interleaved, "- write Whole() or Interleaved()"),
    ("encode", Copy(), "bf16", "encode is 'bf16' - write Copy() or Cast("),
    ("encode", Cast("f16"), Cast("fp16"), "encode casts to 'fp16' - use one of bf16, f16, f32"),
    ("encode", Cast("f8e5m2"), Cast("u8"), "encode casts to 'u8' - use one of bf16"),
    ("dims", DIMS, (*DIMS, DIMS[0]), "dims repeat a name: WIDTH"),
    ("dims", DIMS, ("WIDTH", "STRIDE"), "an item of dims is 'WIDTH' - use such as Dim("),
    (
        "dims",
        (*DIMS, Dim("PLACES", "places")),
        (*DIMS, Dim("POOL", "places")),
        "dimension POOL has the name of a symbol that every contract has - rename it",
    ),
    (
        "dims",
        (DIMS[0], replace(DIMS[1], packed=WIDTH)),
        (replace(DIMS[1], packed=WIDTH), DIMS[0]),
        "dimension STRIDE: packed uses unknown symbol WIDTH - add it to dims",
    ),
    ("shapes", shape(), shape(arg="loc"), "shape of loc: no segment names that argument - name"),
    ("shapes", shape(), shape(strides=(1,)), "2 sizes and 1 strides - give one stride"),
    ("shapes", shape(), shape(strides=(1, STRIDE)), "the last stride is STRIDE - proofs lean on"),
    ("shapes", shape(), shape(sizes=(ROWS, WIDTH)), "shape of cache cannot use ROWS"),
    ("shapes", shape(), shape(sizes=(POOL, Sym("WIDHT"))), "WIDHT - add it to dims, or did you me"),
    (
        "shapes",
        shape(arg="rows", sizes=(ROWS, WIDTH)),
        shape(arg="rows", sizes=(WIDTH, ROWS)),
        "shape of rows: its first size is WIDTH - a source has a row for every slot",
    ),
)


@pytest.mark.parametrize(("field", "right", "wrong", "said"), CASES)
def test_a_field_that_does_not_fit_names_itself_and_the_mend(field, right, wrong, said):
    assert contract(**{field: right})
    with pytest.raises(ContractError) as refused:
        contract(**{field: wrong})
    assert str(refused.value).startswith("contract")
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("label", "wrong", "said"),
    (
        ("width", WIDTH * ROW, "segment row: width cannot use row - width uses dimensions, at"),
        ("width", "WIDTH", "segment row: width is 'WIDTH' - write it with Sym("),
        ("at", SLOT * STRIDE + COL, "segment row: at cannot use slot"),
        ("at", ROW * STRIDE + COL, "segment row: at cannot use row"),
        ("at", STRIDE + COL, "segment row: every row is stored at STRIDE + col - at needs PLACE"),
        ("at", PLACE * Sym("STRIDES") + COL, "unknown symbol STRIDES - add it to dims, or did you"),
        ("begin", PLACE * STRIDE + COL, "segment row: begin cannot use place"),
    ),
)
def test_an_expression_uses_the_symbols_that_it_can(label, wrong, said):
    with pytest.raises(ContractError) as refused:
        contract(segments=(replace(SEGMENT, **{label: wrong}),))
    assert said in str(refused.value)


def test_a_plain_number_is_an_expression():
    made = contract(segments=(replace(SEGMENT, width=512, begin=ROW * 512 + COL),))
    assert made.segments[0].width == Const(512)


@pytest.mark.parametrize(
    ("make", "said"),
    (
        (lambda: Reserved(-1), "Reserved.index: -1 is no slot of a pool - write Exactly(-1)"),
        (lambda: Reserved(0, space="physical"), "unknown space 'physical' - virtual or local"),
        (lambda: Slots(arg="loc", dtypes=("u8",)), "('u8',) are no dtypes of a slot table - use"),
        (lambda: Slots(arg="loc", dtypes=()), "Slots: no dtype is allowed"),
        (lambda: Slots(arg="loc", unit="page"), "unknown unit 'page' - unit is \"token\""),
    ),
)
def test_a_rule_that_cannot_be_is_refused_by_itself(make, said):
    assert Reserved(0, space="local") == Reserved(0, "local")
    assert Slots(arg="loc", dtypes=("i64",)).unit == "token"
    with pytest.raises(ContractError) as refused:
        make()
    assert said in str(refused.value)


def instance(**fields: Any) -> Instance:
    """Return the contract in a configuration, with other fields."""
    plain = {
        "contract": contract(),
        "dtypes": {"rows": "bf16", "cache": "bf16", "loc": "i64"},
        "dims": {"WIDTH": 4, "STRIDE": 4, "WORLD": 1, "RANK": 0},
        "pool": Range(1, 8),
    }
    return Instance(**{**plain, **fields})


@pytest.mark.parametrize(
    ("fields", "said"),
    (
        ({"dims": {"WIDTH": 4, "WORLD": 1, "RANK": 0}}, "dimension STRIDE (elements to the next)"),
        ({"dims": {"WIDTH": 4, "STRIDE": 4}}, "WORLD needs a number - add WORLD and RANK to dims"),
        (
            {"dims": {"WIDTH": 0, "STRIDE": 4, "WORLD": 1, "RANK": 0}},
            "WIDTH=0 is below 1 - WIDTH is elements of a row",
        ),
        (
            {"dims": {"WIDTH": 4, "STRIDE": 4, "WORLD": 2, "RANK": 2}},
            "rank 2 is not below world size 2 - ranks count from 0",
        ),
        (
            {"dims": {"WIDTH": 5, "STRIDE": 4, "WORLD": 1, "RANK": 0}},
            "a row holds 5 elements, and the next begins after 4 - widen the stride or narrow a",
        ),
        ({"dtypes": {"rows": "bf16", "cache": "bf16"}}, "argument loc has no dtype - add loc to"),
        (
            {"dtypes": {"rows": "bf16", "cache": "bf16", "loc": "u8"}},
            "slots of u8 are not allowed - use i32 or i64",
        ),
        (
            {"dtypes": {"rows": "b16", "cache": "bf16", "loc": "i64"}},
            "contract mine, dtype of rows: unknown dtype 'b16' - use one of bf16",
        ),
    ),
)
def test_a_configuration_that_does_not_fit_names_what_and_the_mend(fields, said):
    assert instance().is_concrete
    with pytest.raises(ContractError) as refused:
        instance(**fields)
    assert said in str(refused.value)


@pytest.mark.parametrize("made", (MLA_ROW, KV_ROWS, PAGED_NHD), ids=lambda made: made.name)
def test_a_skip_rule_of_ones_own_is_one_replacement(made):
    assert replace(made, skip=(Reserved(7),)).skip == (Reserved(7),)
    with pytest.raises(ContractError, match="skip is one Reserved, not a tuple"):
        replace(made, skip=Reserved(7))
