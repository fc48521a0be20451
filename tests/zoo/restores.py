"""The storing half of moves: rows of a host backup go to places of the pool."""

ZOO = (
    {
        "corpus": "D1",
        "right": "into_pages",
        "wrong": "into_pages_by_token",
        "contract": "pages",
        "dims": {"D": 6, "PAGE": 4, "PAGE_STRIDE": 24, "TOKEN_STRIDE": 6, "X_STRIDE": 8},
        "extra": {"page": 4},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((9,), (20,)),
        "expected": {"W1", "W2", "raised"},
        "why": "token ids index the pages of a buffer",
    },
    {
        "corpus": "D10",
        "right": "of_this_rank",
        "wrong": "of_this_rank_at_widened_ids",
        "contract": "row-sharded",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 8, "WORLD": 2, "RANK": 1},
        "extra": {"world": 2, "rank": 1},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((5,), (63,)),
        "expected": {"W1", "W2", "raised"},
        "why": "a rank's own buffer is indexed by ids of all ranks",
    },
    {
        "corpus": "H2",
        "right": "payload_and_scale",
        "wrong": "payload_only",
        "contract": "kv",
        "dims": {
            "K_DIM": 8,
            "V_DIM": 2,
            "K_CACHE_STRIDE": 8,
            "V_CACHE_STRIDE": 2,
            "K_STRIDE": 8,
            "V_STRIDE": 2,
        },
        "dtype": "u8",
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((5,),),
        "expected": {"W2"},
        "why": "the payload comes back and the scales stay those of another page",
    },
    {
        "corpus": "H5",
        "right": "blocks",
        "wrong": "blocks_twice_as_long",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 9, "BUFFER_STRIDE": 24, "NOPE_STRIDE": 24},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((2,),),
        "expected": {"W1"},
        "why": "three tokens of a block that holds K alone are copied as if V followed",
    },
    {
        "corpus": "H6",
        "right": "payload_and_scale",
        "wrong": "scale_at_the_old_stride",
        "contract": "kv",
        "dims": {
            "K_DIM": 8,
            "V_DIM": 2,
            "K_CACHE_STRIDE": 8,
            "V_CACHE_STRIDE": 6,
            "K_STRIDE": 8,
            "V_STRIDE": 3,
        },
        "dtype": "u8",
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((2, 4),),
        "expected": {"W1", "W2"},
        "why": "scales keep the stride of the smaller batch when the cache grows",
    },
)


def _in_pages(cache, page):
    rows, width = cache.shape
    step = cache.stride(0)
    return cache.as_strided((-(-rows // page), page, width), (page * step, step, 1))


def into_pages(cache, loc, x, page):
    keep = loc != 0
    _in_pages(cache, page)[loc[keep] // page, loc[keep] % page] = x[keep]


def into_pages_by_token(cache, loc, x, page):
    keep = loc != 0
    _in_pages(cache, page)[loc[keep], 0] = x[keep]


def of_this_rank(kv_buffer, loc, cache_k_nope, world, rank):
    mine = (loc % world == rank) & (loc != 0)
    kv_buffer[loc[mine] // world, : cache_k_nope.shape[1]] = cache_k_nope[mine]


def of_this_rank_at_widened_ids(kv_buffer, loc, cache_k_nope, world, rank):
    mine = (loc % world == rank) & (loc != 0)
    kv_buffer[loc[mine], : cache_k_nope.shape[1]] = cache_k_nope[mine]


def payload_and_scale(k_cache, v_cache, loc, k, v):
    keep = loc != 0
    k_cache[loc[keep], : k.shape[1]] = k[keep]
    v_cache[loc[keep], : v.shape[1]] = v[keep]


def payload_only(k_cache, v_cache, loc, k, v):
    keep = loc != 0
    k_cache[loc[keep], : k.shape[1]] = k[keep]


def scale_at_the_old_stride(k_cache, v_cache, loc, k, v):
    old = v_cache.as_strided(v_cache.shape, (v.shape[1], 1))
    payload_and_scale(k_cache, old, loc, k, v)


def _blocks(kv_buffer, loc, x, factor):
    for slot, row in zip(loc.tolist(), x, strict=True):
        if slot != 0:
            count = factor * row.shape[0]
            block = kv_buffer[slot].as_strided((count,), (1,))
            block[:] = row.as_strided((count,), (1,))


def blocks(kv_buffer, loc, cache_k_nope):
    _blocks(kv_buffer, loc, cache_k_nope, 1)


def blocks_twice_as_long(kv_buffer, loc, cache_k_nope):
    _blocks(kv_buffer, loc, cache_k_nope, 2)
