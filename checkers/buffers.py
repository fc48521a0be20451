"""Memory of the torch domain: byte storages that a launch reads and writes, and what it did there.

Addresses are (kernel argument, element offset). An access outside its storage does not happen: it
is recorded, and a load gives a poison pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ..spec.errors import KvproofError

#: Every byte of a load outside the storage, and of a masked-off lane without a default.
OUTSIDE = 0xA5
MASKED = 0x5A

INTEGER = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def pattern(byte: int, size: int) -> int:
    """Return an element of `size` equal bytes, as a signed number."""
    return int.from_bytes(bytes([byte]) * size, "little", signed=True)


@dataclass(eq=False)
class Buffer:
    """What a pointer argument points into.

    Args:
        data: the storage's bytes, one-dimensional uint8; None for a sparse buffer, whose stores
            are handed back instead of being made, and which cannot be loaded from.
        offset: the pointer minus the storage's start, in bytes.
        size: bytes of a sparse buffer's storage; None when its bounds are not checked.
    """

    data: torch.Tensor | None
    offset: int = 0
    size: int | None = None
    _views: dict[tuple[int, int], torch.Tensor] = field(
        default_factory=dict[tuple[int, int], torch.Tensor]
    )

    def __post_init__(self) -> None:
        """Check the storage. Raises KvproofError when it is no flat tensor of bytes."""
        if self.data is None:
            return
        if self.data.dtype != torch.uint8 or self.data.dim() != 1:
            raise KvproofError("a buffer's data is a one-dimensional uint8 tensor")
        self.size = self.data.numel()

    @staticmethod
    def of(tensor: torch.Tensor) -> Buffer:
        """Return a buffer over a CPU tensor's whole storage, shared; it starts at its data."""
        storage = tensor.untyped_storage()
        data = torch.empty(0, dtype=torch.uint8).set_(storage)
        return Buffer(data, int(tensor.storage_offset()) * tensor.element_size())

    @staticmethod
    def sparse(size: int | None = None, offset: int = 0) -> Buffer:
        """Return a buffer without memory, of `size` bytes where bounds are to be checked."""
        return Buffer(None, offset, size)

    @property
    def key(self) -> int:
        """Identify the storage: buffers of one storage have one key."""
        return id(self) if self.data is None else self.data.data_ptr()

    def bounds(self, size: int) -> tuple[int, int]:
        """Return the first and last legal element offset for elements of `size` bytes."""
        if self.size is None:
            return -(1 << 63), (1 << 63) - 1
        return -(self.offset // size), (self.size - self.offset - size) // size

    def typed(self, size: int) -> tuple[torch.Tensor, int] | None:
        """Return the storage as integers of `size` bytes and the index of offset 0 in it.

        None when the view is impossible: the storage itself starts off its alignment.
        """
        assert self.data is not None
        phase = self.offset % size
        view = self._views.get((size, phase))
        if view is None:
            whole = (self.data.numel() - phase) // size * size
            # A copy of the tensor object alone: both share the bytes.
            part = self.data[phase : phase + max(whole, 0)]
            if part.storage_offset() % size:
                return None
            view = part.view(INTEGER[size])
            self._views[size, phase] = view
        return view, self.offset // size

    def gather(self, offsets: torch.Tensor, size: int) -> torch.Tensor:
        """Return the elements of `size` bytes at legal int64 offsets, in their shape."""
        found = self.typed(size)
        if found is not None:
            view, base = found
            flat = offsets.reshape(-1)
            return view.gather(0, flat + base if base else flat).reshape(offsets.shape)
        assert self.data is not None
        places = (offsets * size + self.offset).unsqueeze(-1) + torch.arange(size)
        return self.data[places].view(INTEGER[size]).squeeze(-1)

    def gather_runs(self, starts: torch.Tensor, width: int, size: int) -> torch.Tensor:
        """Return `width` elements from each legal flat int64 start, as (starts, width)."""
        found = self.typed(size)
        if found is None:
            return self.gather(starts.unsqueeze(1) + torch.arange(width), size)
        view, base = found
        # Every run of the storage as a row of one overlapping view: rows are copied whole.
        runs = view.as_strided((view.numel() - width + 1, width), (1, 1))
        return runs.index_select(0, starts + base if base else starts)

    def scatter(self, offsets: torch.Tensor, bits: torch.Tensor, size: int) -> None:
        """Store elements at legal, distinct, flat int64 offsets."""
        found = self.typed(size)
        if found is not None:
            view, base = found
            view.scatter_(0, offsets + base if base else offsets, bits)
            return
        assert self.data is not None
        places = (offsets * size + self.offset).unsqueeze(-1) + torch.arange(size)
        self.data[places.reshape(-1)] = bits.contiguous().view(torch.uint8)


@dataclass(frozen=True)
class Event:
    """Something that a right kernel does not do.

    Args:
        kind: "load outside", "store outside", "undefined" (an op whose result the IR leaves open)
            or "order" (a load and a store of one byte by two programs).
        line: file:line of the op.
        arg: kernel argument, "" where none is concerned.
        count: lanes of all programs that did it.
        program, lane: the first of them in grid order; empty where unknown.
        offset: its element offset from the argument's pointer.
        note: what else is known.
    """

    kind: str
    line: str
    arg: str = ""
    count: int = 1
    program: tuple[int, ...] = ()
    lane: tuple[int, ...] = ()
    offset: int | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Store:
    """One executed store op.

    Args:
        line: file:line of the op.
        arg: kernel argument.
        size: bytes of one element.
        count: elements stored, the ones that a later lane of the op overwrote included.
        offsets: int64 element offsets from the argument's pointer, in grid order, programs before
            lanes; None where they were not asked for.
        bits: the patterns, in the signed integer dtype of that size; None likewise.
    """

    line: str
    arg: str
    size: int
    count: int
    offsets: torch.Tensor | None = None
    bits: torch.Tensor | None = None


@dataclass(frozen=True)
class Failure:
    """A device assert that does not hold: its line, message, count, first program and lane."""

    line: str
    message: str
    count: int
    program: tuple[int, ...]
    lane: tuple[int, ...]


def distinct(offsets: torch.Tensor) -> bool:
    """Tell whether flat offsets are all different; False may also mean that it is not known.

    Cheap for what writers store: rows that increase and do not meet.
    """
    if offsets.numel() < 2:
        return True
    breaks = (offsets[1:] <= offsets[:-1]).nonzero().reshape(-1)
    if breaks.numel() == 0:
        return True
    starts = torch.cat((offsets[:1], offsets[breaks + 1]))
    ends = torch.cat((offsets[breaks], offsets[-1:]))
    order = starts.argsort()
    return bool((starts[order][1:] > ends[order][:-1]).all())


def last_of_each(offsets: torch.Tensor) -> torch.Tensor:
    """Return the positions that survive when later elements overwrite earlier ones."""
    order = torch.sort(offsets, stable=True)
    keep = torch.ones_like(order.values, dtype=torch.bool)
    keep[:-1] = order.values[1:] != order.values[:-1]
    return order.indices[keep]
