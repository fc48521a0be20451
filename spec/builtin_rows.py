"""The built-in contracts of K and V rows, one row of all heads per token.

Source: `kv-rows` is what SGLang 0.5.17 and later promise of `store_cache`, `kv-packed` what
LightLLM's `destindex_copy_kv` does.
"""

from __future__ import annotations

from .contract import Dim, WriterContract
from .expr import Sym
from .rules import COL, PLACE, POOL, ROW, ROWS, Reserved, Segment, Slots
from .shapes import TensorShape

_HEADS, _HEAD = Sym("HEADS"), Sym("HEAD_DIM")
_K, _V = Sym("K_DIM"), Sym("V_DIM")
_K_ROW, _V_ROW = Sym("K_STRIDE"), Sym("V_STRIDE")
_K_PLACE, _V_PLACE, _KV_PLACE = Sym("K_CACHE_STRIDE"), Sym("V_CACHE_STRIDE"), Sym("CACHE_STRIDE")

_HEAD_COUNT = Dim("HEADS", "heads of K, and of V", 1)

KV_ROWS = WriterContract(
    name="kv-rows",
    promise="K and V of every head, one row per token in a cache of its own; slot 0 is padding.",
    slots=Slots(arg="loc"),
    segments=(
        Segment(
            name="k",
            source="k",
            into="k_cache",
            width=_HEADS * _K,
            at=PLACE * _K_PLACE + COL,
            begin=ROW * _K_ROW + COL,
        ),
        Segment(
            name="v",
            source="v",
            into="v_cache",
            width=_HEADS * _V,
            at=PLACE * _V_PLACE + COL,
            begin=ROW * _V_ROW + COL,
        ),
    ),
    dims=(
        _HEAD_COUNT,
        Dim("K_DIM", "elements of one head of K", 1),
        Dim("V_DIM", "elements of one head of V", 1),
        Dim("K_STRIDE", "elements from one row of k to the next", 1, packed=_HEADS * _K),
        Dim("V_STRIDE", "elements from one row of v to the next", 1, packed=_HEADS * _V),
        Dim("K_CACHE_STRIDE", "elements from one place of k_cache on", 1, packed=_HEADS * _K),
        Dim("V_CACHE_STRIDE", "elements from one place of v_cache on", 1, packed=_HEADS * _V),
    ),
    skip=(Reserved(0),),
    shapes=(
        TensorShape(arg="k", sizes=(ROWS, _HEADS, _K), strides=(_K_ROW, _K, 1)),
        TensorShape(arg="v", sizes=(ROWS, _HEADS, _V), strides=(_V_ROW, _V, 1)),
        TensorShape(arg="k_cache", sizes=(POOL, _HEADS, _K), strides=(_K_PLACE, _K, 1)),
        TensorShape(arg="v_cache", sizes=(POOL, _HEADS, _V), strides=(_V_PLACE, _V, 1)),
    ),
)
KV_PACKED = WriterContract(
    name="kv-packed",
    promise="One row per token in one cache, the heads of K, then those of V; no slot is skipped.",
    slots=Slots(arg="loc"),
    segments=(
        Segment(
            name="k",
            source="k",
            into="kv_cache",
            width=_HEADS * _HEAD,
            at=PLACE * _KV_PLACE + COL,
            begin=ROW * _K_ROW + COL,
        ),
        Segment(
            name="v",
            source="v",
            into="kv_cache",
            width=_HEADS * _HEAD,
            at=PLACE * _KV_PLACE + _HEADS * _HEAD + COL,
            begin=ROW * _V_ROW + COL,
        ),
    ),
    dims=(
        _HEAD_COUNT,
        Dim("HEAD_DIM", "elements of one head", 1),
        Dim("K_STRIDE", "elements from one row of k to the next", 1, packed=_HEADS * _HEAD),
        Dim("V_STRIDE", "elements from one row of v to the next", 1, packed=_HEADS * _HEAD),
        Dim("CACHE_STRIDE", "elements from one place on", 1, packed=2 * _HEADS * _HEAD),
    ),
    shapes=(
        TensorShape(arg="k", sizes=(ROWS, _HEADS, _HEAD), strides=(_K_ROW, _HEAD, 1)),
        TensorShape(arg="v", sizes=(ROWS, _HEADS, _HEAD), strides=(_V_ROW, _HEAD, 1)),
        TensorShape(arg="kv_cache", sizes=(POOL, 2 * _HEADS, _HEAD), strides=(_KV_PLACE, _HEAD, 1)),
    ),
)
