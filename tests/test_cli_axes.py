"""Where a finding was seen: exact, and in as few words as can be."""

from __future__ import annotations

import itertools

import pytest
from kvproof.cli.axes import seen_in

ASKED = [
    {"dtype": dtype, "loc_dtype": slots, "rope": rope}
    for dtype, slots, rope in itertools.product(("bf16", "f32", "u8"), ("i64", "i32"), (64, None))
]


def label(one):
    return " ".join(str(value) for value in one.values())


def seen(keep):
    found = [one for one in ASKED if keep(one)]
    return seen_in(found, ASKED, [label(one) for one in found])


@pytest.mark.parametrize(
    ("keep", "text"),
    (
        (lambda one: True, "every configuration"),
        (lambda one: one["loc_dtype"] == "i32", "6 of 12 configurations: slot dtype i32"),
        (lambda one: one["dtype"] != "u8", "8 of 12 configurations: dtype bf16 or f32"),
        (lambda one: one["rope"] is None, "6 of 12 configurations: rope none"),
        (
            lambda one: one["dtype"] == "f32" and one["rope"],
            "2 of 12 configurations: dtype f32, rope 64",
        ),
    ),
)
def test_values_name_the_configurations(keep, text):
    assert seen(keep) == text


def test_what_no_values_name_is_listed():
    assert seen(lambda one: (one["dtype"] == "u8") is (one["rope"] is None)) == (
        "6 of 12 configurations: bf16 i64 64; bf16 i32 64; f32 i64 64; and 3 more"
    )


def test_one_of_one_is_told_so():
    assert seen_in(ASKED[:1], ASKED[:1], ["a"]) == "the one configuration"
