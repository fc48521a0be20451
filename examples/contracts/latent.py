"""Writers of latent rows: whole, cast to fp8, scales, and sharded over ranks."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def store_latent(
    cache,
    slots,
    nope,
    rope,
    cache_stride,
    nope_stride,
    rope_stride,
    NOPE: tl.constexpr,
    ROPE: tl.constexpr,
    NOPE_LANES: tl.constexpr,
    ROPE_LANES: tl.constexpr,
    WORLD: tl.constexpr,
    RANK: tl.constexpr,
    EVERY_RANK: tl.constexpr,
) -> None:
    """Store one row, nope then rope, unless its slot is padding or another rank's."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    if slot == 0:
        return
    if slot % WORLD != RANK and not EVERY_RANK:
        return
    place = cache + slot // WORLD * cache_stride
    column = tl.arange(0, NOPE_LANES)
    element = tl.load(nope + row * nope_stride + column, mask=column < NOPE)
    tl.store(place + column, element.to(cache.dtype.element_ty), mask=column < NOPE)
    if ROPE > 0:
        column = tl.arange(0, ROPE_LANES)
        element = tl.load(rope + row * rope_stride + column, mask=column < ROPE)
        tl.store(place + NOPE + column, element.to(cache.dtype.element_ty), mask=column < ROPE)


@triton.jit
def store_sum(
    cache,
    slots,
    nope,
    rope,
    cache_stride,
    nope_stride,
    rope_stride,
    NOPE: tl.constexpr,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
) -> None:
    """Store one row as nope + rope, 0 where one of them has no column: the fault is the sum."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    if slot == 0:
        return
    column = tl.arange(0, LANES)
    left = tl.load(nope + row * nope_stride + column, mask=column < NOPE, other=0.0)
    inside = (column >= NOPE) & (column < WIDTH)
    right = tl.load(rope + row * rope_stride + column - NOPE, mask=inside, other=0.0)
    tl.store(cache + slot * cache_stride + column, left + right, mask=column < WIDTH)


def write_latent(
    kv_buffer: torch.Tensor,
    loc: torch.Tensor,
    cache_k_nope: torch.Tensor,
    cache_k_rope: torch.Tensor | None = None,
    *,
    world: int = 1,
    rank: int = 0,
    every_rank: bool = False,
) -> None:
    """Store each row at its slot, cast to the cache's dtype; rows of slot 0 are padding.

    Args:
        kv_buffer: the cache of this rank, [places, nope + rope], of any dtype.
        loc: the slot of each row, [rows], int32 or int64.
        cache_k_nope: the part without rotary embedding, [rows, nope], of any dtype.
        cache_k_rope: the rotary part, [rows, rope], of the same dtype; None where there is none.
        world: ranks that share the slots.
        rank: this one; it stores the slots with `slot % world == rank`, at `slot // world`.
        every_rank: the fault: rows of other ranks are stored too.
    """
    rows, nope = cache_k_nope.shape
    rope = 0 if cache_k_rope is None else cache_k_rope.shape[1]
    if rows == 0:
        return
    store_latent[(rows,)](
        kv_buffer,
        loc,
        cache_k_nope,
        cache_k_nope if cache_k_rope is None else cache_k_rope,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        0 if cache_k_rope is None else cache_k_rope.stride(0),
        NOPE=nope,
        ROPE=rope,
        NOPE_LANES=triton.next_power_of_2(nope),
        ROPE_LANES=triton.next_power_of_2(max(rope, 1)),
        WORLD=world,
        RANK=rank,
        EVERY_RANK=every_rank,
    )


def write_latent_on_every_rank(
    kv_buffer: torch.Tensor,
    loc: torch.Tensor,
    cache_k_nope: torch.Tensor,
    *,
    world: int = 1,
    rank: int = 0,
) -> None:
    """Store each row on every rank, over rows of its own. Arguments as for `write_latent`."""
    write_latent(kv_buffer, loc, cache_k_nope, world=world, rank=rank, every_rank=True)


def write_scales_by_sum(
    kv_buffer: torch.Tensor,
    loc: torch.Tensor,
    cache_k_nope: torch.Tensor,
    cache_k_rope: torch.Tensor,
) -> None:
    """Store each row as a sum of its parts: -0.0 becomes 0.0. Arguments as for `write_latent`."""
    rows, nope = cache_k_nope.shape
    width = nope + cache_k_rope.shape[1]
    if rows == 0:
        return
    store_sum[(rows,)](
        kv_buffer,
        loc,
        cache_k_nope,
        cache_k_rope,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        cache_k_rope.stride(0),
        NOPE=nope,
        WIDTH=width,
        LANES=triton.next_power_of_2(width),
    )
