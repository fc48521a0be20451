"""Contracts of the zoo: what the built-in ones do not say, in the same language."""

from __future__ import annotations

from dataclasses import replace

from kvproof.spec.builtin import CONTRACTS, paged_hnd
from kvproof.spec.contract import Dim, WriterContract
from kvproof.spec.expr import Sym
from kvproof.spec.rules import (
    COL,
    IN_POOL,
    NON_NEGATIVE,
    PLACE,
    ROW,
    BeyondPool,
    Cast,
    Exactly,
    Negative,
    Reserved,
    Segment,
    Slots,
)

_LOC = Slots(arg="loc")
_BARE = CONTRACTS["mla-row-norope"]
_D, _PAGE, _HEAD = Sym("D"), Sym("PAGE"), Sym("HEAD_STRIDE")
_PAGED = PLACE // _PAGE * Sym("PAGE_STRIDE") + PLACE % _PAGE * Sym("TOKEN_STRIDE") + COL


def _without(contract: WriterContract, *keys: str) -> WriterContract:
    return replace(contract, given=tuple(g for g in contract.given if g.key not in keys))


def _two(name: str, promise: str, *skip: object) -> WriterContract:
    """Return the contract of two caches that share a slot table, e.g. K and V."""
    return WriterContract(
        name=name,
        promise=promise,
        slots=_LOC,
        segments=tuple(
            Segment(
                name=x,
                source=x,
                into=f"{x}_cache",
                width=Sym(f"{x.upper()}_DIM"),
                at=PLACE * Sym(f"{x.upper()}_CACHE_STRIDE") + COL,
                begin=ROW * Sym(f"{x.upper()}_STRIDE") + COL,
            )
            for x in ("k", "v")
        ),
        dims=tuple(
            Dim(f"{x}_{what}", what, 1)
            for x in ("K", "V")
            for what in ("DIM", "CACHE_STRIDE", "STRIDE")
        ),
        skip=skip,  # type: ignore[arg-type]
    )


def _paged(name: str, *skip: object) -> WriterContract:
    """Return the contract of pages with a stride of their own, which may hold padding."""
    return WriterContract(
        name=name,
        promise="One row per token, in pages of PAGE tokens that start PAGE_STRIDE apart.",
        slots=_LOC,
        segments=(
            Segment(
                name="row",
                source="x",
                into="cache",
                width=_D,
                at=_PAGED,
                begin=ROW * Sym("X_STRIDE") + COL,
            ),
        ),
        dims=(
            Dim("D", "elements of a row", 1),
            Dim("PAGE", "tokens of a page", 1),
            Dim("PAGE_STRIDE", "elements from one page to the next", 1),
            Dim("TOKEN_STRIDE", "elements from one token of a page to the next", 1),
            Dim("X_STRIDE", "elements from one row of x to the next", 1),
        ),
        skip=skip,  # type: ignore[arg-type]
    )


_HEADS = WriterContract(
    name="heads",
    promise="Two heads per token, each at a stride of its own; source rows hold them in one run.",
    slots=_LOC,
    segments=tuple(
        Segment(
            name=f"head {head}",
            source="x",
            into="cache",
            width=_D,
            at=PLACE * Sym("TOKEN_STRIDE") + _HEAD * head + COL,
            begin=ROW * Sym("X_STRIDE") + _D * head + COL,
        )
        for head in (0, 1)
    ),
    dims=(
        Dim("D", "elements of a head", 1),
        Dim("HEAD_STRIDE", "elements from one head to the next in the cache", 1),
        Dim("TOKEN_STRIDE", "elements from one token to the next in the cache", 1),
        Dim("X_STRIDE", "elements from one row of x to the next", 1),
    ),
    skip=(Reserved(0),),
)

#: A segment of this contract is no run of the cache: runs hold to it, and no proof takes it.
_TRANSPOSED = WriterContract(
    name="state-transposed",
    promise="A state of K rows and V columns per token, stored column by column.",
    slots=_LOC,
    segments=(
        Segment(
            name="state",
            source="s",
            into="pool",
            width=Sym("K") * Sym("V"),
            at=PLACE * Sym("POOL_STRIDE") + COL % Sym("V") * Sym("K") + COL // Sym("V"),
            begin=ROW * Sym("S_STRIDE") + COL,
        ),
    ),
    dims=(
        Dim("K", "rows of a state", 1),
        Dim("V", "columns of a state", 1),
        Dim("POOL_STRIDE", "elements from one state of the pool to the next", 1),
        Dim("S_STRIDE", "elements from one row of s to the next", 1),
    ),
    skip=(Reserved(0),),
)

ZOO_CONTRACTS = {
    **CONTRACTS,
    "row": replace(_BARE, name="row", skip=()),
    "row-minus-one": replace(_BARE, name="row-minus-one", skip=(Exactly(-1),)),
    "row-negative": _without(
        replace(_BARE, name="row-negative", skip=(Negative(),)), NON_NEGATIVE.key
    ),
    "row-beyond": _without(replace(_BARE, name="row-beyond", skip=(BeyondPool(),)), IN_POOL.key),
    "row-null-10": replace(_BARE, name="row-null-10", skip=(Reserved(10),)),
    "row-fp8": replace(_BARE, name="row-fp8", encode=Cast("f8e4m3fn", saturate=True)),
    "kv": _two("kv", "K and V of a token, each in a cache of its own.", Reserved(0)),
    "kv-negative": _without(
        _two("kv-negative", "K and V of a token; negative slots are dropped.", Negative()),
        NON_NEGATIVE.key,
    ),
    "pages": _paged("pages", Reserved(0)),
    "pages-minus-one": _paged("pages-minus-one", Exactly(-1)),
    "row-sharded": replace(CONTRACTS["mla-row-norope-sharded"], name="row-sharded", claims=()),
    "heads": _HEADS,
    "paged-hnd-2": replace(paged_hnd(heads=2), name="paged-hnd-2"),
    "state-transposed": _TRANSPOSED,
}
