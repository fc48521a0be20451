"""A writer of quantised rows whose scales lie in a cache of their own."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def store_scaled(
    cache,
    scales,
    slots,
    codes,
    scale,
    cache_stride,
    scales_stride,
    codes_stride,
    scale_stride,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    GUARD_SCALE: tl.constexpr,
) -> None:
    """Store the codes of one row and its scale, unless its slot is -1."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    column = tl.arange(0, LANES)
    live = slot != -1
    inside = (column < WIDTH) & live
    code = tl.load(codes + row * codes_stride + column, mask=inside)
    tl.store(cache + slot * cache_stride + column, code, mask=inside)
    if GUARD_SCALE:
        factor = tl.load(scale + row * scale_stride, mask=live)
        tl.store(scales + slot * scales_stride, factor, mask=live)
    else:
        tl.store(scales + slot * scales_stride, tl.load(scale + row * scale_stride))


def write_scaled(
    codes: torch.Tensor,
    scale: torch.Tensor,
    cache: torch.Tensor,
    scales: torch.Tensor,
    slot_mapping: torch.Tensor,
    *,
    guard_scale: bool = True,
) -> None:
    """Store each row and its scale at its slot; rows of slot -1 are padding.

    Args:
        codes: quantised rows, [rows, width], uint8.
        scale: the scale of each row, [rows, 1], float32.
        cache: the cache of codes, [places, width], uint8.
        scales: the cache of scales, [places, 1], float32.
        slot_mapping: the slot of each row, [rows], int32 or int64.
        guard_scale: False is the fault: scales of padding rows are stored.
    """
    rows, width = codes.shape
    if rows == 0:
        return
    store_scaled[(rows,)](
        cache,
        scales,
        slot_mapping,
        codes,
        scale,
        cache.stride(0),
        scales.stride(0),
        codes.stride(0),
        scale.stride(0),
        WIDTH=width,
        LANES=triton.next_power_of_2(width),
        GUARD_SCALE=guard_scale,
    )


def write_scaled_guarding_codes(
    codes: torch.Tensor,
    scale: torch.Tensor,
    cache: torch.Tensor,
    scales: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """Store the scale of padding rows before the cache. Arguments as for `write_scaled`."""
    write_scaled(codes, scale, cache, scales, slot_mapping, guard_scale=False)
