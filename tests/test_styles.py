"""Proofs of own writers in every style that engines use, beside the nearest fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from kvproof.checkers.check import Checker
from kvproof.spec.rules import COL, PLACE
from kvproof.spec.verdict import Result, Verdict

from tests.jobs import job


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    """One checker, and so one capturing child, for the module."""
    with Checker(drop=False, workers=1) as made:
        yield made


def results(checker: Checker, name: str, contract: str, **options: object) -> list[Result]:
    """Check a writer and replay what was refuted."""
    report = checker.check(job(name, contract, **options))  # type: ignore[arg-type]
    assert report.error is None, report.error
    (done,) = checker.finish([report])
    return list(done.results)


def broken(found: list[Result]) -> set[str]:
    """Return the invariants that are refuted."""
    return {result.invariant for result in found if result.verdict is Verdict.REFUTED}


def undecided(found: list[Result]) -> set[str]:
    """Return the invariants that are neither proved nor refuted."""
    return {result.invariant for result in found if not result.verdict.decided}


BARE, ROPE, SHARDED = "mla-row-norope", "mla-row", "mla-row-norope-sharded"

RIGHT = [
    ("masked", BARE, {}),
    ("masked", BARE, {"slots": "i32"}),
    ("masked", BARE, {"dtype": "bf16", "nope": 33}),
    ("masked", BARE, {"dtype": "u8", "nope": 1}),
    ("returning", BARE, {}),
    ("tiled", BARE, {}),
    ("persistent", BARE, {}),
    ("unrolled", BARE, {}),
    ("halves", ROPE, {}),
    ("halves", ROPE, {"nope": 33, "rope": 7}),
    ("through_bits", BARE, {}),
    ("waiting", BARE, {}),
    ("tuned", BARE, {}),
    ("through_double", BARE, {}),
    ("choosing", ROPE, {}),
    ("choosing", ROPE, {"nope": 100, "rope": 60}),
    ("choosing_narrow", ROPE, {}),
    ("as_words", BARE, {}),
    ("masked_narrow", BARE, {"slots": "i32", "pool": 1 << 20}),
]

WRONG = [
    ("masked_without_skip", BARE, {}, {"W1", "W6"}),
    ("masked_narrow", BARE, {"slots": "i32"}, {"W4"}),
    ("masked_without_tail", BARE, {}, {"W2"}),
    ("masked_overrun", BARE, {}, {"W1", "W8"}),
    ("masked_without_pitch", BARE, {}, {"W8", "W9"}),
    ("masked_one_row_short", BARE, {}, {"W2", "W7"}),
    ("masked_fixed_grid", BARE, {}, {"W2", "W7", "W8", "W1"}),
    ("masked_refuses_none", BARE, {}, {"W7"}),
    ("returning_on_minus_one", BARE, {}, {"W1", "W6"}),
    ("tiled_without_guard", BARE, {}, {"W1", "W7", "W8"}),
    ("persistent_late", BARE, {}, {"W2", "W7"}),
    ("unrolled_astray", BARE, {}, {"W2", "W9", "W13"}),
    ("halves_shifted", ROPE, {}, {"W2", "W9", "W13"}),
    ("halves_swapped", ROPE, {}, {"W9"}),
    ("halves_twice", ROPE, {}, {"W13"}),
    ("sharded_by_all", SHARDED, {"world": 2, "rank": 1}, {"W1", "W6", "W12"}),
    ("sharded_undivided", SHARDED, {"world": 2, "rank": 1}, {"W1", "W2"}),
    ("plus_zero", BARE, {}, {"W10"}),
    ("without_nan", BARE, {}, {"W10"}),
    ("waiting_late", BARE, {}, {"W15"}),
    # Which element is stored is decided in 8 bits: right up to column 127.
    ("choosing_narrow", ROPE, {"nope": 100, "rope": 60}, {"W4"}),
]


@pytest.mark.parametrize(("name", "contract", "options"), RIGHT)
def test_a_right_writer_is_proved(
    checker: Checker, name: str, contract: str, options: dict[str, object]
) -> None:
    """Everything that is asked of a right writer is proved."""
    found = results(checker, name, contract, **options)
    assert {r.invariant: r.verdict for r in found} == dict.fromkeys(
        [r.invariant for r in found], Verdict.PROVED
    ), [(r.invariant, r.detail, r.case) for r in found if r.verdict is not Verdict.PROVED]
    assert {"W1", "W2", "W4", "W6", "W7", "W8", "W9", "W10", "W13"} <= {r.invariant for r in found}


@pytest.mark.parametrize(("name", "contract", "options", "expected"), WRONG)
def test_a_fault_is_refuted_and_shown(
    checker: Checker,
    name: str,
    contract: str,
    options: dict[str, object],
    expected: set[str],
) -> None:
    """The fault's invariants are refuted, no others.

    Every counterexample that can be run shows on the evaluator.
    """
    found = results(checker, name, contract, **options)
    assert (broken(found), undecided(found)) == (expected, set()), [
        (r.invariant, r.verdict, r.detail, r.case) for r in found
    ]
    for result in found:
        if result.verdict is Verdict.REFUTED and result.case is not None:
            assert result.replay["evaluator"] == "confirmed", (result.invariant, result.replay)
            assert result.replay["interpreter"] != "not confirmed", result.replay


UNSUPPORTED = [
    # An atomic may store anywhere: nothing is said of memory, and that is not PROVED.
    ("atomic", {}, set(), {"W1", "W2", "W4", "W6", "W7", "W8", "W9", "W10", "W13"}),
    # A sum over lanes has no row in the op table: only the value depends on it.
    ("summed", {}, set(), {"W10"}),
    # The kernel stores words over elements of two bytes: the contract speaks of elements.
    (
        "as_words",
        {"dtype": "bf16"},
        set(),
        {"W1", "W2", "W6", "W7", "W8", "W9", "W10", "W13"},
    ),
    # What is loaded from memory that the kernel stores is not known.
    ("clearing", {}, {"W8"}, {"W10"}),
]


@pytest.mark.parametrize(("name", "options", "expected", "open_ones"), UNSUPPORTED)
def test_what_is_not_supported_is_said_and_only_that(
    checker: Checker,
    name: str,
    options: dict[str, object],
    expected: set[str],
    open_ones: set[str],
) -> None:
    """An op without a row leaves what depends on it UNSUPPORTED, named with its line."""
    found = results(checker, name, BARE, **options)
    assert (broken(found), undecided(found)) == (expected, open_ones)
    for result in found:
        if not result.verdict.decided:
            assert result.verdict is Verdict.UNSUPPORTED
            assert "styles.py:" in result.detail


def test_a_function_that_launches_nothing_is_an_error(checker: Checker) -> None:
    """A host function without a Triton kernel is told so, and nothing is proved of it."""
    report = checker.check(job("torch_only", BARE))
    assert report.results == ()
    assert report.error is not None
    assert "launches no Triton kernel" in report.error


def test_an_autotuned_writer_is_checked_in_every_configuration(checker: Checker) -> None:
    """Each configuration of an autotuner has results of its own."""
    report = checker.check(job("tuned", BARE))
    assert len({result.config["autotune"] for result in report.results}) == 2


def test_the_narrow_writer_says_how_far_it_is_right(checker: Checker) -> None:
    """The largest safe slot times the stride still fits 32 bits, and the next one does not."""
    found = results(checker, "masked_narrow", BARE, slots="i32", BUFFER_STRIDE=576)
    (wide,) = [result for result in found if result.invariant == "W4"]
    assert (wide.verdict, wide.safe_of, wide.safe_up_to) == (Verdict.REFUTED, "slot", 3_728_270)
    assert wide.safe_up_to * 576 < 1 << 31 <= (wide.safe_up_to + 1) * 576


def test_dropping_a_promise_shows_what_it_excludes() -> None:
    """Without 0 <= slot, slot -1 is stored; without distinct slots, the order decides."""
    with Checker(workers=1, replay=False) as checker:
        report = checker.check(job("masked", BARE))
    dropped = {r.invariant: {d.key: d for d in r.dropped} for r in report.results}
    frame = dropped["W1"]
    assert frame["slots>=0"].verdict is Verdict.REFUTED
    assert "slot -1 " in frame["slots>=0"].shows
    assert frame["slots<pool"].verdict is Verdict.REFUTED
    assert frame["slots-contiguous"].verdict is Verdict.REFUTED
    assert dropped["W6"]["slots>=0"].verdict is Verdict.PROVED
    assert dropped["W13"]["slots-distinct"].verdict is Verdict.REFUTED


def test_a_layout_whose_columns_do_not_lie_side_by_side_is_not_guessed(checker: Checker) -> None:
    """Without an inverse of the layout nothing is said of where a store lands."""
    plain = job("masked", BARE)
    contract = plain.instance.contract
    packed = replace(contract.segments[0], at=PLACE * 400 + COL // 8 * 80 + COL % 8)
    changed = replace(contract, segments=(packed,))
    report = checker.check(replace(plain, instance=replace(plain.instance, contract=changed)))
    verdicts = {result.invariant: result.verdict for result in report.results}
    assert verdicts["W1"] is verdicts["W9"] is Verdict.UNSUPPORTED
    assert verdicts["W2"] is not Verdict.PROVED
