"""W13 speaks of two rows: its counterexample keeps the slots of both, and legal ones elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kvproof.checkers.check import Checker
from kvproof.spec.verdict import Result, Verdict

from tests.zoo.registry import pairs


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker(drop=False, workers=1, invariants=frozenset({"W2", "W13"})) as made:
        yield made


def order(checker: Checker, wrong: str) -> Result:
    """Return what is said of W13 for a writer of the zoo."""
    (pair,) = [pair for pair in pairs() if pair.wrong == wrong]
    (report,) = checker.finish([checker.check(pair.job(wrong))])
    return next(result for result in report.results if result.invariant == "W13")


@pytest.mark.parametrize(
    ("wrong", "fold"),
    (("folds", lambda slot: slot % 8), ("narrow_unsigned", lambda slot: slot << 30 & 0xFFFFFFFF)),
)
def test_two_slots_that_meet_are_both_in_the_case(checker, wrong, fold):
    result = order(checker, wrong)
    assert result.verdict is Verdict.REFUTED
    assert result.replay["evaluator"] == "confirmed"
    first, second = result.case.slots
    assert first != second
    assert fold(first) == fold(second)


def test_one_row_stored_twice_needs_no_second_slot(checker):
    result = order(checker, "by_two_programs")
    assert result.replay["evaluator"] == "confirmed"
    assert len(result.case.slots) == 1
