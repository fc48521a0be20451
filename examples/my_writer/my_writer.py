"""A writer of latent rows, as an engine would have it: one program stores one row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def store_row(cache, slots, source, cache_stride, source_stride, WIDTH: tl.constexpr) -> None:
    """Store the row of this program at its slot, unless that is the slot of padding rows."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    if slot == 0:
        return
    column = tl.arange(0, WIDTH)
    element = tl.load(source + row * source_stride + column)
    tl.store(cache + slot * cache_stride + column, element)


def write_rows(kv_buffer: torch.Tensor, loc: torch.Tensor, cache_k_nope: torch.Tensor) -> None:
    """Store each row at its slot; rows of slot 0 are padding.

    Args:
        kv_buffer: the cache, [places, width], of any dtype.
        loc: the slot of each row, [rows], int32 or int64.
        cache_k_nope: the rows, [rows, width], in the cache's dtype; width is a power of two.
    """
    rows, width = cache_k_nope.shape
    if rows:
        store_row[(rows,)](
            kv_buffer, loc, cache_k_nope, kv_buffer.stride(0), cache_k_nope.stride(0), WIDTH=width
        )
