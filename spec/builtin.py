"""The built-in contracts, as data: latent rows here, K and V rows and pages beside it.

Source: the writers of SGLang 0.5.19 to 0.5.23 (`sglang.kernels.ops.kvcache.mla_buffer`).
"""

from __future__ import annotations

from .builtin_pages import MLA_PAGED, PAGED_NHD, PAGED_NHD_FP8, paged_hnd
from .builtin_rows import KV_PACKED, KV_ROWS
from .contract import Dim, WriterContract
from .errors import ContractError
from .expr import Sym
from .rules import COL, PLACE, ROW, Cast, Interleaved, Reserved, Segment, Slots

_NOPE, _ROPE = Sym("NOPE"), Sym("ROPE")
_ROW_STRIDE = Sym("BUFFER_STRIDE")
_NOPE_STRIDE, _ROPE_STRIDE = Sym("NOPE_STRIDE"), Sym("ROPE_STRIDE")

_LATENT = Segment(
    name="nope",
    source="cache_k_nope",
    into="kv_buffer",
    width=_NOPE,
    at=PLACE * _ROW_STRIDE + COL,
    begin=ROW * _NOPE_STRIDE + COL,
)
_ROTARY = Segment(
    name="rope",
    source="cache_k_rope",
    into="kv_buffer",
    width=_ROPE,
    at=PLACE * _ROW_STRIDE + _NOPE + COL,
    begin=ROW * _ROPE_STRIDE + COL,
)
_TO_NEXT = "elements from one place of the cache to the next"
_BUFFER = Dim("BUFFER_STRIDE", _TO_NEXT, 1, packed=_NOPE + _ROPE)
_BUFFER_NOROPE = Dim("BUFFER_STRIDE", _TO_NEXT, 1, packed=_NOPE)
_NOPE_DIMS = (
    Dim("NOPE", "columns without rotary embedding", 1),
    Dim("NOPE_STRIDE", "elements from one row of cache_k_nope to the next", 1, packed=_NOPE),
)
_ROPE_DIMS = (
    Dim("ROPE", "columns with rotary embedding", 0),
    Dim("ROPE_STRIDE", "elements from one row of cache_k_rope to the next", 0, packed=_ROPE),
)
_LOC = Slots(arg="loc")
_PADDING = (Reserved(0),)
#: Padding of a sharded pool aims at virtual slot 0. Whether local slot 0 stays untouched as well
#: is another statement: virtual slots 1 to WORLD - 1 are real and live at local slot 0.
_LOCAL_CLAIM = (Reserved(0, space="local"),)

MLA_ROW = WriterContract(
    name="mla-row",
    promise="One latent row per token, nope then rope, at the token's slot.",
    slots=_LOC,
    segments=(_LATENT, _ROTARY),
    dims=(*_NOPE_DIMS, *_ROPE_DIMS, _BUFFER),
    skip=_PADDING,
)
MLA_ROW_NOROPE = WriterContract(
    name="mla-row-norope",
    promise="One latent row per token, without a rotary part, at the token's slot.",
    slots=_LOC,
    segments=(_LATENT,),
    dims=(*_NOPE_DIMS, _BUFFER_NOROPE),
    skip=_PADDING,
)
MLA_ROW_SHARDED = WriterContract(
    name="mla-row-sharded",
    promise="One latent row per token that this rank owns, nope then rope, at slot // WORLD.",
    slots=_LOC,
    segments=(_LATENT, _ROTARY),
    dims=(*_NOPE_DIMS, *_ROPE_DIMS, _BUFFER),
    skip=_PADDING,
    owner=Interleaved(),
    claims=_LOCAL_CLAIM,
)
MLA_ROW_NOROPE_SHARDED = WriterContract(
    name="mla-row-norope-sharded",
    promise="One latent row per token that this rank owns, without a rotary part.",
    slots=_LOC,
    segments=(_LATENT,),
    dims=(*_NOPE_DIMS, _BUFFER_NOROPE),
    skip=_PADDING,
    owner=Interleaved(),
    claims=_LOCAL_CLAIM,
)
MLA_ROW_FP8 = WriterContract(
    name="mla-row-fp8",
    promise="One latent row per token, cast to fp8 e4m3fn without a scale.",
    slots=_LOC,
    segments=(_LATENT, _ROTARY),
    dims=(*_NOPE_DIMS, *_ROPE_DIMS, _BUFFER),
    skip=_PADDING,
    encode=Cast("f8e4m3fn", saturate=True),
)
MLA_SCALE = WriterContract(
    name="mla-scale",
    promise="One row of quantisation scales per token, nope then rope, copied bit for bit.",
    slots=_LOC,
    segments=(_LATENT, _ROTARY),
    dims=(*_NOPE_DIMS, *_ROPE_DIMS, _BUFFER),
    skip=_PADDING,
)

CONTRACTS = {
    contract.name: contract
    for contract in (
        MLA_ROW,
        MLA_ROW_NOROPE,
        MLA_ROW_SHARDED,
        MLA_ROW_NOROPE_SHARDED,
        MLA_ROW_FP8,
        MLA_SCALE,
        MLA_PAGED,
        KV_ROWS,
        KV_PACKED,
        PAGED_NHD,
        PAGED_NHD_FP8,
    )
}


def builtin(name: str) -> WriterContract:
    """Return the built-in contract of that name, as on the command line.

    Args:
        name: "mla-row", "kv-rows", ...; `kvproof list` names them.

    Raises:
        ContractError: no such contract; the error lists the known ones.
    """
    try:
        return CONTRACTS[name]
    except KeyError:
        known = ", ".join(CONTRACTS)
        raise ContractError(f"unknown contract {name!r}", mend=f"use one of {known}") from None


__all__ = [
    "CONTRACTS",
    "KV_PACKED",
    "KV_ROWS",
    "MLA_PAGED",
    "MLA_ROW",
    "MLA_ROW_FP8",
    "MLA_ROW_NOROPE",
    "MLA_ROW_NOROPE_SHARDED",
    "MLA_ROW_SHARDED",
    "MLA_SCALE",
    "PAGED_NHD",
    "PAGED_NHD_FP8",
    "builtin",
    "paged_hnd",
]
