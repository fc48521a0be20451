"""The built-in contracts of pages: a slot is page * PAGE + token, and a negative one is padding.

Source: what vLLM 0.33.0 promises of `reshape_and_cache_flash` and `concat_and_cache_mla`.
"""

from __future__ import annotations

from dataclasses import replace

from .contract import Dim, WriterContract
from .errors import ContractError
from .expr import Sym
from .rules import (
    COL,
    CONTIGUOUS,
    DISTINCT,
    IN_POOL,
    INNER_ONE,
    NO_ALIAS,
    PLACE,
    POOL,
    ROW,
    ROWS,
    SAME_ROWS,
    Cast,
    Negative,
    Segment,
    Slots,
)
from .shapes import TensorShape

_PAGE, _HEADS, _HEAD = Sym("PAGE"), Sym("HEADS"), Sym("HEAD_DIM")
_NOPE, _ROPE = Sym("NOPE"), Sym("ROPE")
_PAGE_STRIDE, _TOKEN_STRIDE, _HEAD_STRIDE = (
    Sym("PAGE_STRIDE"),
    Sym("TOKEN_STRIDE"),
    Sym("HEAD_STRIDE"),
)
#: First element of a place's row: of its page, then of its token.
_TOKEN = PLACE // _PAGE * _PAGE_STRIDE + PLACE % _PAGE * _TOKEN_STRIDE

_SLOTS = Slots(arg="slot_mapping")
#: A negative slot is dropped, so nothing promises that there is none.
_GIVEN = (IN_POOL, DISTINCT, CONTIGUOUS, INNER_ONE, NO_ALIAS, SAME_ROWS)
_PAGE_SIZE = Dim("PAGE", "tokens of a page", 1)
_PAGES = (POOL + _PAGE - 1) // _PAGE


def _rows(arg: str) -> Sym:
    return Sym(f"{arg.upper()}_STRIDE")


def _row_dim(arg: str) -> Dim:
    text = f"elements from one row of {arg} to the next"
    return Dim(f"{arg.upper()}_STRIDE", text, 1, packed=_HEADS * _HEAD)


_HEAD_DIMS = (
    _PAGE_SIZE,
    Dim("HEADS", "heads of key, and of value", 1),
    Dim("HEAD_DIM", "elements of one head", 1),
    _row_dim("key"),
    _row_dim("value"),
)
_HEAD_SOURCES = tuple(
    TensorShape(arg=arg, sizes=(ROWS, _HEADS, _HEAD), strides=(_rows(arg), _HEAD, 1))
    for arg in ("key", "value")
)

PAGED_NHD = WriterContract(
    name="paged-nhd",
    promise="Key and value of every head, one run per token, in pages [PAGE, HEADS, HEAD_DIM].",
    slots=_SLOTS,
    segments=tuple(
        Segment(
            name=arg,
            source=arg,
            into=f"{arg}_cache",
            width=_HEADS * _HEAD,
            at=_TOKEN + COL,
            begin=ROW * _rows(arg) + COL,
        )
        for arg in ("key", "value")
    ),
    dims=(
        *_HEAD_DIMS,
        Dim("TOKEN_STRIDE", "elements from one token on", 1, packed=_HEADS * _HEAD),
        Dim("PAGE_STRIDE", "elements from one page on", 1, packed=_PAGE * _TOKEN_STRIDE),
    ),
    skip=(Negative(),),
    given=_GIVEN,
    shapes=(
        *_HEAD_SOURCES,
        *(
            TensorShape(
                arg=f"{arg}_cache",
                sizes=(_PAGES, _PAGE, _HEADS, _HEAD),
                strides=(_PAGE_STRIDE, _TOKEN_STRIDE, _HEAD, 1),
            )
            for arg in ("key", "value")
        ),
    ),
)
PAGED_NHD_FP8 = replace(
    PAGED_NHD,
    name="paged-nhd-fp8",
    promise="As paged-nhd, each element cast to fp8 e4m3fn without a scale.",
    encode=Cast("f8e4m3fn", saturate=True),
)
MLA_PAGED = WriterContract(
    name="mla-paged",
    promise="One latent row per token, kv_c then k_pe, in pages; a negative slot is dropped.",
    slots=_SLOTS,
    segments=(
        Segment(
            name="nope",
            source="kv_c",
            into="kv_cache",
            width=_NOPE,
            at=_TOKEN + COL,
            begin=ROW * Sym("KV_C_STRIDE") + COL,
        ),
        Segment(
            name="rope",
            source="k_pe",
            into="kv_cache",
            width=_ROPE,
            at=_TOKEN + _NOPE + COL,
            begin=ROW * Sym("K_PE_STRIDE") + COL,
        ),
    ),
    dims=(
        _PAGE_SIZE,
        Dim("NOPE", "columns without rotary embedding", 1),
        Dim("ROPE", "columns with rotary embedding", 0),
        Dim("KV_C_STRIDE", "elements from one row of kv_c to the next", 1, packed=_NOPE),
        Dim("K_PE_STRIDE", "elements from one row of k_pe to the next", 0, packed=_ROPE),
        Dim("TOKEN_STRIDE", "elements from one token on", 1, packed=_NOPE + _ROPE),
        Dim("PAGE_STRIDE", "elements from one page on", 1, packed=_PAGE * _TOKEN_STRIDE),
    ),
    skip=(Negative(),),
    given=_GIVEN,
    shapes=(
        TensorShape(
            arg="kv_cache",
            sizes=(_PAGES, _PAGE, _NOPE + _ROPE),
            strides=(_PAGE_STRIDE, _TOKEN_STRIDE, 1),
        ),
    ),
)


