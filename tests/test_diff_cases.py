"""Trials are legal, cover what they should, and shrink to what a person would write."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from kvproof.diff.cases import classes, clauses, legal, palette, trials
from kvproof.diff.palette import specials
from kvproof.diff.runner import EvaluatorRunner
from kvproof.spec.contract import Range
from kvproof.spec.dtypes import cast_bits, dtype
from kvproof.spec.errors import KvproofError
from kvproof.spec.rules import IN_POOL, NON_NEGATIVE, BeyondPool, Exactly, Negative, Reserved

from tests.jobs import job
from tests.trials import BARE, FP8, ROPE, SHARDED, preparer

QUIET = settings(
    max_examples=150,
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def smallest(made, sizes, fails):
    """Return the smallest failing trial, the same one every time."""
    chosen = settings(QUIET, max_examples=400)
    return find(
        trials(made, palette(made)[:sizes]),
        fails,
        settings=chosen,
        random=Random(1),  # noqa: S311 - a test draws alike every time
    )


def drawn(made, count=800):
    """Return some trials of a job."""
    found = []

    @settings(QUIET, max_examples=count, phases=[Phase.generate])
    @given(trials(made))
    def collect(trial):
        found.append(trial)

    collect()
    return found


@pytest.mark.parametrize(
    ("contract", "more"),
    ((BARE, {}), (ROPE, {"slots": "i32"}), (SHARDED, {"world": 2, "rank": 1})),
)
def test_every_trial_is_legal(contract, more):
    made = job("masked", contract, **more)
    world = made.instance.world_rank[0]
    most = 1 << (31 if more.get("slots") == "i32" else 63)
    for trial in drawn(made):
        case = trial.case
        assert case.dims in palette(made)
        assert all(0 <= slot < min(case.pool * world, most) for slot in case.slots)
        real = [slot for slot in case.slots if slot != 0]
        assert len(set(real)) == len(real)
        assert case.pool <= made.instance.pool.most
        assert case.slot_stride == 1
        for source, row, column in case.payload:
            assert row < case.rows
            assert column < case.dims["NOPE" if source == "cache_k_nope" else "ROPE"]


def changed(made, *, skip, drop):
    """Return the job with other skip rules and without some givens."""
    contract = made.instance.contract
    given = tuple(item for item in contract.given if item not in drop)
    contract = replace(contract, skip=skip, given=given)
    return replace(made, instance=replace(made.instance, contract=contract))


@pytest.mark.parametrize(
    ("skip", "drop", "wanted"),
    (
        ((Exactly(-1),), (NON_NEGATIVE,), {-1}),
        ((Exactly(-1),), (), {-1}),
        ((Negative(),), (), {-1, -2, -(1 << 20)}),
        ((Reserved(10),), (), {10}),
    ),
)
def test_negative_and_reserved_slots_appear_where_the_contract_has_them(skip, drop, wanted):
    made = changed(job("masked", BARE), skip=skip, drop=drop)
    assert set(legal(made).reserved) == wanted
    seen = Counter(slot for trial in drawn(made) for slot in trial.case.slots if slot in wanted)
    assert set(seen) == wanted
    if drop == ():
        slots = {slot for trial in drawn(made, 50) for slot in trial.case.slots}
        assert all(slot >= 0 for slot in slots - wanted)


def test_slots_past_the_pool_only_where_they_are_dropped():
    made = changed(job("masked", BARE), skip=(Reserved(0), BeyondPool()), drop=(IN_POOL,))
    assert any(max(t.case.slots, default=0) >= t.case.pool for t in drawn(made))
    made = changed(job("masked", BARE), skip=(Reserved(0),), drop=())
    assert all(max(t.case.slots, default=0) < t.case.pool for t in drawn(made))


def test_what_is_drawn_covers_the_classes_that_faults_live_in():
    made = job("masked", ROPE, dtype="bf16")
    found = Counter(name for trial in drawn(made, 800) for name in classes(made, trial))
    wanted = {
        "rows: 0", "rows: 1", "rows: 2", "rows: 767", "rows: 768", "rows: 769",
        "slots: reserved", "slots: all reserved", "slots: last", "slots: past 2**31 elements",
        "width: 0", "width: 1", "width: odd", "payload: NaN", "payload: -0.0",
        "payload: infinity", "payload: subnormal", "layout: split", "layout: cache offset",
    }  # fmt: skip
    assert wanted <= set(found)
    said = Counter(name for trial in drawn(made) for name in clauses(made, trial))
    assert {"segment: nope", "segment: rope", "skip: virtual slot 0 is never stored"} <= set(said)


@pytest.mark.parametrize(
    ("function", "contract", "more", "slots"),
    (
        ("masked_without_skip", BARE, {}, (0,)),
        ("sharded_by_all", SHARDED, {"world": 2, "rank": 1}, (2,)),
        ("masked_one_row_short", BARE, {}, (1,)),
    ),
)
def test_shrinking_ends_in_the_smallest_call(function, contract, more, slots):
    made = job(function, contract, **more)
    runner = EvaluatorRunner()

    def fails(trial):
        return runner.run(preparer().prepare(made, trial.case), trial).status == "differs"

    found = smallest(made, 2, fails)
    assert found.case.slots == slots
    assert found.case.dims == palette(made)[0]
    assert found.case.payload == {}
    assert repr(found.layout) == "Layout()"


def test_a_fault_of_one_value_shrinks_to_that_value():
    made = job("plus_zero", BARE)
    runner = EvaluatorRunner()

    def fails(trial):
        return runner.run(preparer().prepare(made, trial.case), trial).status == "differs"

    found = smallest(made, 1, fails)
    assert (found.case.rows, found.case.payload) == (1, {("cache_k_nope", 0, 0): 0x80000000})


def test_dimensions_are_legal_small_first_and_end_with_the_job_s_own():
    made = job("masked", ROPE)
    found = palette(made)
    assert found[-1] == made.instance.dims
    sizes = [dims["NOPE"] + dims["ROPE"] for dims in found[:-1]]
    assert sizes[0] <= 6
    assert {0, 1} <= {dims["ROPE"] for dims in found}
    assert any(d["NOPE_STRIDE"] == d["ROPE_STRIDE"] >= d["NOPE"] + d["ROPE"] for d in found)
    assert any(d["BUFFER_STRIDE"] > d["NOPE"] + d["ROPE"] for d in found)


def test_special_values_stand_on_both_sides_of_overflow_and_ties():
    source, target = dtype("bf16"), dtype("f8e4m3fn")
    bits = [b for name, b in specials("bf16", "f8e4m3fn") if name == "overflow"]
    codes = {cast_bits(source, target, b, saturate=False) for b in bits}
    assert {0x7E, 0x7F} <= codes
    assert "overflow" not in dict(specials("bf16", None))
    kinds = dict(specials("u8", None))
    assert set(kinds.values()) == {0, 0x80, 0xFF}


@pytest.mark.parametrize(("most", "legal_"), ((1, False), (2, True)))
def test_a_contract_without_a_case_is_refused(most, legal_):
    made = job("masked", BARE)
    made = replace(made, instance=replace(made.instance, pool=Range(1, most)))
    if legal_:
        trials(made)
        return
    with pytest.raises(KvproofError, match="allows no case"):
        trials(made)


def test_casts_draw_values_of_the_target():
    made = job("masked", FP8, dtype="bf16")
    names = {name for trial in drawn(made) for name in classes(made, trial)}
    assert {"payload: overflow", "payload: tie", "payload: target subnormal"} <= names
