"""Which promise a difference breaks: each writer with one fault beside the nearest right one."""

from __future__ import annotations

import pytest
from kvproof.diff.runner import EvaluatorRunner

from tests.jobs import WRITERS
from tests.trials import BARE, ROPE, SHARDED, prepared, trial

RUNNER = EvaluatorRunner()


def run(function, table, contract=BARE, *, pool=8, payload=None, **more):
    """Run an own writer over some slots."""
    call, made = prepared(function, contract, **more)
    return RUNNER.run(call, trial(made, table, pool=pool, payload=payload or {}))


@pytest.mark.parametrize(
    ("function", "contract", "more"),
    (
        ("masked", BARE, {}),
        ("returning", BARE, {}),
        ("tiled", BARE, {}),
        ("persistent", BARE, {}),
        ("unrolled", BARE, {}),
        ("halves", ROPE, {}),
        ("sharded", SHARDED, {"world": 2, "rank": 1}),
        ("through_bits", BARE, {}),
    ),
)
@pytest.mark.parametrize("slots", ((), (3,), (0,), (0, 0, 0), (5, 1, 0, 7, 3)))
def test_right_writers_agree(function, contract, more, slots):
    outcome = run(function, slots, contract, **more)
    assert outcome.status == "agrees", outcome


@pytest.mark.parametrize(
    ("function", "slots", "contract", "more", "invariant"),
    (
        ("masked_without_skip", (0,), BARE, {}, "W6"),
        ("returning_on_minus_one", (2, 0), BARE, {}, "W6"),
        ("masked_without_tail", (2,), BARE, {}, "W2"),
        ("masked_one_row_short", (2, 3), BARE, {}, "W2"),
        ("masked_overrun", (2,), BARE, {"BUFFER_STRIDE": 9}, "W1"),
        ("masked_without_pitch", (2, 3), BARE, {}, "W8"),
        ("masked_fixed_grid", (2, 3), BARE, {}, "W7"),
        ("persistent_late", (2, 3), BARE, {}, "W2"),
        ("sharded_by_all", (2,), SHARDED, {"world": 2, "rank": 1}, "W12"),
        ("sharded_undivided", (3,), SHARDED, {"world": 2, "rank": 1}, "W1"),
        ("halves_swapped", (2,), ROPE, {}, "W9"),
        ("halves_twice", (2,), ROPE, {}, "W13"),
        ("clearing", (2,), BARE, {}, "W8"),
    ),
)
def test_each_fault_is_named(function, slots, contract, more, invariant):
    if function == "halves_twice":
        call, made = prepared(function, contract, **more)
        outcome = EvaluatorRunner(conflicts=True).run(call, trial(made, slots))
    else:
        outcome = run(function, slots, contract, **more)
    assert outcome.status == "differs"
    assert outcome.mismatches[0].invariant == invariant, outcome.mismatches


def test_a_mismatch_names_the_element_and_the_line():
    (found,) = run("masked_without_skip", (3, 0)).mismatches
    assert (found.tensor, found.slot, found.row, found.column) == ("kv_buffer", 0, 1, 0)
    assert (found.count, found.index, found.bits) == (6, 0, 32)
    assert found.stored != found.expected
    text = (WRITERS / "styles.py").read_text().splitlines()
    assert text[int(found.line.rpartition(":")[2]) - 1].strip().startswith("tl.store(")


@pytest.mark.parametrize(
    ("bits", "differs"), ((0x80000000, True), (0x00000000, False), (0x3F800000, False))
)
def test_an_encoding_fault_shows_at_the_values_it_changes(bits, differs):
    payload = {("cache_k_nope", 0, 2): bits}
    outcome = run("plus_zero", (4,), payload=payload)
    assert (outcome.status == "differs") == differs
    if differs:
        (found,) = outcome.mismatches
        assert (found.invariant, found.column, found.count) == ("W10", 2, 1)
        assert (found.stored, found.expected) == (0, 0x80000000)


@pytest.mark.parametrize(("slot", "differs"), ((214_748_364, True), (1000, False)))
def test_a_wrapped_address_is_told_with_the_place_it_was_meant_for(slot, differs):
    more = {"slots": "i32", "BUFFER_STRIDE": 20}
    outcome = run("masked_narrow", (slot,), pool=slot + 1, **more)
    if not differs:
        assert outcome.status == "agrees"
        return
    first = outcome.mismatches[0]
    assert first.invariant == "W4"
    assert first.where - first.index == 1 << 32
    wide = run("masked", (slot,), pool=slot + 1, **more)
    assert wide.status == "agrees"


def test_a_store_a_wrap_away_and_past_32_bits_is_no_wrap():
    slot = (1 << 27) - 1  # its own number as a place lies 2**30 elements, 2**32 bytes, too far
    more = {"world": 2, "rank": 1, "BUFFER_STRIDE": 16}
    outcome = run("sharded_undivided", (slot,), SHARDED, pool=slot // 2 + 1, **more)
    assert [found.invariant for found in outcome.mismatches] == ["W1", "W2"]
    assert outcome.mismatches[0].index == 16 * slot
