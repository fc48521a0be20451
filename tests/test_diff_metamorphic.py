"""Relations between calls: right writers keep them, and each is broken by a fault of its kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.diff.hosting import CallableRunner
from kvproof.diff.metamorphic import at_thresholds, permuted, split, strided, twice, union
from kvproof.diff.runner import EvaluatorRunner
from kvproof.spec.errors import KvproofError

from tests.trials import BARE, SHARDED, prepared, trial, uncaptured

SLOTS = (3, 0, 5, 1)


def rows_of(cache_k_nope):
    """Return a source's rows."""
    return cache_k_nope, cache_k_nope.shape[1]


def right(kv_buffer, loc, cache_k_nope):
    keep = loc != 0
    rows, width = rows_of(cache_k_nope)
    kv_buffer[loc[keep], :width] = rows[keep]


def adds(kv_buffer, loc, cache_k_nope):
    keep = loc != 0
    rows, width = rows_of(cache_k_nope)
    kv_buffer.view(kv_buffer.dtype)[loc[keep], :width] += rows[keep].abs() + 1


def by_row(kv_buffer, loc, cache_k_nope):
    """Store the row's number: what is stored depends on where in the table a slot stands."""
    for row, slot in enumerate(loc.tolist()):
        if slot:
            kv_buffer[slot, : cache_k_nope.shape[1]] = float(row + 1)


def drops_past_768(kv_buffer, loc, cache_k_nope):
    keep = loc != 0
    keep[768:] = False
    rows, width = rows_of(cache_k_nope)
    kv_buffer[loc[keep], :width] = rows[keep]


def ignores_stride(kv_buffer, loc, cache_k_nope):
    rows, width = cache_k_nope.shape
    right(kv_buffer, loc, cache_k_nope.as_strided((rows, width), (width, 1)))


RELATIONS = {"twice": twice, "permuted": permuted, "split": split, "thresholds": at_thresholds}


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_right_writer_keeps_every_relation(relation):
    call, made = uncaptured(BARE)
    assert RELATIONS[relation](CallableRunner("own", right), call, trial(made, SLOTS)) is None
    call, made = prepared("masked")
    assert RELATIONS[relation](EvaluatorRunner(), call, trial(made, SLOTS)) is None


@pytest.mark.parametrize(
    ("relation", "function", "invariant"),
    (
        ("twice", adds, "W13"),
        ("permuted", by_row, "W13"),
        ("split", by_row, "W14"),
        ("thresholds", drops_past_768, "W14"),
    ),
)
def test_each_relation_is_broken_by_its_fault(relation, function, invariant):
    call, made = uncaptured(BARE)
    found = RELATIONS[relation](CallableRunner("own", function), call, trial(made, SLOTS))
    assert found is not None
    assert (found.invariant, found.tensor) == (invariant, "kv_buffer")
    assert found.stored != found.expected


@pytest.mark.parametrize(("function", "broken"), ((right, False), (ignores_stride, True)))
def test_sources_of_another_stride(function, broken):
    call, made = uncaptured(BARE, NOPE_STRIDE=20)
    other, _ = uncaptured(BARE, NOPE_STRIDE=6)
    found = strided(CallableRunner("own", function), call, other, trial(made, SLOTS))
    assert (found is not None) == broken
    if found is not None:
        assert found.invariant == "W8"
    wider, _ = uncaptured(BARE, NOPE_STRIDE=20, BUFFER_STRIDE=60)
    with pytest.raises(KvproofError, match="more than the strides of sources"):
        strided(CallableRunner("own", function), call, wider, trial(made, SLOTS))


def ranked(function):
    """Return both ranks of a sharded own writer as one runner, told by the job's rank."""

    class Ranked(CallableRunner):
        def step(self, prepared, arena, storages):
            world, rank = prepared.job.instance.world_rank

            def write(kv_buffer, loc, cache_k_nope):
                function(kv_buffer, loc, cache_k_nope, world, rank)

            return CallableRunner("own", write).step(prepared, arena, storages)

    return Ranked("own", None)


def sharded(kv_buffer, loc, cache_k_nope, world, rank):
    keep = (loc != 0) & (loc % world == rank)
    kv_buffer[loc[keep] // world, : cache_k_nope.shape[1]] = cache_k_nope[keep]


def stored_by_all(kv_buffer, loc, cache_k_nope, world, _rank):
    keep = loc != 0
    kv_buffer[loc[keep] // world, : cache_k_nope.shape[1]] = cache_k_nope[keep]


@pytest.mark.parametrize(("function", "broken"), ((sharded, False), (stored_by_all, True)))
def test_the_union_over_ranks_is_the_unsharded_pool(function, broken):
    ranks = [uncaptured(SHARDED, world=2, rank=rank)[0] for rank in (0, 1)]
    whole, _ = uncaptured(BARE)
    found = union(ranked(function), ranks, whole, trial(ranks[0].job, (2, 3, 0, 6)))
    assert (found is not None) == broken
    if found is not None:
        assert found.invariant == "W12"


def test_repeated_real_slots_are_not_permuted_and_huge_caches_are_refused():
    call, made = uncaptured(BARE)
    runner = CallableRunner("own", by_row)
    assert permuted(runner, call, trial(made, (2, 2))) is None
    with pytest.raises(KvproofError, match="too large"):
        twice(runner, replace(call), trial(made, (2,), pool=1 << 30))
