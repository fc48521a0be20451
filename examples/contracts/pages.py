"""Writers of pages: a slot is page * PAGE + token, and a negative slot is padding."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def store_token(
    key_cache,
    value_cache,
    slots,
    key,
    value,
    page_stride,
    token_stride,
    head_stride,
    key_stride,
    value_stride,
    PAGE: tl.constexpr,
    DIM: tl.constexpr,
    LANES: tl.constexpr,
    PADDING_IS_MINUS_ONE: tl.constexpr,
) -> None:
    """Store one head of one token in programs (row, head), wherever the head's run begins."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    slot = tl.load(slots + row).to(tl.int64)
    if PADDING_IS_MINUS_ONE:
        if slot == -1:
            return
    elif slot < 0:
        return
    at = slot // PAGE * page_stride + slot % PAGE * token_stride + head * head_stride
    column = tl.arange(0, LANES)
    inside = column < DIM
    begin = head * DIM + column
    element = tl.load(key + row * key_stride + begin, mask=inside)
    tl.store(key_cache + at + column, element.to(key_cache.dtype.element_ty), mask=inside)
    element = tl.load(value + row * value_stride + begin, mask=inside)
    tl.store(value_cache + at + column, element.to(value_cache.dtype.element_ty), mask=inside)


@triton.jit
def store_block(
    key_cache,
    value_cache,
    slots,
    key,
    value,
    page_stride,
    token_stride,
    head_stride,
    key_stride,
    value_stride,
    PAGE: tl.constexpr,
    DIM: tl.constexpr,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
) -> None:
    """Store a block of one token's elements, whatever heads they belong to."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * LANES + tl.arange(0, LANES)
    slot = tl.load(slots + row).to(tl.int64)
    if slot < 0:
        return
    at = slot // PAGE * page_stride + slot % PAGE * token_stride
    at += column // DIM * head_stride + column % DIM
    inside = column < WIDTH
    element = tl.load(key + row * key_stride + column, mask=inside)
    tl.store(key_cache + at, element, mask=inside)
    element = tl.load(value + row * value_stride + column, mask=inside)
    tl.store(value_cache + at, element, mask=inside)


@triton.jit
def store_latent_token(
    kv_cache,
    slots,
    kv_c,
    k_pe,
    page_stride,
    token_stride,
    kv_c_stride,
    k_pe_stride,
    PAGE: tl.constexpr,
    NOPE: tl.constexpr,
    ROPE: tl.constexpr,
    NOPE_LANES: tl.constexpr,
    ROPE_LANES: tl.constexpr,
) -> None:
    """Store one latent row, kv_c then k_pe, unless its slot is negative."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    if slot < 0:
        return
    place = kv_cache + slot // PAGE * page_stride + slot % PAGE * token_stride
    column = tl.arange(0, NOPE_LANES)
    element = tl.load(kv_c + row * kv_c_stride + column, mask=column < NOPE)
    tl.store(place + column, element, mask=column < NOPE)
    column = tl.arange(0, ROPE_LANES)
    element = tl.load(k_pe + row * k_pe_stride + column, mask=column < ROPE)
    tl.store(place + NOPE + column, element, mask=column < ROPE)


def write_pages(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    *,
    heads_first: bool = False,
    one_run: bool = False,
    minus_one: bool = False,
) -> None:
    """Store key and value of each row in its page, cast to the cache's dtype.

    Args:
        key: keys, [rows, heads, head_dim], of any dtype.
        value: values, [rows, heads, head_dim], of the same dtype.
        key_cache: pages of keys, [pages, page, heads, head_dim], of any dtype.
        value_cache: pages of values, of the same shape, strides and dtype.
        slot_mapping: the slot of each row, [rows], int32 or int64; a negative one is padding.
        heads_first: pages are [heads, page, head_dim] instead.
        one_run: a fault: heads are stored side by side, as if pages were [page, heads, head_dim].
        minus_one: another: slot -1 alone is taken for padding.
    """
    rows, heads, dim = key.shape
    if rows == 0:
        return
    token, head = (2, 1) if heads_first or one_run else (1, 2)
    strides = key_cache.stride(token), key_cache.stride(head)
    if one_run:
        strides = heads * dim, dim
    store_token[(rows, heads)](
        key_cache,
        value_cache,
        slot_mapping,
        key,
        value,
        key_cache.stride(0),
        *strides,
        key.stride(0),
        value.stride(0),
        PAGE=key_cache.shape[token],
        DIM=dim,
        LANES=triton.next_power_of_2(dim),
        PADDING_IS_MINUS_ONE=minus_one,
    )


def write_pages_but_minus_one(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """Take slot -1 alone for padding: -2 lands before its page. Arguments as `write_pages`."""
    write_pages(key, value, key_cache, value_cache, slot_mapping, minus_one=True)


def write_heads_first(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """Store into pages [heads, page, head_dim]. Other arguments as for `write_pages`."""
    write_pages(key, value, key_cache, value_cache, slot_mapping, heads_first=True)


def write_heads_in_one_run(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """Store heads side by side in pages that hold them a page apart. Arguments as `write_pages`."""
    write_pages(key, value, key_cache, value_cache, slot_mapping, one_run=True)


def write_blocks(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """Store key and value of each row in blocks that span heads. Arguments as `write_pages`."""
    rows, heads, dim = key.shape
    if rows == 0:
        return
    store_block[(rows, triton.cdiv(heads * dim, 128))](
        key_cache,
        value_cache,
        slot_mapping,
        key,
        value,
        *key_cache.stride()[:3],
        key.stride(0),
        value.stride(0),
        PAGE=key_cache.shape[1],
        DIM=dim,
        WIDTH=heads * dim,
        LANES=128,
    )


def write_latent_pages(
    kv_c: torch.Tensor, k_pe: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor
) -> None:
    """Store each latent row in its page.

    Args:
        kv_c: the part without rotary embedding, [rows, nope], in the cache's dtype.
        k_pe: the rotary part, [rows, rope], in the cache's dtype.
        kv_cache: pages, [pages, page, nope + rope], of any dtype.
        slot_mapping: the slot of each row, [rows], int32 or int64; a negative one is padding.
    """
    rows, nope = kv_c.shape
    rope = k_pe.shape[1]
    if rows == 0:
        return
    store_latent_token[(rows,)](
        kv_cache,
        slot_mapping,
        kv_c,
        k_pe,
        kv_cache.stride(0),
        kv_cache.stride(1),
        kv_c.stride(0),
        k_pe.stride(0),
        PAGE=kv_cache.shape[1],
        NOPE=nope,
        ROPE=rope,
        NOPE_LANES=triton.next_power_of_2(nope),
        ROPE_LANES=triton.next_power_of_2(max(rope, 1)),
    )
