"""How sources and slots are read, and how many rows are processed."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "E1",
        "right": "strided",
        "wrong": "pitch_of_shape",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 72},
        "dtype": "bf16",
        "expected": {"W8"},
        "why": "the row pitch of a split view is taken for its width",
    },
    {
        "corpus": "E5",
        "right": "strided",
        "wrong": "pitch_of_cache",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 72},
        "expected": {"W8"},
        "why": "the source is read at the stride of another tensor",
    },
    {
        "corpus": "E3",
        "right": "strided",
        "wrong": "stores_within_heads",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 40, "NOPE_STRIDE": 72},
        "expected": {"W2"},
        "why": "a bound sized from the source's width drops stores past it",
    },
    {
        "corpus": "I8",
        "right": "looping",
        "wrong": "looping_over_four",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 24},
        "expected": {"W2", "W7"},
        "why": "no more than four rows are processed",
    },
    {
        "corpus": "I6",
        "right": "looping",
        "wrong": "looping_past_the_end",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 24},
        "expected": {"W1", "W7", "W8"},
        "why": "one row more than there are slots is processed",
    },
    {
        "corpus": "C17",
        "right": "strided",
        "wrong": "into_a_copy",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 40, "NOPE_STRIDE": 24},
        "expected": {"W2"},
        "why": "a reshape of a cache that is not contiguous makes a copy, and the copy is filled",
    },
)


@triton.jit
def _one(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    most,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    BOUND: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot != 0)
    if BOUND:
        mask = mask & (slot * out_pitch + col < most)
    value = tl.load(src + row * src_pitch + col, mask=mask)
    tl.store(out + slot * out_pitch + col, value, mask=mask)


def _rows(kv_buffer, loc, cache_k_nope, pitch=None, bound=0, out_pitch=None):
    rows, width = cache_k_nope.shape
    _one[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        out_pitch or kv_buffer.stride(0),
        pitch or cache_k_nope.stride(0),
        bound,
        width,
        BLOCK=triton.next_power_of_2(width),
        BOUND=bound > 0,
    )


def strided(kv_buffer, loc, cache_k_nope):
    _rows(kv_buffer, loc, cache_k_nope)


def pitch_of_shape(kv_buffer, loc, cache_k_nope):
    _rows(kv_buffer, loc, cache_k_nope, pitch=cache_k_nope.shape[1])


def pitch_of_cache(kv_buffer, loc, cache_k_nope):
    _rows(kv_buffer, loc, cache_k_nope, pitch=kv_buffer.stride(0))


def stores_within_heads(kv_buffer, loc, cache_k_nope):
    _rows(kv_buffer, loc, cache_k_nope, bound=kv_buffer.shape[0] * cache_k_nope.shape[1])


def into_a_copy(kv_buffer, loc, cache_k_nope):
    width = cache_k_nope.shape[1]
    _rows(kv_buffer.reshape(-1), loc, cache_k_nope, out_pitch=width)


@triton.jit
def _loop(
    out,
    src,
    loc,
    n,
    out_pitch,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    MOST: tl.constexpr,
    MORE: tl.constexpr,
):
    end = n + MORE
    if MOST:
        end = tl.minimum(n, 4)
    for row in range(tl.program_id(0), end, tl.num_programs(0)):
        wide = tl.cast(row, tl.int64)
        slot = tl.load(loc + wide).to(tl.int64)
        col = tl.arange(0, BLOCK)
        mask = (col < D) & (slot != 0)
        value = tl.load(src + wide * src_pitch + col, mask=mask)
        tl.store(out + slot * out_pitch + col, value, mask=mask)


def _looped(kv_buffer, loc, cache_k_nope, most, more):
    rows, width = cache_k_nope.shape
    _loop[(8,)](
        kv_buffer,
        cache_k_nope,
        loc,
        rows,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        MOST=most,
        MORE=more,
    )


def looping(kv_buffer, loc, cache_k_nope):
    _looped(kv_buffer, loc, cache_k_nope, most=False, more=0)


def looping_over_four(kv_buffer, loc, cache_k_nope):
    _looped(kv_buffer, loc, cache_k_nope, most=True, more=0)


def looping_past_the_end(kv_buffer, loc, cache_k_nope):
    _looped(kv_buffer, loc, cache_k_nope, most=False, more=1)
