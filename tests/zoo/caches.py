"""Two caches that share a slot table: K and V, or payload and scale."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "A1",
        "right": "both",
        "wrong": "guards_k_only",
        "contract": "kv",
        "dims": {
            "K_DIM": 24,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 24,
            "V_CACHE_STRIDE": 32,
            "K_STRIDE": 56,
            "V_STRIDE": 40,
        },
        "dtype": "bf16",
        "expected": {"W1", "W6"},
        "why": "padding rows are kept out of K and copied into V",
    },
    {
        "corpus": "A2",
        "right": "both",
        "wrong": "guards_k_only",
        "contract": "kv",
        "dims": {
            "K_DIM": 64,
            "V_DIM": 2,
            "K_CACHE_STRIDE": 64,
            "V_CACHE_STRIDE": 2,
            "K_STRIDE": 64,
            "V_STRIDE": 2,
        },
        "dtype": {"v": "u8", "v_cache": "u8", "k": "u8", "k_cache": "u8"},
        "expected": {"W1", "W6"},
        "why": "the scale side-car of the payload lacks the guard of slot 0",
    },
    {
        "corpus": "C12",
        "right": "both",
        "wrong": "v_at_the_pitch_of_k",
        "contract": "kv",
        "dims": {
            "K_DIM": 24,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 24,
            "V_CACHE_STRIDE": 32,
            "K_STRIDE": 56,
            "V_STRIDE": 40,
        },
        "expected": {"W1", "W2", "W9"},
        "why": "V rows are placed at the row stride of K",
    },
    {
        "corpus": "E1",
        "right": "both",
        "wrong": "v_read_at_the_pitch_of_k",
        "contract": "kv",
        "dims": {
            "K_DIM": 24,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 24,
            "V_CACHE_STRIDE": 32,
            "K_STRIDE": 56,
            "V_STRIDE": 40,
        },
        "expected": {"W8"},
        "why": "V is read at the row stride of the K source",
    },
    {
        "corpus": "F9",
        "right": "both",
        "wrong": "k_into_both",
        "contract": "kv",
        "dims": {
            "K_DIM": 16,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 24,
            "V_CACHE_STRIDE": 32,
            "K_STRIDE": 56,
            "V_STRIDE": 40,
        },
        "expected": {"W9"},
        "why": "the V cache receives K",
    },
    {
        "corpus": "C17",
        "right": "both",
        "wrong": "forgets_v",
        "contract": "kv",
        "dims": {
            "K_DIM": 24,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 24,
            "V_CACHE_STRIDE": 32,
            "K_STRIDE": 56,
            "V_STRIDE": 40,
        },
        "expected": {"W2"},
        "why": "V never lands in its cache",
    },
    {
        "corpus": "C14",
        "right": "both",
        "wrong": "v_swizzled",
        "contract": "kv",
        "dims": {
            "K_DIM": 64,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 64,
            "V_CACHE_STRIDE": 16,
            "K_STRIDE": 64,
            "V_STRIDE": 16,
        },
        "dtype": "u8",
        "expected": {"W9"},
        "why": "scales are swizzled for another reader than the one that reads them in order",
    },
    {
        "corpus": "A7",
        "right": "both_but_negative",
        "wrong": "both_but_zero",
        "contract": "kv-negative",
        "dims": {
            "K_DIM": 24,
            "V_DIM": 16,
            "K_CACHE_STRIDE": 24,
            "V_CACHE_STRIDE": 32,
            "K_STRIDE": 56,
            "V_STRIDE": 40,
        },
        "expected": {"W1", "W2", "W6"},
        "why": "padding is marked with -1 and the writer knows slot 0 only",
    },
)


@triton.jit
def _pair(
    k_out,
    v_out,
    k_src,
    v_src,
    loc,
    k_pitch,
    v_pitch,
    k_from,
    v_from,
    KD: tl.constexpr,
    VD: tl.constexpr,
    KB: tl.constexpr,
    VB: tl.constexpr,
    HOW: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    live = slot > 0
    if HOW == "negative":
        live = slot >= 0
    elif HOW == "zero":
        live = slot != 0
    k_at, v_at = tl.arange(0, KB), tl.arange(0, VB)
    k_mask, v_mask = (k_at < KD) & live, (v_at < VD) & live
    if HOW == "k only":
        v_mask = v_at < VD
    k = tl.load(k_src + row * k_from + k_at, mask=k_mask)
    if HOW == "swizzle":
        v = tl.load(v_src + row * v_from + v_at % 4 * 4 + v_at // 4, mask=v_mask)
    elif HOW == "k twice":
        v = tl.load(k_src + row * k_from + v_at, mask=v_mask)
    else:
        v = tl.load(v_src + row * v_from + v_at, mask=v_mask)
    tl.store(k_out + slot * k_pitch + k_at, k, mask=k_mask)
    if HOW != "no v":
        tl.store(v_out + slot * v_pitch + v_at, v, mask=v_mask)


def _launch(k_cache, v_cache, loc, k, v, how="", v_pitch=None, v_from=None):
    _pair[(loc.shape[0],)](
        k_cache,
        v_cache,
        k,
        v,
        loc,
        k_cache.stride(0),
        v_pitch or v_cache.stride(0),
        k.stride(0),
        v_from or v.stride(0),
        k.shape[1],
        v.shape[1],
        KB=triton.next_power_of_2(k.shape[1]),
        VB=triton.next_power_of_2(v.shape[1]),
        HOW=how,
    )


def both(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v)


def both_but_negative(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, "negative")


def both_but_zero(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, "zero")


def guards_k_only(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, "k only")


def v_at_the_pitch_of_k(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, v_pitch=k_cache.stride(0))


def v_read_at_the_pitch_of_k(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, v_from=k.stride(0))


def k_into_both(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, "k twice")


def v_swizzled(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, "swizzle")


def forgets_v(k_cache, v_cache, loc, k, v):
    _launch(k_cache, v_cache, loc, k, v, "no v")
