"""The zoo: every right writer is proved, and every fault is named and shown in a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import pytest
from kvproof.checkers.check import Checker
from kvproof.spec.invariants import INVARIANTS
from kvproof.spec.rules import NON_NEGATIVE
from kvproof.spec.verdict import Result, Verdict

from tests.zoo.registry import HERE, Pair, pairs

PAIRS = pairs()
RIGHT = {(pair.file, pair.right, pair.contract, str(pair.dims)): pair for pair in PAIRS}


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker(drop=False, workers=1) as made:
        yield made


def results(checker: Checker, pair: Pair, function: str) -> list[Result]:
    report = checker.check(pair.job(function))
    assert report.error is None, report.error
    (done,) = checker.finish([report])
    return list(done.results)


def seen(found: list[Result]) -> list[tuple[str, str, str, object, object]]:
    return [(r.invariant, r.verdict.value, r.detail, r.case, r.replay) for r in found]


@pytest.mark.parametrize("pair", RIGHT.values(), ids=lambda pair: f"{pair.corpus}-{pair.right}")
def test_a_right_twin_is_proved(checker: Checker, pair: Pair) -> None:
    found = results(checker, pair, pair.right)
    assert {r.verdict for r in found} == {Verdict.PROVED}, seen(found)
    asked = {"W1", "W2", "W4", "W7", "W8", "W9", "W10", "W13"}
    assert asked <= {r.invariant for r in found}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.corpus}-{pair.wrong}")
def test_a_fault_is_named_and_shown(checker: Checker, pair: Pair) -> None:
    found = results(checker, pair, pair.wrong)
    broken = {r.invariant for r in found if r.verdict is Verdict.REFUTED}
    assert broken == pair.expected, seen(found)
    # Where nothing is stored, nothing is proved of stores either.
    rest = {r.verdict for r in found if r.verdict is not Verdict.REFUTED}
    assert rest <= {Verdict.PROVED, Verdict.VACUOUS}, seen(found)
    for result in found:
        if result.verdict is Verdict.REFUTED and result.case is not None:
            assert result.replay["evaluator"] == "confirmed", (result.invariant, result.replay)
            assert result.replay["interpreter"] != "not confirmed", result.replay


def test_headers_are_whole() -> None:
    names = [pair.name for pair in PAIRS]
    assert len(names) == len(set(names))
    for pair in PAIRS:
        assert pair.expected
        assert pair.expected <= INVARIANTS.keys()
        assert pair.right != pair.wrong
        tree = ast.parse((HERE / pair.file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {pair.right, pair.wrong} <= functions


@pytest.mark.parametrize("dropped", ("slots-distinct", "slots-contiguous", "no-alias"))
def test_nothing_is_proved_without_a_promise_that_proofs_lean_on(
    checker: Checker, dropped: str
) -> None:
    job = PAIRS[0].job(PAIRS[0].right)
    contract = job.instance.contract
    fewer = replace(contract, given=tuple(g for g in contract.given if g.key != dropped))
    report = checker.check(replace(job, instance=replace(job.instance, contract=fewer)))
    assert report.results == ()
    assert f"add {dropped} to given" in (report.error or "")


def test_a_promise_that_is_not_made_is_not_used(checker: Checker) -> None:
    (pair,) = [pair for pair in PAIRS if pair.wrong == "clamps_negative"]
    job = pair.job("skips_nothing")
    contract = replace(job.instance.contract, skip=())
    report = checker.check(replace(job, instance=replace(job.instance, contract=contract)))
    verdicts = {r.invariant: r.verdict for r in report.results}
    assert verdicts["W1"] is Verdict.REFUTED
    full = replace(contract, given=(*contract.given, NON_NEGATIVE))
    report = checker.check(replace(job, instance=replace(job.instance, contract=full)))
    assert {r.verdict for r in report.results} == {Verdict.PROVED}
