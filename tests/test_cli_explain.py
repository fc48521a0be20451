"""`explain`, `list` and `--version`: pages made from the data that the checks use."""

from __future__ import annotations

import pytest
from kvproof.cli.explain import LOOKS, speakers
from kvproof.cli.main import app
from kvproof.engines.catalogue import ENGINES
from kvproof.spec.builtin import CONTRACTS
from kvproof.spec.invariants import INVARIANTS
from typer.testing import CliRunner


@pytest.fixture
def say(monkeypatch):
    """Return a function that runs the command line and gives its output on one line."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*args):
        got = CliRunner().invoke(app, list(args))
        return got.exit_code, " ".join(got.stdout.split()), got.stderr

    return call


@pytest.mark.parametrize("name", INVARIANTS)
def test_every_invariant_has_a_page(say, name):
    code, text, _ = say("explain", name)
    about = INVARIANTS[name]
    assert code == 0
    for part in (about.title, about.sentence, about.decided, about.broken, LOOKS[name]):
        assert " ".join(part.split()) in text


def test_the_page_names_the_contracts_that_the_invariant_speaks_of():
    skipping = [name for name, contract in CONTRACTS.items() if contract.skip]
    assert speakers(INVARIANTS["W6"]) == skipping
    assert set(CONTRACTS) - set(skipping) == {"kv-packed"}
    assert speakers(INVARIANTS["W12"]) == ["mla-row-sharded", "mla-row-norope-sharded"]
    assert speakers(INVARIANTS["W11"]) == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_contract_has_a_page(say, name):
    code, text, _ = say("explain", name)
    contract = CONTRACTS[name]
    assert code == 0
    assert contract.promise in text
    for arg in contract.arguments():
        assert arg in text
    for given in contract.given:
        assert given.sentence in text


def test_a_sharded_contract_tells_virtual_from_local(say):
    _, text, _ = say("explain", "mla-row-sharded")
    assert "With 2 ranks: virtual slot rank local slot the row is" in text
    assert "0 0 0 padding, dropped 1 1 0 stored on rank 1 2 0 1 stored on rank 0" in text
    assert "Virtual slot 0 is never stored. That is padding" in text
    assert (
        "Local slot 0 is never stored. That is another statement: virtual slot 1 on rank 1" in text
    )


def test_an_unsharded_contract_says_that_both_are_one(say):
    _, text, _ = say("explain", "mla-row")
    assert "both are the same number" in text
    assert "With 2 ranks" not in text


@pytest.mark.parametrize(
    ("name", "mend"), (("W18", "W1"), ("mla-raw", "mla-row"), ("", "W1 to W17"))
)
def test_an_unknown_name_is_one_line_with_the_nearest(say, name, mend):
    code, text, error = say("explain", name)
    assert (code, text) == (2, "")
    assert error.startswith("kvproof: neither an invariant nor a contract")
    assert mend in error


def test_the_list_names_everything(say):
    code, text, _ = say("list")
    assert code == 0
    for name in (*CONTRACTS, *INVARIANTS, *ENGINES["sglang"].releases, "mla-scale"):
        assert name in text


def test_the_list_of_a_release_is_its_own(say):
    code, text, _ = say("list", "sglang==0.5.16")
    assert code == 0
    assert "Writers of sglang==0.5.16" in text
    assert "mla-row-naive" not in text
    assert "mla-row-naive" in say("list", "sglang==0.5.23")[1]


def test_a_release_that_is_not_catalogued_is_refused(say):
    code, text, error = say("list", "sglang==0.1")
    assert (code, text) == (2, "")
    assert "no writer of this version is catalogued" in error


def test_the_version_is_told(say):
    code, text, _ = say("--version")
    assert code == 0
    assert text.startswith("kvproof ")


def test_without_a_command_the_help_is_shown(say):
    code, text, _ = say()
    assert code == 0
    for command in ("check", "explain", "replay", "list"):
        assert command in text


@pytest.mark.parametrize(
    ("args", "said"),
    (
        (("chekc",), "No such command 'chekc'"),
        (("check", "--strikt"), "No such option: --strikt"),
        (("explain",), "Missing argument"),
    ),
)
def test_wrong_usage_is_one_line_and_exit_2(say, args, said):
    code, _, error = say(*args)
    assert code == 2
    assert error.startswith("kvproof: ")
    assert said in error
    assert "--help" in error
    assert len(error.splitlines()) == 1
