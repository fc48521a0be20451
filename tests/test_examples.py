"""The bundled writers: what they do when they run, and what a check says of them."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from kvproof.checkers.check import Checker
from kvproof.cli.configuring import configurations
from kvproof.cli.contracttest import ContractTest
from kvproof.cli.request import Request, jobs
from kvproof.spec.builtin import CONTRACTS
from kvproof.spec.verdict import Verdict

FOLDER = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize(
    ("function", "padded"), (("write_rows", False), ("write_rows_without_skip", True))
)
def test_only_the_faulty_one_stores_a_padding_row(function, padded):
    body = f"""
        import json, torch
        from zero_rope import {function}
        cache = torch.full((6, 20), -1.0)[:, :16]
        rows = torch.arange(5 * 16, dtype=torch.float32).reshape(5, 16)
        {function}(cache, torch.tensor([3, 0, 1, 5, 0]), rows)
        {function}(cache, torch.empty(0, dtype=torch.int64), rows[:0])
        print(json.dumps([int(place[0]) // 16 if place[0] >= 0 else -1 for place in cache]))
        print(json.dumps([bool((place[1:] - place[:-1] == 1).all()) for place in cache]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(body)],
        cwd=FOLDER,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    row_of_place, whole = map(json.loads, done.stdout.splitlines())
    assert row_of_place[1:] == [2, -1, 0, -1, 3]
    assert whole[1:] == [True, False, True, False, True]
    assert (row_of_place[0] in (1, 4)) is padded
    assert (row_of_place[0] == -1) is not padded


@pytest.fixture(scope="module")
def checker():
    """Give one checker to all tests."""
    with Checker(drop=False, replay=False) as made:
        yield made


def first(function):
    return next(job for job in jobs(Request()) if job.function == function)


def test_the_right_one_is_proved(checker):
    report = checker.check(first("write_rows"))
    assert (report.error, report.notes) == (None, ())
    assert {result.verdict for result in report.results} == {Verdict.PROVED}


def test_the_faulty_one_breaks_the_frame_and_the_skip_set_and_nothing_else(checker):
    report = checker.check(first("write_rows_without_skip"))
    assert (report.error, report.notes) == (None, ())
    broken = {result.invariant for result in report.results if result.verdict is Verdict.REFUTED}
    assert broken == {"W1", "W6"}
    assert all(result.verdict.decided for result in report.results)
    assert {result.slot for result in report.results if result.invariant in broken} == {0}


def listed():
    """Return the contract tests of `examples/contracts`, by name."""
    found = {}
    for path in sorted((FOLDER / "contracts").glob("test_*.py")):
        found |= runpy.run_path(str(path))
    return {name: made for name, made in found.items() if isinstance(made, ContractTest)}


LISTED = listed()


@pytest.mark.parametrize("name", LISTED)
def test_a_writer_of_each_contract_keeps_it_or_breaks_what_is_said(checker, name):
    made = LISTED[name]
    _, job = configurations(made)[0]
    report = checker.check(job)
    assert (report.error, report.notes) == (None, ())
    claims = {claim.sentence for claim in job.instance.contract.claims}
    results = [result for result in report.results if result.statement not in claims]
    broken = {result.invariant for result in results if result.verdict is not Verdict.PROVED}
    assert broken == set(made.known) - {"runs"}
    assert all(result.verdict.decided for result in results)


def test_every_built_in_contract_has_a_right_writer():
    right = {one.contract for one in LISTED.values() if not one.known}
    assert set(CONTRACTS) == {one for one in right if isinstance(one, str)}
