"""Host code that takes a cache, a source or the slots through another view, or by another rule."""

import torch

ZOO = (
    {
        "corpus": "C7",
        "right": "by_index",
        "wrong": "from_the_start_of_storage",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((2,),),
        "expected": {"W1", "W2"},
        "why": "a view is made again without its storage offset, so all layers share one place",
    },
    {
        "corpus": "C11",
        "right": "transposed",
        "wrong": "as_it_comes",
        "contract": "state-transposed",
        "dims": {"K": 2, "V": 2, "POOL_STRIDE": 6, "S_STRIDE": 4},
        "extra": {"k": 2, "v": 2},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((3,),),
        "expected": {"W9"},
        "why": "the state is stored K-major, and the pool is V-major",
    },
    {
        "corpus": "C15",
        "right": "by_index",
        "wrong": "at_the_stride_of_one_head",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "middle": 1,
        "inputs": ((3,),),
        "expected": {"W1", "W2"},
        "why": "rows are placed by the stride of a dimension of size 1, which means nothing",
    },
    {
        "corpus": "D6",
        "right": "by_index",
        "wrong": "by_half_slots",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((5, 7),),
        "expected": {"W2"},
        "why": "64-bit slots are read as pairs of 32-bit ones",
    },
    {
        "corpus": "D12",
        "right": "by_runs",
        "wrong": "by_runs_of_ends",
        "contract": "row",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 8,
        "rows": 3,
        "cases": 200,
        "inputs": ((1, 2, 7, 4),),
        "expected": {"W1", "W2"},
        "why": "slots whose ends fit are copied as one run without a look at those between",
    },
    {
        "corpus": "D3",
        "right": "checks_virtual_slots",
        "wrong": "checks_places",
        "contract": "row-sharded",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 8, "WORLD": 4, "RANK": 1},
        "extra": {"world": 4, "rank": 1},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((15,), (16,)),
        "expected": {"raised"},
        "why": "virtual slots are compared with the places of one rank",
    },
    {
        "corpus": "G1",
        "right": "as_fp8",
        "wrong": "as_numbers",
        "contract": "row-fp8",
        "dims": {"NOPE": 2, "BUFFER_STRIDE": 3, "NOPE_STRIDE": 4},
        "dtype": {"cache_k_nope": "bf16", "kv_buffer": "f8e4m3fn"},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((1, 2),),
        "expected": {"W10"},
        "why": "values are converted to the integer type of the cache's bytes",
    },
)


def by_index(kv_buffer, loc, cache_k_nope):
    keep = loc != 0
    kv_buffer[loc[keep].long(), ..., : cache_k_nope.shape[-1]] = cache_k_nope[keep]


def from_the_start_of_storage(kv_buffer, loc, cache_k_nope):
    by_index(kv_buffer.as_strided(kv_buffer.shape, kv_buffer.stride(), 0), loc, cache_k_nope)


def at_the_stride_of_one_head(kv_buffer, loc, cache_k_nope):
    rows, heads, width = kv_buffer.shape
    flat = kv_buffer.as_strided((rows * heads, width), (kv_buffer.stride(1), 1))
    by_index(flat, loc, cache_k_nope[:, 0])


def by_half_slots(kv_buffer, loc, cache_k_nope):
    by_index(kv_buffer, loc.view(torch.int32)[: loc.shape[0]], cache_k_nope)


def transposed(pool, loc, s, k, v):
    keep = loc != 0
    states = s[keep].unflatten(1, (k, v)).transpose(1, 2)
    pool[loc[keep], : k * v] = states.flatten(1)


def as_it_comes(pool, loc, s, k, v):
    keep = loc != 0
    pool[loc[keep], : k * v] = s[keep]


def _by_runs(kv_buffer, loc, x, is_run):
    slots, width = loc.tolist(), x.shape[1]
    if slots and is_run(slots):
        kv_buffer[slots[0] : slots[-1] + 1, :width] = x
        return
    for slot, row in zip(slots, x, strict=True):
        kv_buffer[slot, :width] = row


def by_runs(kv_buffer, loc, cache_k_nope):
    def is_run(slots):
        return slots == list(range(slots[0], slots[-1] + 1))

    _by_runs(kv_buffer, loc, cache_k_nope, is_run)


def by_runs_of_ends(kv_buffer, loc, cache_k_nope):
    def is_run(slots):
        return slots[-1] - slots[0] == len(slots) - 1

    _by_runs(kv_buffer, loc, cache_k_nope, is_run)


def _checked(kv_buffer, loc, x, world, rank, most):
    if loc.numel() and int(loc.max()) >= most:
        raise IndexError(f"slot {int(loc.max())} of {most}")
    mine = (loc % world == rank) & (loc != 0)
    kv_buffer[loc[mine] // world, : x.shape[1]] = x[mine]


def checks_virtual_slots(kv_buffer, loc, cache_k_nope, world, rank):
    _checked(kv_buffer, loc, cache_k_nope, world, rank, kv_buffer.shape[0] * world)


def checks_places(kv_buffer, loc, cache_k_nope, world, rank):
    _checked(kv_buffer, loc, cache_k_nope, world, rank, kv_buffer.shape[0])


def as_fp8(kv_buffer, loc, cache_k_nope):
    by_index(kv_buffer.view(torch.uint8), loc, _codes(cache_k_nope))


def _codes(x):
    most = torch.finfo(torch.float8_e4m3fn).max
    codes = x.clamp(-most, most).to(torch.float8_e4m3fn).view(torch.uint8)
    return torch.where(x.isnan(), 0x7F, codes)


def as_numbers(kv_buffer, loc, cache_k_nope):
    by_index(kv_buffer.view(torch.uint8), loc, cache_k_nope.to(torch.uint8))
