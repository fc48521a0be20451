"""Cases of counterexamples: rows that meet (W13), past the table (W7, W8), and bits (W10)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kvproof.checkers.check import Checker
from kvproof.spec.verdict import Result, Verdict

from tests.zoo.registry import pairs


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker(
        drop=False, workers=1, invariants=frozenset({"W1", "W2", "W7", "W8", "W10", "W13"})
    ) as made:
        yield made


def results(checker: Checker, wrong: str) -> dict[str, Result]:
    """Return what is said of a writer of the zoo, by invariant."""
    (pair,) = [pair for pair in pairs() if pair.wrong == wrong]
    (report,) = checker.finish([checker.check(pair.job(wrong))])
    return {result.invariant: result for result in report.results}


@pytest.mark.parametrize(
    ("wrong", "fold"),
    (("folds", lambda slot: slot % 8), ("narrow_unsigned", lambda slot: slot << 30 & 0xFFFFFFFF)),
)
def test_two_slots_that_meet_are_both_in_the_case(checker, wrong, fold):
    result = results(checker, wrong)["W13"]
    assert result.verdict is Verdict.REFUTED
    assert result.replay["evaluator"] == "confirmed"
    first, second = result.case.slots
    assert first != second
    assert fold(first) == fold(second)


def test_one_row_stored_twice_needs_no_second_slot(checker):
    result = results(checker, "by_two_programs")["W13"]
    assert result.replay["evaluator"] == "confirmed"
    assert len(result.case.slots) == 1


def test_reading_past_the_table_shows_in_a_run_and_what_is_read_there_does_not(checker):
    found = results(checker, "looping_past_the_end")
    for invariant in ("W7", "W8"):
        assert found[invariant].replay["evaluator"] == "confirmed"
        assert "load outside" in found[invariant].observed["evaluator"]
        assert found[invariant].row == len(found[invariant].case.slots)
    assert (found["W1"].verdict, found["W1"].case) == (Verdict.REFUTED, None)


@pytest.mark.parametrize(
    ("wrong", "right_bits"),
    # What the solver may name, since a cast is any function to it; the writer keeps these.
    (("cast_clamped_early", 0x3F81), ("copy_clamped", 0)),
)
def test_the_element_of_a_wrong_cast_is_one_that_it_breaks(checker, wrong, right_bits):
    result = results(checker, wrong)["W10"]
    (((source, row, column), bits),) = result.case.payload.items()
    assert (source, row, column) == ("cache_k_nope", result.row, result.column)
    assert f"first at row {row}, nope column {column}:" in result.observed["evaluator"]
    assert bits != right_bits
