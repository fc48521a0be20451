"""Contracts and their instances: what is refused at construction, beside what is accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.spec.builtin import CONTRACTS, MLA_ROW, builtin
from kvproof.spec.case import Case
from kvproof.spec.contract import Instance, Range
from kvproof.spec.errors import ContractError, KvproofError
from kvproof.spec.expr import Sym
from kvproof.spec.reference import accepted, expected_stores
from kvproof.spec.rules import Exactly, Interleaved, Negative, Reserved

DTYPES = {"kv_buffer": "bf16", "cache_k_nope": "bf16", "cache_k_rope": "bf16", "loc": "i64"}
DIMS = {
    "NOPE": 5,
    "ROPE": 3,
    "BUFFER_STRIDE": 8,
    "NOPE_STRIDE": 9,
    "ROPE_STRIDE": 4,
    "WORLD": 1,
    "RANK": 0,
}


def instance(contract=MLA_ROW, **dims: int) -> Instance:
    return Instance(contract=contract, dtypes=DTYPES, dims={**DIMS, **dims}, pool=Range(1, 1 << 40))


def case(*slots: int, pool: int = 8, **dims: int) -> Case:
    return Case(dims={**DIMS, **dims}, pool=pool, slots=slots)


def test_a_row_that_just_fits_is_accepted_and_one_that_does_not_is_refused() -> None:
    assert instance(BUFFER_STRIDE=8)
    with pytest.raises(ContractError, match="runs past the row's stride"):
        instance(BUFFER_STRIDE=7)


def test_segments_that_overlap_are_refused() -> None:
    nope, rope = MLA_ROW.segments
    good = replace(MLA_ROW, segments=(nope, replace(rope, at=rope.at)))
    assert instance(good)
    with pytest.raises(ContractError, match="segments nope and rope overlap"):
        instance(replace(MLA_ROW, segments=(nope, replace(rope, at=rope.at - 1))))


def test_an_unknown_symbol_names_the_segment_and_the_mend() -> None:
    nope, rope = MLA_ROW.segments
    with pytest.raises(ContractError, match=r"segment rope: width uses unknown symbol HEADS - add"):
        replace(MLA_ROW, segments=(nope, replace(rope, width=Sym("HEADS"))))


@pytest.mark.parametrize(
    ("change", "text"),
    (
        ({"segments": ()}, "segments is empty"),
        ({"segments": MLA_ROW.segments[:1] * 2}, "segments repeat a name"),
    ),
)
def test_a_contract_without_sense_is_refused(change, text: str) -> None:
    with pytest.raises(ContractError, match=text):
        replace(MLA_ROW, **change)


@pytest.mark.parametrize(
    ("dims", "text"),
    (({"NOPE": 0}, "NOPE=0 is below 1"), ({"WORLD": 2, "RANK": 2}, "rank 2 is not below world")),
)
def test_illegal_dimensions_are_refused(dims: dict[str, int], text: str) -> None:
    with pytest.raises(ContractError, match=text):
        instance(**dims)


def test_a_missing_dtype_and_an_unknown_contract_are_named() -> None:
    with pytest.raises(ContractError, match="argument loc has no dtype"):
        Instance(
            contract=MLA_ROW,
            dtypes={k: v for k, v in DTYPES.items() if k != "loc"},
            dims=DIMS,
            pool=Range(1, 2),
        )
    with pytest.raises(KvproofError, match="unknown contract 'mla'"):
        builtin("mla")
    assert builtin("mla-row") is CONTRACTS["mla-row"]


def test_padding_aims_at_the_reserved_slot_and_is_dropped() -> None:
    made = instance()
    trial = case(0, 5, 0, 7)
    assert [accepted(made, trial, row) for row in range(4)] == [False, True, False, True]
    stored = expected_stores(made, trial, lambda arg, offset: offset + 1)
    assert {offset // 8 for _, offset in stored} == {5, 7}
    # Row 1 of the second source starts at element 4 and lands after the first segment.
    assert stored["kv_buffer", 5 * 8 + 5].bits == 1 * 4 + 1


@pytest.mark.parametrize(
    ("rule", "slots", "kept"),
    (
        (Negative(), (-1, -7, 0, 3), [False, False, True, True]),
        (Exactly(-1), (-1, 0, 3), [False, True, True]),
        (Reserved(3), (0, 3, 4), [True, False, True]),
    ),
)
def test_skip_rules(rule, slots: tuple[int, ...], kept: list[bool]) -> None:
    made = instance(replace(MLA_ROW, skip=(rule,)))
    assert [accepted(made, case(*slots), row) for row in range(len(slots))] == kept


def test_a_rank_owns_every_second_slot_and_halves_it() -> None:
    contract = replace(MLA_ROW, owner=Interleaved())
    made = instance(contract, WORLD=2, RANK=1)
    trial = case(4, 5, 6, 7, pool=4, WORLD=2, RANK=1)
    assert [accepted(made, trial, row) for row in range(4)] == [False, True, False, True]
    stored = expected_stores(made, trial, lambda _, offset: offset)
    assert {offset // 8 for _, offset in stored} == {2, 3}


def test_the_local_claim_is_not_the_virtual_one() -> None:
    """Virtual slot 1 is real, belongs to rank 1 of 2, and lives at local slot 0."""
    contract = replace(MLA_ROW, owner=Interleaved())
    trial = case(1, 0, pool=4, WORLD=2, RANK=1)
    virtual = instance(contract, WORLD=2, RANK=1)
    assert [accepted(virtual, trial, row) for row in range(2)] == [True, False]
    local = instance(replace(contract, skip=(Reserved(0, space="local"),)), WORLD=2, RANK=1)
    assert [accepted(local, trial, row) for row in range(2)] == [False, False]


def test_of_two_equal_slots_the_last_row_wins() -> None:
    stored = expected_stores(instance(), case(5, 5), lambda _, offset: offset)
    assert {item.row for item in stored.values()} == {1}


def test_a_case_is_rebuilt_from_its_repr_and_from_json() -> None:
    trial = Case(dims=DIMS, pool=3, slots=(1, 2), payload={("cache_k_nope", 0, 4): 0x8000})
    assert eval(repr(trial), {"Case": Case}) == trial  # noqa: S307
    assert Case.from_json(trial.to_json()) == trial
