"""A launch as a function of the call, fitted over captured calls."""

from __future__ import annotations

import pytest
from kvproof.checkers.family import Sample, explain, fit
from kvproof.spec.errors import KvproofError
from kvproof.spec.launch import ArgInfo, Launch


def seen(*pairs: tuple[dict[str, int], int]) -> list[tuple[dict[str, int], int]]:
    return list(pairs)


def test_a_value_that_follows_the_rows_is_named() -> None:
    values = seen(({"ROWS": 2}, 2), ({"ROWS": 5}, 5))
    assert str(explain(values, ["ROWS"])) == "ROWS"


def test_a_value_that_stays_is_a_constant() -> None:
    values = seen(({"ROWS": 2}, 4), ({"ROWS": 5}, 4))
    assert str(explain(values, ["ROWS"])) == "4"


@pytest.mark.parametrize(
    ("values", "text"),
    (
        (seen(({"ROWS": 2}, 1), ({"ROWS": 5}, 2), ({"ROWS": 1030}, 258)), "(ROWS + 3) // 4"),
        (seen(({"ROWS": 2}, 6), ({"ROWS": 5}, 15)), "ROWS * 3"),
        (seen(({"ROWS": 2}, 1), ({"ROWS": 5}, 4), ({"ROWS": 1030}, 1029)), "ROWS + -1"),
    ),
)
def test_multiples_shifts_and_quotients_are_found(values, text: str) -> None:
    assert str(explain(values, ["ROWS"])) == text


def test_no_expression_is_none() -> None:
    assert explain(seen(({"ROWS": 2}, 7), ({"ROWS": 5}, 3), ({"ROWS": 9}, 8)), ["ROWS"]) is None


def test_two_dimensions_that_never_differ_are_not_guessed_between() -> None:
    same = seen(({"A": 2, "B": 2}, 2), ({"A": 5, "B": 5}, 5))
    with pytest.raises(KvproofError, match="cannot be told apart"):
        explain(same, ["A", "B"])
    told = seen(({"A": 2, "B": 3}, 2), ({"A": 5, "B": 4}, 5))
    assert str(explain(told, ["A", "B"])) == "A"


def test_a_dimension_that_never_changes_is_not_taken_for_a_constant() -> None:
    with pytest.raises(KvproofError, match="cannot be told apart"):
        explain(seen(({"A": 5, "ROWS": 2}, 5), ({"A": 5, "ROWS": 3}, 5)), ["A", "ROWS"])


def test_the_launch_s_own_block_is_tried_before_others() -> None:
    values = seen(({"A": 342, "B": 170}, 4), ({"A": 341, "B": 169}, 4), ({"A": 256, "B": 1}, 3))
    assert str(explain(values, ["A", "B"], [128])) == "(A + B + 127) // 128"


def launch(grid: int, value: int, ttir_hash: str = "x") -> Launch:
    args = (ArgInfo("n", "scalar", "i32", value), ArgInfo("D", "constexpr", "constexpr", 8))
    return Launch("k", "k.py", 3, (grid, 1, 1), args, ttir_hash=ttir_hash)


def test_a_family_gives_grid_and_scalars_for_any_rows() -> None:
    samples = [Sample({"ROWS": n}, launch(n, 3 * n)) for n in (2, 5, 1030)]
    family = fit(samples, ["ROWS"])
    assert family.grid_at({"ROWS": 77}) == (77, 1, 1)
    assert str(family.scalars["n"]) == "ROWS * 3"


def test_ir_that_changes_with_the_rows_is_refused() -> None:
    samples = [Sample({"ROWS": n}, launch(n, n, str(n))) for n in (2, 5)]
    with pytest.raises(KvproofError, match="IR differs"):
        fit(samples, ["ROWS"])
