"""Storages of the evaluator, and which of several stores to one place is left."""

from __future__ import annotations

import pytest
import torch
from kvproof.checkers.axes import Axes
from kvproof.checkers.buffers import Buffer, distinct, last_of_each
from kvproof.checkers.planes import Pointer, places
from kvproof.spec.errors import KvproofError


@pytest.mark.parametrize(
    ("offsets", "answer"),
    (
        ([], True),
        ([5], True),
        ([1, 2, 9], True),
        ([7, 8, 9, 1, 2, 3, 4, 5, 6], True),
        ([7, 8, 9, 1, 2, 3, 4, 5, 7], False),
        ([1, 2, 3, 3], False),
        ([4, 3, 2, 1], True),
        ([4, 3, 2, 4], False),
    ),
)
def test_offsets_are_known_to_differ(offsets, answer):
    assert distinct(torch.tensor(offsets, dtype=torch.int64)) is answer
    if offsets:
        assert answer == (len(set(offsets)) == len(offsets))


def test_runs_that_interleave_are_not_known_to_differ():
    # Even and odd columns: all different, and told so only after a sort.
    offsets = torch.tensor([0, 2, 4, 1, 3, 5])
    assert not distinct(offsets)
    assert sorted(last_of_each(offsets).tolist()) == list(range(6))


def test_the_last_store_to_a_place_survives():
    assert sorted(last_of_each(torch.tensor([3, 1, 3, 2, 1, 3])).tolist()) == [3, 4, 5]


@pytest.mark.parametrize(("pitch", "answer"), ((8, True), (7, False), (0, False)))
def test_rows_that_meet_are_not_different(pitch, answer):
    rows = (torch.arange(3) * pitch).reshape(3, 1, 1, 1)
    columns = torch.arange(8).reshape(1, 1, 1, 8)
    found = places(Pointer("dst", 2, 0, (rows, columns)), (True, None), 4)
    assert Axes(found, (3, 1, 1), (8,)).different() is answer


@pytest.mark.parametrize("offset", (0, 3, 4))
def test_bounds_count_whole_elements_from_the_pointer(offset):
    buffer = Buffer(torch.zeros(16, dtype=torch.uint8), offset)
    assert buffer.bounds(4) == (-(offset // 4), (16 - offset) // 4 - 1)


def test_a_buffer_is_a_flat_run_of_bytes():
    Buffer(torch.zeros(4, dtype=torch.uint8))
    for data in (torch.zeros(4), torch.zeros(2, 2, dtype=torch.uint8)):
        with pytest.raises(KvproofError, match="uint8"):
            Buffer(data)


def test_a_view_shares_its_storage():
    tensor = torch.arange(6, dtype=torch.int32)
    whole, tail = Buffer.of(tensor), Buffer.of(tensor[2:])
    assert (whole.key, whole.offset, tail.offset) == (tail.key, 0, 8)
    tail.scatter(torch.tensor([0, -2]), torch.tensor([7, 9], dtype=torch.int32), 4)
    assert tensor.tolist() == [9, 1, 7, 3, 4, 5]
    assert Buffer.of(tensor.clone()).key != whole.key
