"""Built-in contracts: what each is made of, and layouts that do not keep clear of themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.checkers.check import Checker
from kvproof.cli.grid import instances
from kvproof.spec.builtin import CONTRACTS, KV_PACKED, KV_ROWS, PAGED_NHD, builtin, paged_hnd
from kvproof.spec.case import Case
from kvproof.spec.contract import Instance, Range, WriterContract
from kvproof.spec.errors import ContractError
from kvproof.spec.expr import Sym
from kvproof.spec.recipe import Binding, pool_span, recipe
from kvproof.spec.reference import accepted, expected_stores
from kvproof.spec.verdict import Verdict

from tests.test_examples import LISTED, configurations

HND = paged_hnd(heads=2)
HEADS = {"HEADS": 2, "HEAD_DIM": 4}


def instance(contract: WriterContract, **dims: int) -> Instance:
    dtypes = dict.fromkeys(contract.arguments(), "bf16") | {contract.slots.arg: "i64"}
    packed = contract.packed(dims) | {"WORLD": 1, "RANK": 0}
    return Instance(contract=contract, dtypes=dtypes, dims=packed, pool=Range(1, 1 << 40))


def stored(contract: WriterContract, *slots: int, pool: int, **dims: int) -> dict[str, list[int]]:
    """Return the offsets that the naive reference stores, by cache."""
    made = instance(contract, **dims)
    case = Case(dims=made.numbers(), pool=pool, slots=slots)
    found = expected_stores(made, case, lambda _, offset: offset)
    return {cache: sorted(at for into, at in found if into == cache) for cache in contract.caches()}


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_built_in_contract_has_configurations_under_its_own_name(name):
    assert builtin(name).name == name
    made = list(instances(builtin(name)))
    assert len({label for label, _ in made}) == len(made) >= 4
    assert any(one.config.get("gap") for _, one in made)


def test_strides_are_packed_unless_they_are_given():
    packed = PAGED_NHD.packed({"PAGE": 16, "HEADS": 8, "HEAD_DIM": 128})
    assert (packed["TOKEN_STRIDE"], packed["PAGE_STRIDE"]) == (1024, 16384)
    given = PAGED_NHD.packed({"PAGE": 16, "HEADS": 8, "HEAD_DIM": 128, "TOKEN_STRIDE": 2048})
    assert (given["TOKEN_STRIDE"], given["PAGE_STRIDE"]) == (2048, 32768)
    assert "TOKEN_STRIDE" not in PAGED_NHD.packed({"PAGE": 16, "HEADS": 8})


def test_a_token_of_a_page_lands_in_one_run_or_in_one_for_each_head():
    one_run = stored(PAGED_NHD, 5, -1, pool=8, PAGE=4, **HEADS)
    # Page 1, token 1: 4 tokens of 8 elements, then one token of 8.
    assert one_run["key_cache"] == one_run["value_cache"] == list(range(40, 48))
    by_head = stored(HND, 5, -7, pool=8, PAGE=4, HEAD_DIM=4)
    # Page 1 begins at 32; a head holds 4 tokens of 4 elements.
    assert by_head["key_cache"] == [*range(36, 40), *range(52, 56)]


def test_k_and_v_of_one_row_lie_side_by_side():
    assert stored(KV_PACKED, 0, 1, pool=2, **HEADS)["kv_cache"] == list(range(32))


@pytest.mark.parametrize(
    ("contract", "slot", "kept"),
    ((KV_ROWS, 0, False), (KV_ROWS, 1, True), (PAGED_NHD, -2, False), (PAGED_NHD, 0, True)),
)
def test_padding_is_slot_0_of_rows_and_what_is_negative_of_pages(contract, slot, kept):
    widths = {"PAGE": 4, "HEADS": 2, "HEAD_DIM": 4, "K_DIM": 4, "V_DIM": 4}
    known = {dim.name for dim in contract.dims}
    made = instance(contract, **{name: n for name, n in widths.items() if name in known})
    assert accepted(made, Case(dims=made.numbers(), pool=8, slots=(slot,)), 0) is kept


def test_a_call_has_the_shapes_that_the_contract_states():
    made = instance(PAGED_NHD, PAGE=4, **HEADS)
    call = recipe(made, Binding(), pool=9, slots=(1, 2, 3)).tensors()
    assert (call["key"].shape, call["key"].strides) == ((3, 2, 4), (8, 4, 1))
    cache = call["key_cache"]
    # Nine places need three pages of four.
    assert (cache.shape, cache.strides) == ((3, 4, 2, 4), (32, 8, 4, 1))
    assert pool_span(made, made.numbers(), 9) == 2 * 32 + 8


@pytest.mark.parametrize(
    ("dims", "said"),
    (
        ({"HEAD_STRIDE": 16}, ""),
        ({"HEAD_STRIDE": 15}, "key head 0 of place 3 ends at element 15, and key head 1 of place"),
        ({"PAGE_STRIDE": 32}, ""),
        ({"PAGE_STRIDE": 31}, "a page of 4 places holds 32 elements, and the next begins after 31"),
        # Places of one page may lie apart, heads of each between those of the others.
        ({"TOKEN_STRIDE": 8, "HEAD_STRIDE": 4, "PAGE_STRIDE": 32}, ""),
        ({"TOKEN_STRIDE": 8, "HEAD_STRIDE": 3, "PAGE_STRIDE": 32}, "segments key head 0 and key"),
    ),
)
def test_heads_and_pages_that_meet_are_refused(dims, said):
    if not said:
        assert instance(HND, PAGE=4, HEAD_DIM=4, **dims)
        return
    with pytest.raises(ContractError, match=said):
        instance(HND, PAGE=4, HEAD_DIM=4, **dims)


@pytest.mark.parametrize(("arg", "which"), (("key_cache", 1), ("key", 0)))
def test_a_shape_that_does_not_hold_its_segments_is_refused(arg, which):
    (stated,) = [shape for shape in PAGED_NHD.shapes if shape.arg == arg]
    strides = tuple(
        (Sym("HEAD_DIM") if at == which else one) for at, one in enumerate(stated.strides)
    )
    others = [shape for shape in PAGED_NHD.shapes if shape.arg != arg]
    wrong = replace(PAGED_NHD, shapes=(*others, replace(stated, strides=strides)))
    assert instance(PAGED_NHD, PAGE=4, **HEADS)
    with pytest.raises(ContractError, match=f"of {arg} reach .* its stated shape holds .* - state"):
        instance(wrong, PAGE=4, **HEADS)


def test_fewer_than_one_head_is_refused():
    assert len(paged_hnd(heads=1).segments) == 2
    with pytest.raises(ContractError, match="heads is 0 - a writer has one or more"):
        paged_hnd(heads=0)


@pytest.mark.parametrize("stride", (2048, 2047))
def test_heads_that_share_an_element_are_not_proved_to_be_in_order(stride):
    """Past the check at construction, the proof itself asks whether heads keep clear."""
    _, job = configurations(LISTED["test_paged_heads_first"])[0]
    made = replace(job, instance=replace(job.instance))
    dims = {**job.instance.dims, "HEAD_STRIDE": stride}
    object.__setattr__(made.instance, "dims", dims)
    with Checker(drop=False, replay=False, invariants=frozenset({"W2", "W13"})) as checker:
        report = checker.check(made)
    assert report.error is None
    found = {result.invariant: result.verdict for result in report.results}
    assert (found["W13"] is Verdict.PROVED) is (stride == 2048)
