"""Products that wrap: slots, rows, heads and strides in 32 bits."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "B1",
        "right": "wide",
        "wrong": "narrow_slot",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 576, "NOPE_STRIDE": 64},
        "slots": "i32",
        "expected": {"W4"},
        "why": "a 32-bit slot times the row stride is a 32-bit product",
    },
    {
        "corpus": "B2",
        "right": "wide",
        "wrong": "narrow_cast",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 576, "NOPE_STRIDE": 64},
        "pool": 1_073_741_824,
        "expected": {"W4"},
        "why": "64-bit slots are cut to 32 bits before the product",
    },
    {
        "corpus": "B4",
        "right": "wide",
        "wrong": "narrow_row",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 40, "BUFFER_STRIDE": 48, "NOPE_STRIDE": 16_384},
        "expected": {"W4"},
        "why": "the source's row offset is left in 32 bits in a kernel that widens elsewhere",
    },
    {
        "corpus": "B5",
        "right": "wide",
        "wrong": "narrow_flat",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 128, "BUFFER_STRIDE": 524_288, "NOPE_STRIDE": 128},
        "slots": "i32",
        "pool": 65_536,
        "expected": {"W4"},
        "why": "the flat element offset of index 4096 and beyond needs 32 bits and a sign",
    },
    {
        "corpus": "B7",
        "right": "wide",
        "wrong": "narrow_slot",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 8, "BUFFER_STRIDE": 1_073_741_824, "NOPE_STRIDE": 8},
        "slots": "i32",
        "pool": 64,
        "expected": {"W4"},
        "why": "index 4 times a stride of 2**30 is 0 in 32 bits",
    },
    {
        "corpus": "B7",
        "right": "wide",
        "wrong": "narrow_unsigned",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 8, "BUFFER_STRIDE": 1_073_741_824, "NOPE_STRIDE": 8},
        "slots": "i32",
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((5,),),
        "expected": {"W2", "W4"},
        "why": "the same with unsigned numbers, which the rule of W4 does not read as such",
    },
)


@triton.jit
def _width(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    HOW: tl.constexpr,
):
    row = tl.program_id(0)
    slot = tl.load(loc + row)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot != 0)
    if HOW != "row":
        row = row.to(tl.int64)
    if HOW == "cast":
        at = slot.to(tl.int32) * out_pitch + col
    elif HOW == "unsigned":
        at = (slot.to(tl.uint32) * out_pitch.to(tl.uint32)).to(tl.int64) + col
    elif HOW == "flat":
        at = (slot * out_pitch + col).to(tl.int64)
    elif HOW == "slot":
        at = slot * out_pitch + col
    else:
        at = slot.to(tl.int64) * out_pitch + col
    tl.store(out + at, tl.load(src + row * src_pitch + col, mask=mask), mask=mask)


def _launch(kv_buffer, loc, cache_k_nope, how):
    rows, width = cache_k_nope.shape
    _width[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        HOW=how,
    )


def wide(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "wide")


def narrow_slot(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "slot")


def narrow_unsigned(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "unsigned")


def narrow_cast(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "cast")


def narrow_row(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "row")


def narrow_flat(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "flat")
