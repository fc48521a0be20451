"""Where the columns of a row come from and go to: blocks, rows per program, widths."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "F1",
        "right": "straddles",
        "wrong": "straddles_two_ways",
        "contract": "mla-row",
        "dims": {
            "NOPE": 20,
            "ROPE": 12,
            "BUFFER_STRIDE": 32,
            "NOPE_STRIDE": 40,
            "ROPE_STRIDE": 16,
        },
        "expected": {"W2"},
        "why": "a block that straddles both parts takes one branch of two",
    },
    {
        "corpus": "F6",
        "right": "straddles",
        "wrong": "stores_rotary_only",
        "contract": "mla-row",
        "dims": {"NOPE": 4, "ROPE": 4, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 4, "ROPE_STRIDE": 8},
        "expected": {"W2"},
        "why": "the store covers the rotary columns only",
    },
    {
        "corpus": "F5",
        "right": "straddles",
        "wrong": "rotary_over_all",
        "contract": "mla-row",
        "dims": {"NOPE": 16, "ROPE": 16, "BUFFER_STRIDE": 32, "NOPE_STRIDE": 16, "ROPE_STRIDE": 40},
        "expected": {"W8", "W9"},
        "why": "the whole row is taken from the rotary source, past its width",
    },
    {
        "corpus": "C9",
        "right": "two_rows",
        "wrong": "two_rows_displaced",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 8, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 8},
        "expected": {"W1", "W2"},
        "why": "the destination reuses the load offset, which holds the row's displacement",
    },
    {
        "corpus": "C18",
        "right": "groups",
        "wrong": "groups_apart",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 32, "BUFFER_STRIDE": 40, "NOPE_STRIDE": 32},
        "expected": {"W1", "W2", "W9"},
        "why": "blocks are placed by a group size that is not theirs",
    },
    {
        "corpus": "F2",
        "right": "padded",
        "wrong": "padded_without_mask",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 10, "BUFFER_STRIDE": 10, "NOPE_STRIDE": 10},
        "expected": {"W1", "W8"},
        "why": "ten columns padded to sixteen lanes without a mask",
    },
    {
        "corpus": "F7",
        "right": "padded",
        "wrong": "padded_overread",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 12, "BUFFER_STRIDE": 12, "NOPE_STRIDE": 12},
        "expected": {"W8"},
        "why": "the load runs past the row although the store does not",
    },
    {
        "corpus": "G12",
        "right": "padded",
        "wrong": "padded_short",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 12, "BUFFER_STRIDE": 12, "NOPE_STRIDE": 12},
        "expected": {"W2"},
        "why": "the kernel's width is not the cache's",
    },
)


@triton.jit
def _straddle(
    out,
    nope,
    rope,
    loc,
    out_pitch,
    nope_pitch,
    rope_pitch,
    A: tl.constexpr,
    B: tl.constexpr,
    BLOCK: tl.constexpr,
    HOW: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * BLOCK
    slot = tl.load(loc + row).to(tl.int64)
    if slot == 0:
        return
    col = start + tl.arange(0, BLOCK)
    at = out + slot * out_pitch + col
    if HOW == "two ways":
        if start + BLOCK <= A:
            tl.store(at, tl.load(nope + row * nope_pitch + col))
        else:
            mask = (col >= A) & (col < A + B)
            tl.store(at, tl.load(rope + row * rope_pitch + col - A, mask=mask), mask=mask)
    elif HOW == "over all":
        mask = col < A + B
        tl.store(at, tl.load(rope + row * rope_pitch + col, mask=mask), mask=mask)
    else:
        right = (col >= A) & (col < A + B)
        b = tl.load(rope + row * rope_pitch + col - A, mask=right)
        if HOW == "rotary":
            tl.store(at, b, mask=right)
        else:
            a = tl.load(nope + row * nope_pitch + col, mask=col < A)
            tl.store(at, tl.where(col < A, a, b), mask=col < A + B)


def _parts(kv_buffer, loc, cache_k_nope, cache_k_rope, how):
    width, rotary = cache_k_nope.shape[1], cache_k_rope.shape[1]
    _straddle[(loc.shape[0], triton.cdiv(width + rotary, 16))](
        kv_buffer,
        cache_k_nope,
        cache_k_rope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        cache_k_rope.stride(0),
        width,
        rotary,
        BLOCK=16,
        HOW=how,
    )


def straddles(kv_buffer, loc, cache_k_nope, cache_k_rope):
    _parts(kv_buffer, loc, cache_k_nope, cache_k_rope, "right")


def straddles_two_ways(kv_buffer, loc, cache_k_nope, cache_k_rope):
    _parts(kv_buffer, loc, cache_k_nope, cache_k_rope, "two ways")


def stores_rotary_only(kv_buffer, loc, cache_k_nope, cache_k_rope):
    _parts(kv_buffer, loc, cache_k_nope, cache_k_rope, "rotary")


def rotary_over_all(kv_buffer, loc, cache_k_nope, cache_k_rope):
    _parts(kv_buffer, loc, cache_k_nope, cache_k_rope, "over all")


@triton.jit
def _several(
    out,
    src,
    loc,
    n,
    out_pitch,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    DISPLACED: tl.constexpr,
):
    local = tl.arange(0, ROWS)
    row = tl.program_id(0).to(tl.int64) * ROWS + local
    slot = tl.load(loc + row, mask=row < n, other=0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (slot > 0)[:, None] & (col < D)[None, :]
    value = tl.load(src + row[:, None] * src_pitch + col[None, :], mask=mask)
    at = slot[:, None] * out_pitch + col[None, :]
    if DISPLACED:
        at += local[:, None] * src_pitch
    tl.store(out + at, value, mask=mask)


def _two(kv_buffer, loc, cache_k_nope, displaced):
    rows, width = cache_k_nope.shape
    _several[(triton.cdiv(rows, 2),)](
        kv_buffer,
        cache_k_nope,
        loc,
        rows,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        ROWS=2,
        DISPLACED=displaced,
    )


def two_rows(kv_buffer, loc, cache_k_nope):
    _two(kv_buffer, loc, cache_k_nope, displaced=False)


def two_rows_displaced(kv_buffer, loc, cache_k_nope):
    _two(kv_buffer, loc, cache_k_nope, displaced=True)


@triton.jit
def _group(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    group = tl.program_id(1)
    slot = tl.load(loc + row).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    mask = (lane < BLOCK) & (slot != 0)
    value = tl.load(src + row * src_pitch + group * BLOCK + lane, mask=mask)
    tl.store(out + slot * out_pitch + group * STEP + lane, value, mask=mask)


def _groups(kv_buffer, loc, cache_k_nope, step):
    rows, width = cache_k_nope.shape
    _group[(rows, width // 16)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        BLOCK=16,
        STEP=step,
    )


def groups(kv_buffer, loc, cache_k_nope):
    _groups(kv_buffer, loc, cache_k_nope, 16)


def groups_apart(kv_buffer, loc, cache_k_nope):
    _groups(kv_buffer, loc, cache_k_nope, 24)


@triton.jit
def _pad(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    READ: tl.constexpr,
    WRITE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    value = tl.load(src + row * src_pitch + col, mask=col < READ, other=0)
    tl.store(out + slot * out_pitch + col, value, mask=(col < WRITE) & (slot != 0))


def _padded(kv_buffer, loc, cache_k_nope, read, write):
    rows, width = cache_k_nope.shape
    block = triton.next_power_of_2(width)
    _pad[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        block if read is None else read,
        block if write is None else write,
        BLOCK=block,
    )


def padded(kv_buffer, loc, cache_k_nope):
    width = cache_k_nope.shape[1]
    _padded(kv_buffer, loc, cache_k_nope, width, width)


def padded_without_mask(kv_buffer, loc, cache_k_nope):
    _padded(kv_buffer, loc, cache_k_nope, None, None)


def padded_overread(kv_buffer, loc, cache_k_nope):
    _padded(kv_buffer, loc, cache_k_nope, None, cache_k_nope.shape[1])


def padded_short(kv_buffer, loc, cache_k_nope):
    width = cache_k_nope.shape[1]
    _padded(kv_buffer, loc, cache_k_nope, width, width - 1)
