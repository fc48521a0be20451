"""Running a call for a drawing: places of plain and paged caches, and whose elements are stored."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.cli.grid import instances
from kvproof.cli.pages.programs import Store
from kvproof.cli.pages.rows import cache_rows, describe, draw_row
from kvproof.cli.pages.running import Places, _with_row
from kvproof.spec.builtin import CONTRACTS, MLA_ROW
from kvproof.spec.case import Case
from kvproof.spec.errors import KvproofError

PAGED = CONTRACTS["mla-paged"]


def case(pool: int, *slots: int) -> Case:
    return Case(dims={"WORLD": 1, "RANK": 0}, pool=pool, slots=slots)


def paged(**dims):
    """Return a paged contract in one configuration, with pages of 4 and these dimensions."""
    _, one = next(instances(PAGED))
    small = {"PAGE": 4, "PAGE_STRIDE": 4 * one.dims["TOKEN_STRIDE"]}
    return replace(one, dims={**one.dims, **small, **dims})


def sizes(instance) -> tuple[int, int, int]:
    (row,) = cache_rows(instance)
    return row.stride, row.page, row.page_stride


def test_rows_follow_each_other_in_both_directions():
    _, instance = next(instances(MLA_ROW))
    places = Places(instance, "kv_buffer", case(2, 1))
    split = places.split([-1, 0, 575, 576, 576 * 1_000_000])
    assert split == {-1: {575: -1}, 0: {0: 0, 575: 575}, 1: {0: 576}, 1_000_000: {0: 576_000_000}}


@pytest.mark.parametrize("pad", (0, 64))
def test_a_page_begins_where_the_contract_says(pad):
    stride, page, page_stride = sizes(paged())
    instance = paged(PAGE_STRIDE=page_stride + pad)
    assert sizes(instance) == (stride, page, page_stride + pad)
    places = Places(instance, PAGED.caches()[0], case(3 * page, 0))
    begin = page_stride + pad
    assert places.split([0, begin - pad - 1, begin, 2 * begin + stride]) == {
        0: {0: 0},
        page - 1: {stride - 1: begin - pad - 1},
        page: {0: begin},
        2 * page + 1: {0: 2 * begin + stride},
    }


def test_what_lies_between_pages_is_told_and_what_lies_outside_is_no_place():
    stride, page, page_stride = sizes(paged())
    instance = paged(PAGE_STRIDE=page_stride + 8)
    places = Places(instance, PAGED.caches()[0], case(page + 1, 0))
    with pytest.raises(KvproofError, match=r"is stored, and no place of the pages holds it"):
        places.split([page_stride + 3])
    assert places.split([-7, -6]) == {-1: {0: -7, 1: -6}}
    last = page_stride + 8 + stride
    assert places.split([last, last + 1]) == {page + 1: {0: last, 1: last + 1}}


def test_a_pool_of_any_size_is_looked_at_where_the_slots_are():
    stride, page, page_stride = sizes(paged())
    far = page * 1_000_000
    places = Places(paged(), PAGED.caches()[0], case(far + 5, far + 1))
    begin = 1_000_000 * page_stride
    assert places.split([begin + stride]) == {far + 1: {0: begin + stride}}


def test_pages_are_told_beside_the_row():
    (row,) = cache_rows(paged())
    said = f"{row.page} places a page; the next page begins after {row.page_stride:,} elements"
    assert said in describe(row)
    assert said in draw_row(row, key="k").inline()
    (plain,) = cache_rows(next(instances(MLA_ROW))[1])
    assert (plain.page, plain.pages) == (1, "")


ROWS = {0: {0: 10, 1: 11, 2: 12, 3: 13}, 1: {0: 20, 1: 21, 2: 22, 3: 23}}


@pytest.mark.parametrize(
    ("bits", "row", "wrong", "sample"),
    (
        ([20, 21, 22, 23], 1, 0, None),
        ([20, 21, 22, 99], 1, 1, (3, 99, 23)),
        ([10, 11, 98, 99], 0, 2, (2, 98, 12)),
        ([10, 97, 98, 99], None, 0, None),
    ),
)
def test_bits_tell_whose_elements_are_stored(bits, row, wrong, sample):
    found = _with_row(Store((0, 0, 0), 5, 0, 4), dict(enumerate(bits)), ROWS)
    assert (found.row, found.wrong, found.sample) == (row, wrong, sample)
