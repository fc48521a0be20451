"""Slots that must not be stored: padding, null blocks, sentinels."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "A4",
        "right": "skips_reserved",
        "wrong": "skips_minus_one_only",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W6"},
        "why": "only -1 counts as padding, and the caller pads with slot 0",
    },
    {
        "corpus": "A12",
        "right": "skips_ten",
        "wrong": "skips_reserved",
        "contract": "row-null-10",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W2", "W6"},
        "why": "the allocator's null slot is 10 and the kernel skips 0",
    },
    {
        "corpus": "A25",
        "right": "skips_minus_one_only",
        "wrong": "skips_nothing",
        "contract": "row-minus-one",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W6"},
        "why": "the sentinel -1 is used as an address",
    },
    {
        "corpus": "A15",
        "right": "skips_negative",
        "wrong": "clamps_negative",
        "contract": "row-negative",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W6"},
        "why": "a negative slot is clamped to slot 0, which is a live one",
    },
    {
        "corpus": "A18",
        "right": "skips_negative",
        "wrong": "skips_minus_one_only",
        "contract": "row-negative",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W6"},
        "why": "only -1 is dropped, other negative slots are stored",
    },
    {
        "corpus": "A12",
        "right": "skips_nothing",
        "wrong": "skips_low",
        "contract": "row",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W2"},
        "why": "slots of live requests are taken for padding",
    },
    {
        "corpus": "D9",
        "right": "skips_beyond",
        "wrong": "skips_nothing_given_places",
        "contract": "row-beyond",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W6"},
        "why": "ids that are no places of the pool are stored all the same",
    },
    {
        "corpus": "A14",
        "right": "skips_negative",
        "wrong": "wraps_negative",
        "contract": "row-negative",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "pool": 1048576,
        "expected": {"W1", "W6"},
        "why": "a negative slot counts from the end of the pool",
    },
    {
        "corpus": "A17",
        "right": "skips_beyond",
        "wrong": "clamps_beyond",
        "contract": "row-beyond",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "pool": 1048576,
        "expected": {"W1", "W6"},
        "why": "a slot past the pool is clamped to the last place",
    },
    {
        "corpus": "D8",
        "right": "skips_nothing",
        "wrong": "folds",
        "contract": "row",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 64},
        "expected": {"W1", "W2", "W13"},
        "why": "slots are folded to fewer places than there are",
    },
)


@triton.jit
def _rows(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    places,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    HOW: tl.constexpr,
    SENTINEL: tl.constexpr,
):
    row = tl.program_id(0)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    live = col < D
    if HOW == "exactly":
        live = live & (slot != SENTINEL)
    elif HOW == "negative":
        live = live & (slot >= 0)
    elif HOW == "wrap beyond":
        slot = tl.where(slot < 0, slot + places, slot)
    elif HOW == "fold":
        slot = slot % 8
    elif HOW == "clamp":
        slot = tl.maximum(slot, 0)
    elif HOW == "low":
        live = live & (slot >= 2)
    elif HOW == "beyond":
        live = live & (slot < places)
    elif HOW == "clamp beyond":
        slot = tl.minimum(slot, places - 1)
    value = tl.load(src + row.to(tl.int64) * src_pitch + col, mask=live)
    tl.store(out + slot * out_pitch + col, value, mask=live)


def _launch(kv_buffer, loc, cache_k_nope, how, sentinel=0):
    rows, width = cache_k_nope.shape
    _rows[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        kv_buffer.shape[0] if "beyond" in how else 0,
        width,
        BLOCK=triton.next_power_of_2(width),
        HOW=how,
        SENTINEL=sentinel,
    )


def skips_nothing(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "nothing")


def skips_nothing_given_places(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "nothing beyond")


def skips_reserved(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "exactly")


def skips_ten(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "exactly", 10)


def skips_minus_one_only(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "exactly", -1)


def skips_negative(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "negative")


def clamps_negative(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "clamp")


def wraps_negative(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "wrap beyond")


def folds(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "fold")


def skips_low(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "low")


def skips_beyond(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "beyond")


def clamps_beyond(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "clamp beyond")
