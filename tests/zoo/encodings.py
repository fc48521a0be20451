"""What bits are stored: copies, casts, and the kernels that touch the values."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "G4",
        "right": "cast",
        "wrong": "cast_clamped_early",
        "contract": "row-fp8",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "dtype": {"cache_k_nope": "bf16", "kv_buffer": "f8e4m3fn"},
        "expected": {"W10"},
        "why": "values saturate one binade early, at 240",
    },
    {
        "corpus": "G3",
        "right": "copy",
        "wrong": "copy_by_value",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "dtype": {"cache_k_nope": "f16", "kv_buffer": "bf16"},
        "expected": {"W10"},
        "why": "bits that belong to another format are converted by value",
    },
    {
        "corpus": "G15",
        "right": "copy",
        "wrong": "copy_plus_zero",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "dtype": "f32",
        "expected": {"W10"},
        "why": "-0.0 is lost, and a NaN's payload may be",
    },
    {
        "corpus": "G13",
        "right": "copy",
        "wrong": "copy_clamped",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "dtype": "f32",
        "expected": {"W10"},
        "why": "values are clamped to the largest finite value of another format",
    },
)


@triton.jit
def _encode(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    HOW: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot != 0)
    value = tl.load(src + row * src_pitch + col, mask=mask)
    if HOW == "bits":
        value = value.to(out.dtype.element_ty, bitcast=True)
    elif HOW == "early":
        value = tl.where(value > 240.0, 240.0, value).to(out.dtype.element_ty)
    elif HOW == "zero":
        value += 0.0
    elif HOW == "clamp":
        value = tl.where(value > 57344.0, 57344.0, value)
    else:
        value = value.to(out.dtype.element_ty)
    tl.store(out + slot * out_pitch + col, value, mask=mask)


def _launch(kv_buffer, loc, cache_k_nope, how):
    rows, width = cache_k_nope.shape
    _encode[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        HOW=how,
    )


def cast(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "cast")


def cast_clamped_early(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "early")


def copy(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "bits")


def copy_by_value(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "value")


def copy_plus_zero(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "zero")


def copy_clamped(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "clamp")
