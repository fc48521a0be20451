"""W13 leans on the contract's own map being injective: a map that is not must not pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.checkers.building import build
from kvproof.checkers.ideal import Ideal
from kvproof.checkers.lemmas import injective
from kvproof.checkers.sampling import sample
from kvproof.checkers.solving import Solving
from kvproof.checkers.ttir_parser import parse_ttir
from kvproof.spec.expr import Expr, Sym
from kvproof.spec.rules import COL, PLACE, SLOT, Compare, Interleaved, Whole

from tests.jobs import job
from tests.test_versions import FOLDER, Stored

STRIDE = Sym("BUFFER_STRIDE")


def statements(at: Expr, owner: Whole | Interleaved) -> dict[str, str]:
    """Return what the solver says of each lemma."""
    plain = job("masked", "mla-row-norope", world=2, rank=1)
    contract = plain.instance.contract
    changed = replace(
        contract, owner=owner, segments=(replace(contract.segments[0], at=at),), skip=()
    )
    made = replace(plain, instance=replace(plain.instance))
    # Set past the check at construction, which refuses some of these maps by itself.
    object.__setattr__(made.instance, "contract", changed)
    captured = sample(Stored(FOLDER / "3.8.0" / "masked.json"), made)
    family = captured.units[0].families[0]
    program = parse_ttir(family.launch.ttir)
    problem = build(made.instance, made.binding, family, program, Ideal())
    solving = Solving(5.0)
    answers: dict[str, str] = {}
    for lemma in injective(problem):
        status = solving.ask(problem, lemma).status
        if answers.get(lemma.statement, "unsat") == "unsat":
            answers[lemma.statement] = status
    return answers


@pytest.mark.parametrize(
    ("at", "owner"),
    (
        (PLACE * STRIDE + COL, Whole()),
        (PLACE * STRIDE + COL, Interleaved()),
        (PLACE // 4 * (4 * STRIDE) + PLACE % 4 * STRIDE + COL, Whole()),
    ),
)
def test_rows_and_pages_have_bytes_of_their_own(at: Expr, owner: Whole | Interleaved) -> None:
    assert set(statements(at, owner).values()) == {"unsat"}


@pytest.mark.parametrize(
    ("at", "owner", "broken"),
    (
        (PLACE % 1000 * STRIDE + COL, Whole(), "the contract gives nope and nope bytes"),
        (PLACE * STRIDE + COL // 2, Whole(), "the contract gives nope and nope bytes"),
        (
            PLACE * STRIDE + COL,
            replace(Interleaved(), owned=Compare(">=", SLOT, Sym("RANK"))),
            "distinct slots of one rank have distinct places",
        ),
    ),
)
def test_a_map_that_folds_is_told(at: Expr, owner: Whole | Interleaved, broken: str) -> None:
    answers = statements(at, owner)
    assert [text for text, answer in answers.items() if answer != "unsat"] == [
        text for text in answers if text.startswith(broken)
    ]
