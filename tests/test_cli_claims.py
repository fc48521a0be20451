"""Further statements of a contract: told on their own, and no breach of it."""

from __future__ import annotations

import dataclasses
import io

import pytest
from kvproof.cli.outcome import Outcome, is_claim
from kvproof.cli.render import print_outcome
from kvproof.cli.report import to_json
from kvproof.cli.request import Request, jobs
from kvproof.spec.verdict import Verdict
from rich.console import Console

from .fake_check import report, result

CLAIM = "local slot 0 is never stored"
RULE = "virtual slot 0 is never stored"
SOURCE = "def write(kv_buffer, loc, cache_k_nope, cache_k_rope, world, rank): ...\n"


@pytest.fixture
def sharded(tmp_path):
    """Return the jobs of a sharded writer."""
    file = tmp_path / "sharded.py"
    file.write_text(SOURCE)
    return jobs(
        Request(
            target=f"{file}::write",
            contract="mla-row-sharded",
            bind=("WORLD=world", "RANK=rank"),
        )
    )


def outcome(jobs_, rule=Verdict.PROVED, claim=Verdict.REFUTED):
    reports = []
    for job in jobs_:
        holds = job.instance.world_rank[1] == 0
        reports.append(
            report(
                job,
                result(job, "W6", rule, statement=RULE),
                result(
                    job,
                    "W6",
                    Verdict.PROVED if holds else claim,
                    statement=CLAIM,
                    **({} if holds else {"slot": 1}),
                ),
            )
        )
    return Outcome(Request(), tuple(reports))


def text_of(found):
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    print_outcome(Console(width=80, file=file, color_system=None), found)
    file.seek(0)
    return file.read()


def test_a_claim_that_does_not_hold_breaks_nothing_unless_strict(sharded):
    found = outcome(sharded)
    assert found.exit_code() == 0
    assert found.exit_code(strict=True) == 1


def test_a_rule_that_does_not_hold_breaks_the_contract(sharded):
    assert outcome(sharded, rule=Verdict.REFUTED).exit_code() == 1


def test_an_open_claim_is_undecided_only_when_strict(sharded):
    found = outcome(sharded, claim=Verdict.UNKNOWN)
    assert (found.exit_code(), found.exit_code(strict=True)) == (0, 3)


def test_the_claim_is_told_on_its_own_with_its_page(sharded):
    text = text_of(outcome(sharded))
    row = next(line for line in text.splitlines() if line.startswith("write "))
    assert "✘" not in row
    at = text.index("Further statements, which break no contract")
    told = " ".join(text[at:].split())
    assert f"✘ {CLAIM}: does not hold" in told
    assert "slot 1, row 0, column 0" in told
    assert "16 of 32 configurations" in told
    assert "kvproof explain mla-row-sharded" in told


def test_claims_that_hold_are_not_told(sharded):
    whole = [job for job in sharded if job.instance.world_rank == (1, 0)]
    assert "Further statements" not in text_of(outcome(whole))


def test_the_json_says_which_results_are_claims(sharded):
    data = to_json(outcome(sharded[:2]))
    assert [item["claim"] for item in data["results"]] == [False, True, False, True]


def test_the_same_sentence_of_another_contract_is_no_claim(sharded):
    job = sharded[0]
    claim = result(job, "W6", Verdict.PROVED, statement=CLAIM)
    assert is_claim(job, claim)
    contract = dataclasses.replace(job.instance.contract, claims=())
    instance = dataclasses.replace(job.instance, contract=contract)
    assert not is_claim(dataclasses.replace(job, instance=instance), claim)
