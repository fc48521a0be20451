"""Batches: the device's arithmetic follows the arena's, and one bad variant in many is found."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kvproof.diff.api import Layout
from kvproof.diff.arena import Arena
from kvproof.diff.batch import BatchMemory, BatchRunner
from kvproof.diff.hosting import CallableRunner, LoadedRunner
from kvproof.diff.variants import variants
from kvproof.spec.errors import KvproofError

from tests.trials import BARE, FP8, ROPE, SHARDED, trial, uncaptured

CASES = (
    (BARE, {"dtype": "f32"}),
    (ROPE, {"dtype": "bf16", "slots": "i32"}),
    (ROPE, {"dtype": "u8"}),
    (SHARDED, {"world": 2, "rank": 1, "dtype": "f16"}),
    (FP8, {"dtype": "bf16"}),
)


@pytest.mark.parametrize(("contract", "more"), CASES)
@pytest.mark.parametrize("layout", (Layout(), Layout(source_offset=3, split=True)))
def test_a_batch_holds_the_bytes_of_each_variant_s_own_arena(contract, more, layout):
    call, made = uncaptured(contract, NOPE_STRIDE=20, ROPE_STRIDE=20, **more)
    batch = variants(made, trial(made, (1, 2, 3), layout=layout), 24, seed=3)
    memory = BatchMemory(call, batch, torch.device("cpu"))
    for index in (0, 1, 7, 23):
        arena = Arena(call, batch.at(index))
        for name in arena.before:
            if name != "loc":  # the free slots after the table are the first variant's
                assert np.array_equal(memory.storages[name][index].numpy(), arena.before[name])
                assert np.array_equal(memory.wanted[name][index].numpy(), arena.after[name])
        table = memory.storages["loc"][index].numpy()
        start = arena.regions["loc"].start
        size = 3 * (4 if more.get("slots") == "i32" else 8)
        assert bytes(table[start : start + size]) == bytes(
            arena.before["loc"][start : start + size]
        )


def test_variants_are_legal_differ_and_repeat_with_their_seed():
    _, made = uncaptured(SHARDED, world=2, rank=0)
    base = trial(made, (1, 2, 3, 4))
    batch = variants(made, base, 64, seed=5)
    for index in range(len(batch)):
        slots = batch.at(index).case.slots
        real = [slot for slot in slots if slot]
        assert len(set(real)) == len(real)
        assert all(0 <= slot < 16 for slot in slots)
    assert len({batch.at(k).case.slots for k in range(64)}) > 32
    assert any(0 in batch.at(k).case.slots for k in range(64))
    again = variants(made, base, 64, seed=5)
    assert [again.at(k) for k in range(64)] == [batch.at(k) for k in range(64)]
    assert not np.array_equal(batch.slots, variants(made, base, 64, seed=6).slots)
    with pytest.raises(KvproofError, match="more than 3 slots"):
        variants(made, trial(made, (1, 2, 3, 4), pool=2), 2)


def copier(*, skip, wrong=None):
    """Return a writer of torch operations that errs where a source holds one value."""

    def write(kv_buffer, loc, cache_k_nope):
        keep = (loc != 0) if skip else (loc >= 0)
        rows = cache_k_nope[keep].clone()
        if wrong is not None:
            bits = rows.view(torch.int32)
            bits[bits == wrong] = 0
        kv_buffer[loc[keep], : rows.shape[1]] = rows

    return write


@pytest.mark.parametrize(("skip", "broken"), ((True, False), (False, True)))
def test_the_variants_that_are_wrong_are_found_and_no_others(skip, broken):
    call, made = uncaptured(BARE)
    batch = variants(made, trial(made, (1, 2, 3)), 40, seed=1)
    found = BatchRunner(CallableRunner("own", copier(skip=skip))).run(call, batch)
    wanted = [k for k in range(40) if 0 in batch.at(k).case.slots] if broken else []
    assert sorted(found) == wanted
    assert all(outcome.mismatches[0].invariant == "W6" for outcome in found.values())


def test_one_value_in_one_variant_is_enough():
    call, made = uncaptured(BARE)
    batch = variants(made, trial(made, (1, 2, 3)), 256, seed=1)
    bits = -(1 << 31)
    found = BatchRunner(CallableRunner("own", copier(skip=True, wrong=bits))).run(call, batch)
    holds = [
        k
        for k in range(256)
        if (item := batch.special[k]) and item[3] == 1 << 31 and batch.at(k).case.slots[item[1]]
    ]
    assert sorted(found) == holds
    assert holds
    assert all(outcome.mismatches[0].invariant == "W10" for outcome in found.values())


def test_an_exception_names_its_variant_and_a_large_cache_is_refused():
    def refuse(kv_buffer, loc, cache_k_nope):
        if 0 in loc.tolist():
            raise ValueError("padding")

    call, made = uncaptured(BARE)
    batch = variants(made, trial(made, (1, 2, 3)), 40, seed=1)
    ((index, outcome),) = BatchRunner(CallableRunner("own", refuse)).run(call, batch).items()
    assert index == next(k for k in range(40) if 0 in batch.at(k).case.slots)
    assert (outcome.status, outcome.reason) == ("raised", "ValueError: padding")
    huge = variants(made, trial(made, (1,), pool=40_000_000 // 46), 1)
    with pytest.raises(KvproofError, match="too large for a batch"):
        BatchRunner(CallableRunner("own", refuse)).run(call, huge)


@pytest.mark.gpu
@pytest.mark.parametrize("function", ("masked", "masked_without_skip"))
def test_a_batch_on_the_gpu(function):
    from dataclasses import replace

    call, made = uncaptured(BARE)
    call = replace(call, job=replace(made, function=function))
    batch = variants(made, trial(made, (1, 2, 3)), 64, seed=1)
    found = BatchRunner(LoadedRunner()).run(call, batch)
    wrong = [k for k in range(64) if 0 in batch.at(k).case.slots]
    assert sorted(found) == ([] if function == "masked" else wrong)
