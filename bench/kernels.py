"""Kernels that the benches run: a writer of latent rows, nope then rope, in a common shape."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rope_rows(
    cache,
    nope,
    rope,
    slots,
    skip,
    row_stride: tl.constexpr,
    nope_stride: tl.constexpr,
    rope_stride: tl.constexpr,
    NOPE: tl.constexpr,
    ROPE: tl.constexpr,
    BLOCK: tl.constexpr,
    RANK: tl.constexpr,
    WORLD: tl.constexpr,
):
    """Store one row of NOPE + ROPE elements at its slot, unless the slot is `skip`."""
    row = tl.program_id(0)
    first = tl.program_id(1) * BLOCK
    column = first + tl.arange(0, BLOCK)
    inside = column < NOPE + ROPE

    slot = tl.load(slots + row).to(tl.int64)
    mine = (slot != skip) & (slot % WORLD == RANK)
    place = tl.where(mine, slot, 0) // WORLD

    if first + BLOCK <= NOPE:
        value = tl.load(nope + row * nope_stride + column, mask=inside)
    elif first >= NOPE:
        value = tl.load(rope + row * rope_stride + column - NOPE, mask=inside)
    else:
        left = column < NOPE
        low = tl.load(nope + row * nope_stride + column, mask=inside & left, other=0)
        right = inside & (column >= NOPE)
        high = tl.load(rope + row * rope_stride + (column - NOPE), mask=right, other=0)
        value = tl.where(left, low, high)
    tl.store(cache + place * row_stride + column, value, mask=inside & mine)


def store_rows(kv_buffer, loc, cache_k_nope, cache_k_rope, skip=0):
    """Store every row but the skipped one, as an engine's host function does."""
    nope, rope = cache_k_nope.shape[-1], cache_k_rope.shape[-1]
    block = 128
    if loc.shape[0]:
        rope_rows[loc.shape[0], triton.cdiv(nope + rope, block)](
            kv_buffer, cache_k_nope, cache_k_rope, loc, skip,
            kv_buffer.stride(0), cache_k_nope.stride(0), cache_k_rope.stride(0),
            nope, rope, block, 0, 1,
        )  # fmt: skip
