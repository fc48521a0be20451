"""Writers of K and V rows: a cache for each, or one cache for both."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def store_rows(
    k_cache,
    v_cache,
    slots,
    k,
    v,
    k_cache_stride,
    v_cache_stride,
    k_stride,
    v_stride,
    K_WIDTH: tl.constexpr,
    V_WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    GUARD_V: tl.constexpr,
) -> None:
    """Store a block of one row: of K in programs (row, block, 0), of V in (row, block, 1)."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * LANES + tl.arange(0, LANES)
    slot = tl.load(slots + row).to(tl.int64)
    if tl.program_id(2) == 0:
        live = (column < K_WIDTH) & (slot != 0)
        element = tl.load(k + row * k_stride + column, mask=live)
        tl.store(k_cache + slot * k_cache_stride + column, element, mask=live)
    else:
        live = column < V_WIDTH
        if GUARD_V:
            live = live & (slot != 0)
        element = tl.load(v + row * v_stride + column, mask=live)
        tl.store(v_cache + slot * v_cache_stride + column, element, mask=live)


@triton.jit
def store_pair(
    kv_cache,
    slots,
    k,
    v,
    cache_stride,
    k_stride,
    v_stride,
    v_begin,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
) -> None:
    """Store one row: K, then V from element `v_begin` of the row on."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, LANES)
    inside = column < WIDTH
    place = kv_cache + tl.load(slots + row).to(tl.int64) * cache_stride
    tl.store(place + column, tl.load(k + row * k_stride + column, mask=inside), mask=inside)
    element = tl.load(v + row * v_stride + column, mask=inside)
    tl.store(place + v_begin + column, element, mask=inside)


def write_kv(
    k: torch.Tensor,
    v: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    loc: torch.Tensor,
    *,
    guard_v: bool = True,
) -> None:
    """Store K and V of each row at its slot; rows of slot 0 are padding.

    Args:
        k: keys, [rows, heads, k_dim], in the dtype of k_cache.
        v: values, [rows, heads, v_dim], in the dtype of v_cache.
        k_cache: the cache of K, [places, heads, k_dim], heads side by side, of any dtype.
        v_cache: the cache of V, [places, heads, v_dim], heads side by side, of any dtype.
        loc: the slot of each row, [rows], int32 or int64.
        guard_v: False is the fault: V of padding rows is stored.
    """
    rows = k.shape[0]
    widths = k[0:1].numel(), v[0:1].numel()
    if rows == 0:
        return
    store_rows[(rows, triton.cdiv(max(widths), 256), 2)](
        k_cache,
        v_cache,
        loc,
        k,
        v,
        k_cache.stride(0),
        v_cache.stride(0),
        k.stride(0),
        v.stride(0),
        K_WIDTH=widths[0],
        V_WIDTH=widths[1],
        LANES=256,
        GUARD_V=guard_v,
    )


def write_kv_guarding_k(
    k: torch.Tensor,
    v: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    loc: torch.Tensor,
) -> None:
    """Store V of padding rows too. Arguments as for `write_kv`."""
    write_kv(k, v, k_cache, v_cache, loc, guard_v=False)


def write_pair(
    k: torch.Tensor, v: torch.Tensor, kv_cache: torch.Tensor, loc: torch.Tensor, *, early: int = 0
) -> None:
    """Store K and V of each row side by side at its slot; no slot is skipped.

    Args:
        k: keys, [rows, heads, head_dim], in the cache's dtype.
        v: values, [rows, heads, head_dim], in the cache's dtype.
        kv_cache: the cache, [places, 2 * heads, head_dim], the heads of K first, of any dtype.
        loc: the slot of each row, [rows], int32 or int64.
        early: elements by which V begins too early: anything but 0 is a fault.
    """
    rows, heads, dim = k.shape
    if rows == 0:
        return
    store_pair[(rows,)](
        kv_cache,
        loc,
        k,
        v,
        kv_cache.stride(0),
        k.stride(0),
        v.stride(0),
        heads * dim - early,
        WIDTH=heads * dim,
        LANES=triton.next_power_of_2(heads * dim),
    )


def write_pair_overlapping(
    k: torch.Tensor, v: torch.Tensor, kv_cache: torch.Tensor, loc: torch.Tensor
) -> None:
    """Store V one head too early, over the last head of K. Arguments as for `write_pair`."""
    write_pair(k, v, kv_cache, loc, early=k.shape[2])
