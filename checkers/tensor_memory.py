"""Loads and stores of the torch domain: by rows and columns where it can be, by lane otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch

from .axes import Axes, extent
from .buffers import (
    INTEGER,
    MASKED,
    OUTSIDE,
    Buffer,
    Event,
    Store,
    distinct,
    last_of_each,
    pattern,
)
from .planes import Places, broadcast

Value = Any


@dataclass(frozen=True, eq=False)
class Touch:
    """An executed access and the first and last byte of its storage that it reaches."""

    store: bool
    arg: str
    line: str
    size: int
    places: Places
    first: int
    last: int


@dataclass
class Memory:
    """The buffers of one launch and what happened to them.

    Args:
        buffers: by kernel argument.
        grid: programs per axis.
        record: keep offsets and bits of stores into dense buffers too.
    """

    buffers: dict[str, Buffer]
    grid: tuple[int, int, int]
    record: bool = False
    stores: list[Store] = field(default_factory=list[Store])
    events: list[Event] = field(default_factory=list[Event])
    touches: list[Touch] = field(default_factory=list[Touch])

    def load(self, arg: str, places: Places | None, size: int, other: Value, line: str) -> Value:
        """Return the elements of `size` bytes, an int where there is one for all lanes.

        Args:
            arg: kernel argument; its buffer must be dense.
            places: where; None when no lane is active.
            size: bytes of an element.
            other: pattern of masked-off lanes, an int, a tensor or None (poison).
            line: file:line for events.
        """
        fill: Value = pattern(MASKED, size) if other is None else other
        if places is None:
            return fill
        buffer = self.buffers[arg]
        if places.separable:
            made = self._load_rows(buffer, arg, places, size, fill, line)
            if made is not None:
                return made
        return self._load_lanes(buffer, arg, places, size, fill, line)

    def _load_rows(
        self, buffer: Buffer, arg: str, places: Places, size: int, fill: Value, line: str
    ) -> Value | None:
        grid = extent(places.rows, places.row_mask, part=slice(0, 3))
        lanes = extent(places.columns, places.column_mask, part=slice(3, None))
        axes = Axes(places, grid, lanes)
        if axes.empty:
            return fill
        if not self._inside(buffer, arg, places, size, axes, line, store=False):
            return None
        shape = (*grid, *lanes) if lanes else (*grid, *((1,) * (places.rank - 3)))
        got = axes.gather(buffer, size)
        if axes.row_places is None and axes.column_places is None:
            return got.reshape(shape) if got.numel() > 1 or shape != (1, 1, 1) else got.item()
        if isinstance(fill, int):
            out = torch.full((axes.height, axes.width), fill, dtype=INTEGER[size])
        else:
            shape = broadcast(shape, fill.shape)
            if prod(shape) != axes.height * axes.width:
                return None
            out = fill.to(INTEGER[size]).expand(shape).reshape(axes.height, axes.width).clone()
        axes.put(out, got)
        return out.reshape(shape)

    def _load_lanes(
        self, buffer: Buffer, arg: str, places: Places, size: int, fill: Value, line: str
    ) -> Value:
        offset, mask = places.offset(), places.mask()
        shape = broadcast(offset.shape, mask.shape)
        if isinstance(fill, torch.Tensor):
            shape = broadcast(shape, fill.shape)
        active = mask.expand(shape)
        flat = offset.expand(shape)[active]
        legal = self._check(buffer, arg, flat, size, active, line, places, store=False)
        values = torch.full(flat.shape, pattern(OUTSIDE, size), dtype=INTEGER[size])
        if legal is None:
            values = buffer.gather(flat, size)
        else:
            values[legal] = buffer.gather(flat[legal], size)
        if isinstance(fill, int):
            out = torch.full(shape, fill, dtype=INTEGER[size])
        else:
            out = fill.to(INTEGER[size]).expand(shape).clone()
        out[active] = values
        return out

    def store(self, arg: str, places: Places | None, size: int, value: Value, line: str) -> None:
        """Store elements of `size` bytes; of two lanes at one place the later one wins."""
        if places is None:
            return
        buffer = self.buffers[arg]
        if not isinstance(value, torch.Tensor):
            value = torch.full((1,) * places.rank, int(value), dtype=INTEGER[size])
        value = value.to(INTEGER[size])
        value = value.reshape(*value.shape, *((1,) * (places.rank - value.dim())))
        if places.separable and self._store_rows(buffer, arg, places, size, value, line):
            return
        offset, mask = places.offset(), places.mask()
        shape = broadcast(offset.shape, mask.shape, value.shape)
        active = mask.expand(shape)
        flat = offset.expand(shape)[active]
        bits = value.expand(shape)[active]
        legal = self._check(buffer, arg, flat, size, active, line, places, store=True)
        if legal is not None:
            flat, bits = flat[legal], bits[legal]
        self._put(buffer, arg, flat, bits, size, line, different=False)

    def _store_rows(
        self, buffer: Buffer, arg: str, places: Places, size: int, value: torch.Tensor, line: str
    ) -> bool:
        grid = extent(places.rows, places.row_mask, value, part=slice(0, 3))
        lanes = extent(places.columns, places.column_mask, value, part=slice(3, None))
        axes = Axes(places, grid, lanes)
        if axes.empty:
            return True
        if not self._inside(buffer, arg, places, size, axes, line, store=True):
            return False
        bits = axes.pick(value.expand(*grid, *lanes).reshape(axes.height, axes.width))
        self._put(
            buffer,
            arg,
            axes.offsets().reshape(-1),
            bits.reshape(-1),
            size,
            line,
            different=axes.different(),
        )
        return True

    def _put(
        self,
        buffer: Buffer,
        arg: str,
        flat: torch.Tensor,
        bits: torch.Tensor,
        size: int,
        line: str,
        *,
        different: bool,
    ) -> None:
        keep = self.record or buffer.data is None
        self.stores.append(
            Store(line, arg, size, flat.numel(), flat if keep else None, bits if keep else None)
        )
        if buffer.data is None or flat.numel() == 0:
            return
        if not different and not distinct(flat):
            last = last_of_each(flat)
            flat, bits = flat[last], bits[last]
        buffer.scatter(flat, bits, size)

    def _inside(
        self,
        buffer: Buffer,
        arg: str,
        places: Places,
        size: int,
        axes: Axes,
        line: str,
        *,
        store: bool,
    ) -> bool:
        """Tell whether all of an access lies in its storage, and note where it reaches."""
        low, high = buffer.bounds(size)
        first, last = axes.reach()
        if not low <= first <= last <= high:
            return False
        self._touch(buffer, arg, places, size, first, last, line, store=store)
        return True

    def _touch(
        self,
        buffer: Buffer,
        arg: str,
        places: Places,
        size: int,
        first: int,
        last: int,
        line: str,
        *,
        store: bool,
    ) -> None:
        here = buffer.offset
        self.touches.append(
            Touch(store, arg, line, size, places, here + first * size, here + (last + 1) * size - 1)
        )

    def _check(
        self,
        buffer: Buffer,
        arg: str,
        flat: torch.Tensor,
        size: int,
        active: torch.Tensor,
        line: str,
        places: Places,
        *,
        store: bool,
    ) -> torch.Tensor | None:
        """Record what lies outside; return which of the flat offsets do not, None for all."""
        if flat.numel() == 0:
            return None
        low, high = buffer.bounds(size)
        self._touch(buffer, arg, places, size, int(flat.min()), int(flat.max()), line, store=store)
        legal = (flat >= low) & (flat <= high)
        if bool(legal.all()):
            return None
        wrong = (~legal).nonzero()[0]
        shape = active.shape
        where = active.reshape(-1).nonzero()[wrong].item()
        index = [int(i) for i in torch.unravel_index(torch.tensor(where), shape)]
        # One lazily broadcast element stands for as many lanes as it was not spread over.
        weight = prod(self.grid) // prod(shape[:3])
        kind = "store outside" if store else "load outside"
        self.events.append(
            Event(
                kind,
                line,
                arg,
                int((~legal).sum()) * weight,
                tuple(index[:3]),
                tuple(index[3:]),
                int(flat[wrong]),
                f"its storage holds elements {low} to {high}",
            )
        )
        return legal
