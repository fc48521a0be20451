"""Host code around a writer: padded batches, buffers that persist, copies that wait.

`cache_k_nope` may hold more rows than the slot table: the batch is padded to a size that a graph
was captured for, and the slot table is a view of a buffer that persists, with stale slots behind.
"""

import torch

ZOO = (
    {
        "corpus": "A22",
        "right": "counts_slots",
        "wrong": "counts_keys",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "surplus": 5,
        "inputs": ((3, 4, 5),),
        "expected": {"W7"},
        "why": "rows are counted by the keys, which are padded, and not by the slot table",
    },
    {
        "corpus": "A9",
        "right": "clears_then_copies",
        "wrong": "copies_then_clears",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "surplus": 3,
        "inputs": ((),),
        "expected": {"W7"},
        "why": "stale slots are cleared after the writer's metadata has copied them",
    },
    {
        "corpus": "A19",
        "right": "clears_then_copies",
        "wrong": "repeats_the_last",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "surplus": 3,
        "inputs": ((2, 5),),
        "expected": {"W8"},
        "why": "padding rows repeat a live slot, and their content wins",
    },
    {
        "corpus": "A8",
        "right": "warms_up_dropped",
        "wrong": "warms_up_in_slot_zero",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((0,), (1, 2)),
        "expected": {"W1", "W6"},
        "why": "the dummy batch of a capture is stored through a table of zeros",
    },
    {
        "corpus": "A24",
        "right": "replays",
        "wrong": "replays_what_was_baked_in",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((1,), (2,)),
        "expected": {"W2"},
        "why": "a replay stores into the cache of the capture, and not into the call's",
    },
    {
        "corpus": "I5",
        "right": "staged_apart",
        "wrong": "staged_together",
        "contract": "mla-row-norope",
        "dims": {"NOPE": 6, "BUFFER_STRIDE": 8, "NOPE_STRIDE": 10},
        "decided": "runs",
        "pool": 64,
        "rows": 16,
        "inputs": ((1, 2, 3),),
        "expected": {"W2"},
        "why": "a host buffer is filled again while the copy from it still waits",
    },
)


def _store(kv_buffer, slots, x):
    for slot, row in zip(slots.tolist(), x, strict=True):
        if slot != 0:
            kv_buffer[slot, : x.shape[1]] = row


def _persistent(loc, rows):
    return loc.as_strided((rows,), loc.stride())


def counts_slots(kv_buffer, loc, cache_k_nope):
    _store(kv_buffer, loc, cache_k_nope[: loc.shape[0]])


def counts_keys(kv_buffer, loc, cache_k_nope):
    _store(kv_buffer, _persistent(loc, cache_k_nope.shape[0]), cache_k_nope)


def clears_then_copies(kv_buffer, loc, cache_k_nope):
    slots = _persistent(loc, cache_k_nope.shape[0]).clone()
    slots[loc.shape[0] :] = 0
    metadata = slots.clone()
    _store(kv_buffer, metadata, cache_k_nope)


def copies_then_clears(kv_buffer, loc, cache_k_nope):
    slots = _persistent(loc, cache_k_nope.shape[0]).clone()
    metadata = slots.clone()
    slots[loc.shape[0] :] = 0
    _store(kv_buffer, metadata, cache_k_nope)


def repeats_the_last(kv_buffer, loc, cache_k_nope):
    slots = _persistent(loc, cache_k_nope.shape[0]).clone()
    slots[loc.shape[0] :] = loc[-1] if loc.shape[0] else 0
    _store(kv_buffer, slots, cache_k_nope)


_CAPTURED = set()


def _warm_up(kv_buffer, loc, x, dummy):
    """Capture a graph first, with a dummy batch of one row."""
    graph = kv_buffer.shape[0], loc.shape[0]
    if graph not in _CAPTURED:
        _CAPTURED.add(graph)
        if dummy >= 0:
            kv_buffer[dummy, : x.shape[1]] = 0.0
    _store(kv_buffer, loc, x)


def warms_up_dropped(kv_buffer, loc, cache_k_nope):
    _warm_up(kv_buffer, loc, cache_k_nope, -1)


def warms_up_in_slot_zero(kv_buffer, loc, cache_k_nope):
    _warm_up(kv_buffer, loc, cache_k_nope, 0)


_GRAPHS = {}


def _replay(kv_buffer, loc, x, *, anew):
    graph = _GRAPHS.setdefault((kv_buffer.shape[0], loc.shape[0]), {"cache": kv_buffer})
    if anew:
        graph["cache"] = kv_buffer
    _store(graph["cache"], loc, x)


def replays(kv_buffer, loc, cache_k_nope):
    _replay(kv_buffer, loc, cache_k_nope, anew=True)


def replays_what_was_baked_in(kv_buffer, loc, cache_k_nope):
    _replay(kv_buffer, loc, cache_k_nope, anew=False)


def _staged(kv_buffer, loc, x, buffers):
    """Copy slots in parts of two rows; the stream runs when all copies are enqueued."""
    stream = []
    for part, first in enumerate(range(0, loc.shape[0], 2)):
        slots = loc[first : first + 2]
        staging = buffers[part % len(buffers)]
        staging[: slots.shape[0]] = slots
        stream.append((staging[: slots.shape[0]], x[first : first + 2]))
    for slots, rows in stream:
        _store(kv_buffer, slots, rows)


def staged_apart(kv_buffer, loc, cache_k_nope):
    _staged(kv_buffer, loc, cache_k_nope, torch.empty((loc.shape[0] // 2 + 1, 2), dtype=loc.dtype))


def staged_together(kv_buffer, loc, cache_k_nope):
    _staged(kv_buffer, loc, cache_k_nope, torch.empty((1, 2), dtype=loc.dtype))
