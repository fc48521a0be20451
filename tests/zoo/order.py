"""Order: bytes stored twice, loads above the dependency wait."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "I3",
        "right": "once",
        "wrong": "twice",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "expected": {"W13"},
        "why": "the same bytes are stored twice in one program",
    },
    {
        "corpus": "I7",
        "right": "once",
        "wrong": "by_two_programs",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "expected": {"W13"},
        "why": "two programs store the same row",
    },
    {
        "corpus": "I7",
        "right": "once",
        "wrong": "to_one_place",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "expected": {"W2", "W7", "W8", "W13"},
        "why": "every program stores at the slot of the first row",
    },
    {
        "corpus": "I1",
        "right": "waits",
        "wrong": "waits_late",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "expected": {"W15"},
        "why": "the slot is read above the dependency wait",
    },
)


@triton.jit
def _store(
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
    at = row
    if HOW == "one place":
        at = row * 0
    slot = tl.load(loc + at).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot != 0)
    value = tl.load(src + row * src_pitch + col, mask=mask)
    tl.store(out + slot * out_pitch + col, value, mask=mask)
    if HOW == "twice":
        tl.store(out + slot * out_pitch + col, value, mask=mask & (col < 8))


def _launch(kv_buffer, loc, cache_k_nope, how="", programs=1):
    rows, width = cache_k_nope.shape
    _store[(rows, programs)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        HOW=how,
    )


def once(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope)


def twice(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "twice")


def by_two_programs(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, programs=2)


def to_one_place(kv_buffer, loc, cache_k_nope):
    _launch(kv_buffer, loc, cache_k_nope, "one place")


@triton.jit
def _waiting(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    if EARLY:
        slot = tl.load(loc + row).to(tl.int64)
        tl.extra.cuda.gdc_wait()
    else:
        tl.extra.cuda.gdc_wait()
        slot = tl.load(loc + row).to(tl.int64)
    mask = (col < D) & (slot != 0)
    value = tl.load(src + row * src_pitch + col, mask=mask)
    tl.store(out + slot * out_pitch + col, value, mask=mask)
    tl.extra.cuda.gdc_launch_dependents()


def _dependent(kv_buffer, loc, cache_k_nope, early):
    rows, width = cache_k_nope.shape
    _waiting[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        EARLY=early,
        launch_pdl=True,
    )


def waits(kv_buffer, loc, cache_k_nope):
    _dependent(kv_buffer, loc, cache_k_nope, early=False)


def waits_late(kv_buffer, loc, cache_k_nope):
    _dependent(kv_buffer, loc, cache_k_nope, early=True)
