"""Ownership: which rank stores a slot, and where."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "D2",
        "right": "owned",
        "wrong": "unfiltered",
        "contract": "row-sharded",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40, "WORLD": 4, "RANK": 1},
        "extra": {"world": 4, "rank": 1},
        "expected": {"W1", "W12"},
        "why": "slots are divided by the world and not filtered by rank",
    },
    {
        "corpus": "D2",
        "right": "owned",
        "wrong": "undivided",
        "contract": "row-sharded",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40, "WORLD": 4, "RANK": 1},
        "extra": {"world": 4, "rank": 1},
        "expected": {"W1", "W2"},
        "why": "slots are filtered by rank and not divided by the world",
    },
    {
        "corpus": "D2",
        "right": "owned",
        "wrong": "virtual",
        "contract": "row-sharded",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40, "WORLD": 2, "RANK": 1},
        "extra": {"world": 2, "rank": 1},
        "expected": {"W1", "W2", "W12"},
        "why": "virtual slots on a rank's own buffer",
    },
    {
        "corpus": "D4",
        "right": "virtual",
        "wrong": "filtered",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40},
        "extra": {"world": 4, "rank": 1},
        "expected": {"W2"},
        "why": "the owner rule is applied to a replicated cache",
    },
    {
        "corpus": "D2",
        "right": "owned",
        "wrong": "blocks_of_ranks",
        "contract": "row-sharded",
        "dims": {"NOPE": 24, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 40, "WORLD": 2, "RANK": 0},
        "extra": {"world": 2, "rank": 0},
        "expected": {"W1", "W2", "W12"},
        "why": "the rank is taken from pairs of slots, as in another sharding",
    },
)


@triton.jit
def _shard(
    out,
    src,
    loc,
    out_pitch,
    src_pitch,
    WORLD: tl.constexpr,
    RANK: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    FILTER: tl.constexpr,
    DIVIDE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot != 0)
    if FILTER == 1:
        mask = mask & (slot % WORLD == RANK)
    elif FILTER == 2:
        mask = mask & (slot // 2 % WORLD == RANK)
    place = slot
    if DIVIDE:
        place = slot // WORLD
    value = tl.load(src + row * src_pitch + col, mask=mask)
    tl.store(out + place * out_pitch + col, value, mask=mask)


def _launch(kv_buffer, loc, cache_k_nope, world, rank, kept, divide):
    rows, width = cache_k_nope.shape
    _shard[(rows,)](
        kv_buffer,
        cache_k_nope,
        loc,
        kv_buffer.stride(0),
        cache_k_nope.stride(0),
        WORLD=world,
        RANK=rank,
        D=width,
        BLOCK=triton.next_power_of_2(width),
        FILTER=kept,
        DIVIDE=divide,
    )


def owned(kv_buffer, loc, cache_k_nope, world, rank):
    _launch(kv_buffer, loc, cache_k_nope, world, rank, 1, divide=True)


def unfiltered(kv_buffer, loc, cache_k_nope, world, rank):
    _launch(kv_buffer, loc, cache_k_nope, world, rank, 0, divide=True)


def undivided(kv_buffer, loc, cache_k_nope, world, rank):
    _launch(kv_buffer, loc, cache_k_nope, world, rank, 1, divide=False)


def virtual(kv_buffer, loc, cache_k_nope, world, rank):
    _launch(kv_buffer, loc, cache_k_nope, world, rank, 0, divide=False)


def filtered(kv_buffer, loc, cache_k_nope, world, rank):
    _launch(kv_buffer, loc, cache_k_nope, world, rank, 1, divide=False)


def blocks_of_ranks(kv_buffer, loc, cache_k_nope, world, rank):
    _launch(kv_buffer, loc, cache_k_nope, world, rank, 2, divide=True)
