"""Two writers of latent rows that have no rotary part: a right one, and one with a known fault.

Each host function stores `cache_k_nope[i]` at place `loc[i]` of `kv_buffer`. Padding rows carry
the reserved slot and must leave no trace in the cache. Check both with `kvproof check`, or one
with `kvproof check zero_rope.py::write_rows --contract mla-row-norope`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

#: Rows that one program stores.
TILE = 4


@triton.jit(do_not_specialize=["count"])
def store_rows(
    cache,
    slots,
    source,
    count,
    reserved,
    cache_stride,
    source_stride,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    """Store a tile of rows, except those whose slot is the reserved one."""
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, LANES)
    # A row past the end takes the reserved slot, so that one test drops both.
    slot = tl.load(slots + row, mask=row < count, other=reserved).to(tl.int64)
    stored = (slot != reserved)[:, None] & (column < WIDTH)[None, :]
    element = tl.load(source + row[:, None] * source_stride + column[None, :], mask=stored)
    tl.store(cache + slot[:, None] * cache_stride + column[None, :], element, mask=stored)


@triton.jit(do_not_specialize=["count"])
def store_all_rows(
    cache,
    slots,
    source,
    count,
    cache_stride,
    source_stride,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    """Store a tile of rows, whatever their slots are: the fault is that nothing is skipped."""
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, LANES)
    slot = tl.load(slots + row, mask=row < count, other=0).to(tl.int64)
    stored = (row < count)[:, None] & (column < WIDTH)[None, :]
    element = tl.load(source + row[:, None] * source_stride + column[None, :], mask=stored)
    tl.store(cache + slot[:, None] * cache_stride + column[None, :], element, mask=stored)


def write_rows(
    kv_buffer: torch.Tensor, loc: torch.Tensor, cache_k_nope: torch.Tensor, *, reserved: int = 0
) -> None:
    """Store each row at its slot, and drop rows whose slot is `reserved`.

    Args:
        kv_buffer: the cache, [places, width], of any dtype.
        loc: the slot of each row, [rows], int32 or int64.
        cache_k_nope: the rows, [rows, width], in the cache's dtype.
        reserved: the slot that padding rows carry.
    """
    rows, width = cache_k_nope.shape
    if rows == 0:
        return
    store_rows[(triton.cdiv(rows, TILE),)](
        kv_buffer,
        loc,
        cache_k_nope,
        rows,
        reserved,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        WIDTH=width,
        LANES=triton.next_power_of_2(width),
        TILE=TILE,
    )


def write_rows_without_skip(
    kv_buffer: torch.Tensor, loc: torch.Tensor, cache_k_nope: torch.Tensor
) -> None:
    """Store each row at its slot, padding rows too. Arguments as for `write_rows`."""
    rows, width = cache_k_nope.shape
    if rows == 0:
        return
    store_all_rows[(triton.cdiv(rows, TILE),)](
        kv_buffer,
        loc,
        cache_k_nope,
        rows,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        WIDTH=width,
        LANES=triton.next_power_of_2(width),
        TILE=TILE,
    )
