"""What one order of programs hides: bytes stored twice, and loads of what others store.

The torch domain runs a launch op by op. That is what hardware does where no byte is loaded by one
program and stored by another; where one is, the result depends on the order and is reported.
"""

from __future__ import annotations

from math import prod

import torch

from .buffers import Event
from .planes import broadcast
from .tensor_memory import Memory, Touch


def _spelled_out(memory: Memory, touch: Touch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the byte addresses that an access reaches, and the program of each."""
    places, size = touch.places, touch.size
    lanes = broadcast(places.offset_shape(), places.mask_shape())[3:]
    shape = (*memory.grid, *lanes)
    active = places.mask().expand(shape)
    offsets = places.offset().expand(shape)[active]
    number = torch.arange(prod(memory.grid)).reshape(*memory.grid, *((1,) * (len(shape) - 3)))
    programs = number.expand(shape)[active]
    buffer = memory.buffers[touch.arg]
    low, high = buffer.bounds(size)
    legal = (offsets >= low) & (offsets <= high)
    first = offsets[legal] * size + buffer.offset
    addresses = (first.unsqueeze(1) + torch.arange(size)).reshape(-1)
    return addresses, programs[legal].repeat_interleave(size)


def _by_storage(memory: Memory) -> dict[int, list[Touch]]:
    found: dict[int, list[Touch]] = {}
    for touch in memory.touches:
        found.setdefault(memory.buffers[touch.arg].key, []).append(touch)
    return found


def bytes_stored_twice(memory: Memory) -> int:
    """Return how many bytes are stored more than once, by one op or several."""
    total = 0
    for touches in _by_storage(memory).values():
        stored = [_spelled_out(memory, touch)[0] for touch in touches if touch.store]
        if stored:
            _, counts = torch.cat(stored).unique(return_counts=True)
            total += int((counts > 1).sum())
    return total


def order_events(memory: Memory) -> list[Event]:
    """Return an event for each storage with a byte that two programs load and store."""
    events: list[Event] = []
    for touches in _by_storage(memory).values():
        stores = [touch for touch in touches if touch.store]
        loads = [touch for touch in touches if not touch.store]
        meeting = [
            touch
            for touch in loads
            if any(touch.first <= other.last and other.first <= touch.last for other in stores)
        ]
        if meeting:
            events += _ordered(memory, meeting, stores)
    return events


def _ordered(memory: Memory, loads: list[Touch], stores: list[Touch]) -> list[Event]:
    parts = [_spelled_out(memory, touch) for touch in (*loads, *stores)]
    loaded = sum(part[0].numel() for part in parts[: len(loads)])
    addresses = torch.cat([part[0] for part in parts])
    programs = torch.cat([part[1] for part in parts])
    unique, place = addresses.unique(return_inverse=True)
    count = unique.numel()
    is_load = torch.zeros(count, dtype=torch.bool)
    is_store = torch.zeros(count, dtype=torch.bool)
    is_load[place[:loaded]] = True
    is_store[place[loaded:]] = True
    low = torch.full((count,), prod(memory.grid)).scatter_reduce(0, place, programs, "amin")
    high = torch.full((count,), -1).scatter_reduce(0, place, programs, "amax")
    wrong = is_load & is_store & (low != high)
    if not bool(wrong.any()):
        return []
    touch = loads[0]
    offset = (int(unique[wrong][0]) - memory.buffers[touch.arg].offset) // touch.size
    note = "bytes that one program loads and another stores: their order decides"
    return [Event("order", touch.line, touch.arg, int(wrong.sum()), offset=offset, note=note)]
