"""Heads that lie a page apart (HND): one program for each row and head."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "C2",
        "right": "heads_apart",
        "wrong": "heads_side_by_side",
        "contract": "paged-hnd-2",
        "dims": {
            "HEAD_DIM": 8,
            "PAGE": 4,
            "TOKEN_STRIDE": 8,
            "HEAD_STRIDE": 32,
            "PAGE_STRIDE": 64,
            "KEY_STRIDE": 24,
            "VALUE_STRIDE": 16,
        },
        "dtype": "bf16",
        "expected": {"W1", "W2", "W13"},
        "why": "a token's heads are written as one run into a cache that holds them a page apart",
    },
    {
        "corpus": "C4",
        "right": "heads_apart",
        "wrong": "page_size_of_heads",
        "contract": "paged-hnd-2",
        "dims": {
            "HEAD_DIM": 8,
            "PAGE": 4,
            "TOKEN_STRIDE": 8,
            "HEAD_STRIDE": 32,
            "PAGE_STRIDE": 64,
            "KEY_STRIDE": 24,
            "VALUE_STRIDE": 16,
        },
        "dtype": "u8",
        "expected": {"W1", "W2"},
        "why": "the page size is read from dimension 1, which holds the heads",
    },
    {
        "corpus": "C5",
        "right": "heads_apart",
        "wrong": "strides_of_shape",
        "contract": "paged-hnd-2",
        "dims": {
            "HEAD_DIM": 8,
            "PAGE": 4,
            "TOKEN_STRIDE": 16,
            "HEAD_STRIDE": 64,
            "PAGE_STRIDE": 128,
            "KEY_STRIDE": 24,
            "VALUE_STRIDE": 16,
        },
        "dtype": "bf16",
        "expected": {"W1", "W2"},
        "why": "K and V share rows of one storage, and only the page stride is honoured",
    },
)


@triton.jit
def _apart(
    k_cache,
    v_cache,
    k,
    v,
    slots,
    page_stride,
    head_stride,
    token_stride,
    k_pitch,
    v_pitch,
    PAGE: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    slot = tl.load(slots + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot >= 0)
    at = slot // PAGE * page_stride + head * head_stride + slot % PAGE * token_stride + col
    tl.store(k_cache + at, tl.load(k + row * k_pitch + head * D + col, mask=mask), mask=mask)
    tl.store(v_cache + at, tl.load(v + row * v_pitch + head * D + col, mask=mask), mask=mask)


def _launch(key_cache, value_cache, slot_mapping, key, value, page=None, strides=None):
    rows, heads, width = key.shape
    _apart[(rows, heads)](
        key_cache,
        value_cache,
        key,
        value,
        slot_mapping,
        *(strides or key_cache.stride()[:3]),
        key.stride(0),
        value.stride(0),
        PAGE=page or key_cache.shape[2],
        D=width,
        BLOCK=triton.next_power_of_2(width),
    )


def heads_apart(key_cache, value_cache, slot_mapping, key, value):
    _launch(key_cache, value_cache, slot_mapping, key, value)


def heads_side_by_side(key_cache, value_cache, slot_mapping, key, value):
    page, _, token, _ = key_cache.stride()
    strides = page, key.shape[2], token
    _launch(key_cache, value_cache, slot_mapping, key, value, strides=strides)


def page_size_of_heads(key_cache, value_cache, slot_mapping, key, value):
    _launch(key_cache, value_cache, slot_mapping, key, value, page=key_cache.shape[1])


def strides_of_shape(key_cache, value_cache, slot_mapping, key, value):
    page = key_cache.stride(0)
    _, _, tokens, width = key_cache.shape
    strides = page, tokens * width, width
    _launch(key_cache, value_cache, slot_mapping, key, value, strides=strides)