def paged_hnd(*, heads: int, as_nhd: bool = False) -> WriterContract:
    """Return the contract of pages [HEADS, PAGE, HEAD_DIM]: a token's heads lie a page apart.

    Args:
        heads: heads of key, and of value; each is a segment of its own, so that the number is
            part of the contract.
        as_nhd: the caches are passed as views [pages, PAGE, HEADS, HEAD_DIM] of such pages, not
            as [pages, HEADS, PAGE, HEAD_DIM].

    Source: vLLM 0.33.0 passes such views to `reshape_and_cache_flash` where its layout is HND.

    Raises:
        ContractError: fewer than one head.
    """
    if heads < 1:
        raise ContractError(f"heads is {heads}", where="paged_hnd", mend="a writer has one or more")
    inner = (_HEAD_STRIDE, _TOKEN_STRIDE)
    return WriterContract(
        name="paged-hnd",
        promise=f"Key and value of {heads} heads per token, in pages [HEADS, PAGE, HEAD_DIM].",
        slots=_SLOTS,
        segments=tuple(
            Segment(
                name=f"{arg} head {head}",
                source=arg,
                into=f"{arg}_cache",
                width=_HEAD,
                at=_TOKEN + head * _HEAD_STRIDE + COL,
                begin=ROW * _rows(arg) + head * _HEAD + COL,
            )
            for arg in ("key", "value")
            for head in range(heads)
        ),
        dims=(
            _PAGE_SIZE,
            Dim("HEAD_DIM", "elements of one head", 1),
            *(
                Dim(
                    f"{arg.upper()}_STRIDE",
                    f"elements from one row of {arg} to the next",
                    1,
                    packed=heads * _HEAD,
                )
                for arg in ("key", "value")
            ),
            Dim("TOKEN_STRIDE", "elements from one token of a head on", 1, packed=_HEAD),
            Dim("HEAD_STRIDE", "elements from one head on", 1, packed=_PAGE * _TOKEN_STRIDE),
            Dim("PAGE_STRIDE", "elements from one page on", 1, packed=heads * _HEAD_STRIDE),
        ),
        skip=(Negative(),),
        given=_GIVEN,
        shapes=(
            *(
                TensorShape(arg=arg, sizes=(ROWS, heads, _HEAD), strides=(_rows(arg), _HEAD, 1))
                for arg in ("key", "value")
            ),
            *(
                TensorShape(
                    arg=f"{arg}_cache",
                    sizes=(_PAGES, *((_PAGE, heads) if as_nhd else (heads, _PAGE)), _HEAD),
                    strides=(_PAGE_STRIDE, *(inner[::-1] if as_nhd else inner), 1),
                )
                for arg in ("key", "value")
            ),
        ),
    )
