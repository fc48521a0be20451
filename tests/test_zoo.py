"""The zoo: every right writer is proved, and every fault is named and shown in a run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from kvproof.checkers.check import Checker
from kvproof.spec.invariants import INVARIANTS
from kvproof.spec.rules import NON_NEGATIVE
from kvproof.spec.verdict import Result, Verdict

from tests.zoo.corpus import CORPUS
from tests.zoo.registry import HERE, PROOF, RUNS, Pair, pairs
from tests.zoo.runs import SEEN, judge, launches

ALL = pairs()
PAIRS = pairs(PROOF)
RUN = pairs(RUNS)
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


@pytest.mark.parametrize("pair", RUN, ids=lambda pair: f"{pair.corpus}-{pair.wrong}")
def test_runs_name_the_fault_and_clear_the_right_twin(pair: Pair) -> None:
    right = judge(pair, pair.right)
    assert (right.named, right.drawn, right.undecided) == ({}, (), ())
    wrong = judge(pair, pair.wrong)
    assert (wrong.named.keys(), wrong.undecided) == (pair.expected, ()), wrong
    assert wrong.drawn
    assert right.cases == wrong.cases == 2 * pair.cases + len(pair.inputs)


@pytest.mark.parametrize("pair", RUN, ids=lambda pair: f"{pair.corpus}-{pair.wrong}")
def test_runs_decide_what_no_proof_can_take(checker: Checker, pair: Pair) -> None:
    report = checker.check(pair.job(pair.wrong))
    if not launches(pair):
        assert report.error
        assert report.results == ()
        return
    open_ = {r.invariant for r in report.results if not r.verdict.decided}
    refuted = {r.invariant for r in report.results if r.verdict is Verdict.REFUTED}
    assert open_ or refuted != pair.expected


def test_every_report_has_a_pair_or_a_reason() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    tables = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.MULTILINE))
    named = {
        title: {name for line in re.findall(r"^\| ([A-L]\d.*?) \|", tables[title], re.MULTILINE)
                for name in re.findall(r"\b[A-L]\d+\b", line)}
        for title in ("Out of reach", "Shown in another form than reported")
    }  # fmt: skip
    shown = {pair.corpus for pair in ALL}
    assert named["Out of reach"] | shown == CORPUS.keys()
    assert not named["Out of reach"] & shown
    assert named["Shown in another form than reported"] <= shown


def test_headers_are_whole() -> None:
    names = [pair.name for pair in ALL]
    assert len(names) == len(set(names)) >= 60
    for pair in ALL:
        assert pair.expected
        assert pair.expected <= (INVARIANTS.keys() if pair.decided == PROOF else set(SEEN))
        assert pair.right != pair.wrong
        assert bool(pair.inputs) == (pair.decided == RUNS)
        assert pair.decided == RUNS or not (pair.surplus or pair.middle)
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
