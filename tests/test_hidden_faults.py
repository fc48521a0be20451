"""Faults that no address and no mask shows are refuted, beside their right twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from kvproof.checkers.check import Checker
from kvproof.spec.rules import Negative
from kvproof.spec.verdict import Result, Verdict

from .jobs import job

PAIRS = {
    "chosen_by_a_wrapped_product": ("chosen", "mla-row-norope", "W4"),
    "two_launches_the_second_short": ("two_launches", "mla-row", "W2"),
    "within_pool_but_the_last": ("within_pool", "mla-row-norope", "W2"),
}


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    pytest.importorskip("triton")
    with Checker(drop=False) as made:
        yield made


def check(checker: Checker, name: str, contract: str) -> tuple[Result, ...]:
    (report,) = checker.finish([checker.check(job(name, contract, file="hidden.py"))])
    assert report.error is None
    return report.results


@pytest.mark.parametrize("fault", PAIRS)
def test_the_fault_is_refuted_and_its_twin_is_proved(checker: Checker, fault: str) -> None:
    twin, contract, invariant = PAIRS[fault]
    found = {result.invariant: result for result in check(checker, fault, contract)}
    assert found[invariant].verdict is Verdict.REFUTED
    assert all(result.verdict is Verdict.PROVED for result in check(checker, twin, contract))


@pytest.mark.parametrize(
    "name", ("as_many_rows_as_are_not_padding", "only_without_padding", "only_for_slots_in_order")
)
def test_a_launch_that_depends_on_the_slots_is_refused(checker: Checker, name: str) -> None:
    report = checker.check(job(name, "mla-row-norope", file="hidden.py"))
    assert report.error is not None
    assert "depends on the slots' values" in report.error
    assert report.results == ()


def test_a_launch_that_depends_on_the_sources_is_refused(checker: Checker) -> None:
    report = checker.check(job("only_without_nan", "mla-row-norope", file="hidden.py"))
    assert report.error is not None
    assert "depends on what the tensors hold: it changes with NaN" in report.error


def test_a_launch_that_depends_on_a_sentinel_is_refused(checker: Checker) -> None:
    name = "copied_below_zero_only_without_padding"
    asked = job(name, "mla-row-norope", file="hidden.py")
    contract = replace(asked.instance.contract, skip=(Negative(),))
    asked = replace(asked, instance=replace(asked.instance, contract=contract))
    report = checker.check(asked)
    assert report.error is not None
    assert "padding first (slot -1)" in report.error


def test_fewer_rows_in_large_calls_are_refused(checker: Checker) -> None:
    report = checker.check(job("two_rows_short_past_65536", "mla-row-norope", file="hidden.py"))
    assert report.error is not None
    assert "[2, 5, 1030, 262142] at row counts (2, 5, 1030, 262144)" in report.error


def test_large_calls_without_a_kernel_are_named(checker: Checker) -> None:
    report = checker.check(job("only_up_to_65536_rows", "mla-row-norope", file="hidden.py"))
    assert report.error is None
    assert any("with 262144 rows no Triton kernel is launched" in note for note in report.notes)


def test_the_same_launch_for_all_slots_is_proved(checker: Checker) -> None:
    results = check(checker, "every_row", "mla-row-norope")
    assert all(result.verdict is Verdict.PROVED for result in results)


@pytest.mark.parametrize(
    "name",
    (
        "source_changed_in_place",
        "slots_changed_in_place",
        "written_through_data",
        "written_through_numpy",
        "written_only_with_padding",
    ),
)
def test_what_torch_writes_is_refused(checker: Checker, name: str) -> None:
    report = checker.check(job(name, "mla-row-norope", file="hidden.py"))
    assert report.error is not None
    assert "torch itself wrote to" in report.error


@pytest.mark.parametrize(
    "name", ("without_signs_first", "without_nan_first", "rounded_first", "clamped_first")
)
def test_a_source_that_torch_changed_first_is_not_proved(checker: Checker, name: str) -> None:
    report = checker.check(job(name, "mla-row-norope", file="hidden.py", NOPE_STRIDE=40))
    verdicts = {result.invariant: result.verdict for result in report.results}
    assert verdicts["W8"] is not Verdict.PROVED


def test_a_pool_size_of_32_bits_is_named(checker: Checker) -> None:
    named = "POOL < 2,147,483,648 (argument places; a larger one compiles to other IR)"
    assert all(
        named in result.assumes
        for result in check(checker, "within_pool", "mla-row-norope")
        if result.invariant != "W15"
    )
    # With slots of 32 bits the pool is smaller than that.
    (report,) = checker.finish([checker.check(job("within_pool", file="hidden.py", slots="i32"))])
    assert not any("other IR" in said for result in report.results for said in result.assumes)


def test_nothing_is_proved_of_an_address_from_a_float(checker: Checker) -> None:
    asked = job("place_by_float", file="hidden.py", NOPE_STRIDE=40)
    (report,) = checker.finish([checker.check(asked)])
    verdicts = {result.invariant: result.verdict for result in report.results}
    assert verdicts["W6"] is Verdict.PROVED
    open_ones = {verdicts[name] for name in ("W1", "W2", "W4", "W9", "W13")}
    assert open_ones <= {Verdict.UNKNOWN, Verdict.UNSUPPORTED}
