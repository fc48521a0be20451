"""The arena: where tensors lie, what surrounds them, and that the arrays follow the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kvproof.diff.api import Layout, Outcome, Trial
from kvproof.diff.arena import POISON, Arena
from kvproof.diff.classify import Memory, classify
from kvproof.diff.memory import DeviceMemory
from kvproof.diff.runner import ReferenceRunner
from kvproof.spec.case import fingerprint

from tests.trials import BARE, FP8, ROPE, SHARDED, trial, uncaptured

LAYOUTS = (
    Layout(),
    Layout(cache_offset=3, source_offset=5, slot_offset=1),
    Layout(split=True, guard=64),
)


def arena(contract=ROPE, slots=(3, 0, 5), layout=None, **more):
    """Return an arena over own dimensions."""
    call, made = uncaptured(contract, **more)
    return Arena(call, trial(made, slots, layout=layout or Layout()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_views_hold_fingerprints_inside_poison(layout):
    made = arena(layout=layout, NOPE_STRIDE=20, ROPE_STRIDE=20)
    arguments = DeviceMemory(made).arguments()
    nope = arguments["cache_k_nope"]
    assert nope.shape == (3, 6)
    assert nope.stride() == (20, 1)
    bits = nope.view(torch.int32)
    wanted = fingerprint(0, made.form.streams["cache_k_nope"], 2 * 20 + 4, 32)
    assert int(bits[2, 4]) & 0xFFFFFFFF == wanted
    region = made.regions["cache_k_nope"]
    data = made.before[region.storage]
    assert data[region.start - 1] == POISON
    assert data[region.start + 6 * 4 + (3 * 4 if layout.split else 0)] == POISON


def test_split_sources_share_a_storage_only_where_the_strides_allow():
    together = arena(layout=Layout(split=True), NOPE_STRIDE=20, ROPE_STRIDE=20)
    apart = arena(layout=Layout(split=True), NOPE_STRIDE=20, ROPE_STRIDE=21)
    assert together.regions["cache_k_rope"].storage == "cache_k_nope"
    assert apart.regions["cache_k_rope"].storage == "cache_k_rope"


@pytest.mark.parametrize("stride", (1, 2))
def test_what_follows_the_slot_table_is_a_free_slot_of_this_rank(stride):
    call, made = uncaptured(SHARDED, world=2, rank=1)
    built = Arena(call, trial(made, (15, 4, 1), slot_stride=stride))
    trap = built.trap()
    assert trap % 2 == 1
    assert trap not in (15, 4, 1)
    region = built.regions["loc"]
    table = built.before["loc"].view(np.int64)[region.start // 8 :]
    assert table[: 3 * stride : stride].tolist() == [15, 4, 1]
    assert table[3 * stride] == trap
    assert stride == 1 or table[1] == trap


def test_no_byte_of_a_cache_is_zero_and_a_changed_guard_byte_is_seen():
    made = arena()
    assert made.before["kv_buffer"].all()
    storages = {name: data.copy() for name, data in made.after.items()}
    assert classify(made, Memory(storages)) == ()
    storages["kv_buffer"][1] ^= 1
    (found,) = classify(made, Memory(storages))
    assert (found.invariant, found.count, found.index) == ("W1", 1, -64)


@pytest.mark.parametrize("name", ("cache_k_nope", "loc"))
def test_a_changed_input_is_seen(name):
    made = arena()
    storages = {key: data.copy() for key, data in made.after.items()}
    storages[name][-1] ^= 1
    (found,) = classify(made, Memory(storages))
    assert (found.invariant, found.tensor) == ("W8", name)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("contract", "more"),
    (
        (BARE, {}),
        (ROPE, {}),
        (ROPE, {"rope": 0}),
        (SHARDED, {"world": 2, "rank": 1}),
        (FP8, {"dtype": "bf16"}),
        (FP8, {"dtype": "f32"}),
    ),
)
@pytest.mark.parametrize("slots", ((), (1,), (0, 0), (7, 0, 2, 5)))
def test_the_arrays_say_what_the_naive_reference_says(contract, more, slots, layout):
    call, made = uncaptured(contract, **more)
    case = trial(made, slots, layout=layout, payload={})
    if slots:
        case = trial(made, slots, layout=layout, payload={("cache_k_nope", 0, 1): 0x8000})
    outcome = ReferenceRunner().run(call, case)
    assert outcome == Outcome(runner="reference", status="agrees"), outcome


def test_the_reference_runner_notices_an_array_that_disagrees(monkeypatch):
    call, made = uncaptured(BARE)
    monkeypatch.setattr(Arena, "encoded", lambda self, source, offsets: offsets * 0 + 1)
    outcome = ReferenceRunner().run(call, trial(made, (2,)))
    assert outcome.status == "differs"


def test_a_trial_is_rebuilt_from_its_repr_and_its_json():
    from kvproof.spec.case import Case

    _, made = uncaptured(ROPE)
    case = trial(made, (1, 0), payload={("cache_k_nope", 0, 1): 7}, layout=Layout(split=True))
    names = {"Trial": Trial, "Case": Case, "Layout": Layout}
    assert eval(repr(case), names) == case  # noqa: S307 - what the test is about
    assert "\n" not in repr(case)
    assert Trial.from_json(case.to_json()) == case
