"""Values of the torch domain: tensors of shape (P0, P1, P2, *lanes), broadcast as late as possible.

A dimension along which a value does not change has size 1: a program id is (P0, 1, 1), a row of
column numbers (1, 1, 1, BLOCK). Python ints and bools are the same everywhere. Pointer offsets and
masks are kept as sums and conjunctions of such tensors, so that an access by rows and columns is
never spelled out lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from .domain import Unsupported
from .tensor_integers import is_plain

Value = Any
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Opaque:
    """A value that nothing is known of; whatever needs it raises `why`."""

    why: Unsupported


class Pointer:
    """An address: kernel argument, and int64 element offset as an int plus a sum of tensors."""

    __slots__ = ("arg", "base", "parts", "size")

    def __init__(self, arg: str, size: int, base: int, parts: tuple[torch.Tensor, ...]) -> None:
        self.arg = arg
        self.size = size
        self.base = base
        self.parts = parts

    def moved(self, step: Value) -> Pointer:
        """Return the pointer, moved by a number of elements (int64 or int)."""
        if isinstance(step, int):
            return Pointer(self.arg, self.size, self.base + step, self.parts)
        return Pointer(self.arg, self.size, self.base, joined(self.parts, step, torch.add))

    def each(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Pointer:
        """Return the pointer with every part reshaped."""
        return Pointer(self.arg, self.size, self.base, tuple(change(part) for part in self.parts))

    def offset(self) -> Value:
        """Return the whole offset, an int or an int64 tensor."""
        total: Value = self.base
        for part in self.parts:
            total = part + total
        return total


class Both:
    """A mask that is the conjunction of tensors."""

    __slots__ = ("_whole", "parts")

    def __init__(self, parts: tuple[torch.Tensor, ...]) -> None:
        self.parts = parts
        self._whole: torch.Tensor | None = None

    def whole(self) -> torch.Tensor:
        """Return the mask as one tensor."""
        if self._whole is None:
            self._whole = self.parts[0]
            for part in self.parts[1:]:
                self._whole = self._whole & part
        return self._whole


def joined(
    parts: tuple[torch.Tensor, ...],
    new: torch.Tensor,
    combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """Return the parts with one more, combined with a part of its kind where there is one."""
    kind = side(new)
    for position, part in enumerate(parts):
        if part.shape == new.shape or (side(part) == kind and kind != "both"):
            return (*parts[:position], combine(part, new), *parts[position + 1 :])
    return (*parts, new)


def side(value: torch.Tensor) -> str:
    """Tell whether a tensor changes with the "program", the "lane" or "both"."""
    shape = value.shape
    if prod(shape[3:]) == 1:
        return "program"
    return "lane" if shape[0] == shape[1] == shape[2] == 1 else "both"


def plain(value: Value) -> Value:
    """Return a value as an int or one tensor."""
    return value.whole() if isinstance(value, Both) else value


def to_rank(value: torch.Tensor, rank: int) -> torch.Tensor:
    """Return a tensor of scalars with lane dimensions of size 1, up to `rank`."""
    missing = rank - value.dim()
    return value.reshape(*value.shape, *((1,) * missing)) if missing > 0 else value


@dataclass(frozen=True, eq=False)
class Places:
    """Where an access goes, split into rows (programs) and columns (lanes) where it can be.

    The offset is `rows + columns + rest`, the mask `row_mask & column_mask & rest_mask`; None
    stands for 0 and for True.
    """

    rank: int
    base: int
    rows: torch.Tensor | None
    columns: torch.Tensor | None
    rest: torch.Tensor | None
    row_mask: torch.Tensor | None
    column_mask: torch.Tensor | None
    rest_mask: torch.Tensor | None

    @property
    def separable(self) -> bool:
        """Tell whether rows and columns say it all."""
        return self.rest is None and self.rest_mask is None

    def offset(self) -> torch.Tensor:
        """Return the whole offset."""
        total = torch.full((1,) * self.rank, self.base, dtype=torch.int64)
        for part in (self.rows, self.columns, self.rest):
            total = total if part is None else total + part
        return total

    def offset_shape(self) -> Shape:
        """Return the broadcast shape of the offset."""
        return _shape(self.rank, self.rows, self.columns, self.rest)

    def mask_shape(self) -> Shape:
        """Return the broadcast shape of the mask."""
        return _shape(self.rank, self.row_mask, self.column_mask, self.rest_mask)

    def mask(self) -> torch.Tensor:
        """Return the whole mask."""
        total = torch.ones((1,) * self.rank, dtype=torch.bool)
        for part in (self.row_mask, self.column_mask, self.rest_mask):
            total = total if part is None else total & part
        return total


def _shape(rank: int, *parts: torch.Tensor | None) -> Shape:
    return broadcast((1,) * rank, *(part.shape for part in parts if part is not None))


def broadcast(*shapes: Shape) -> Shape:
    """Return the common shape of shapes of one rank, in which a size of 1 gives way.

    Raises TypeError where two other sizes meet. (torch's own costs 50 µs a call.)
    """
    if not shapes:
        return ()
    first, *others = shapes
    if all(shape == first for shape in others):
        return tuple(first)
    made = list(first)
    for shape in others:
        for axis, size in enumerate(shape):
            if made[axis] != size and size != 1:
                if made[axis] != 1:
                    raise TypeError(f"shapes {first} and {shape} do not broadcast")
                made[axis] = size
    return tuple(made)


def places(pointer: Pointer, masks: tuple[Value, ...], rank: int) -> Places | None:
    """Split an access of `rank` dimensions (3 and the lanes); None when no lane is active."""
    found: dict[str, torch.Tensor] = {}
    for part in pointer.parts:
        wide = to_rank(part, rank)
        kind = side(wide)
        found[kind] = found[kind] + wide if kind in found else wide
    active: dict[str, torch.Tensor] = {}
    for mask in masks:
        if mask is True or mask is None:
            continue
        if mask is False:
            return None
        for part in mask.parts if isinstance(mask, Both) else (mask,):
            wide = to_rank(part, rank)
            kind = side(wide)
            active[kind] = active[kind] & wide if kind in active else wide
    return Places(
        rank,
        pointer.base,
        found.get("program"),
        found.get("lane"),
        found.get("both"),
        active.get("program"),
        active.get("lane"),
        active.get("both"),
    )


def each(value: Value, change: Callable[[torch.Tensor], torch.Tensor]) -> Value:
    """Change the shape of a value, whatever it is made of."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Pointer):
        return value.each(change)
    if isinstance(value, Both):
        return Both(tuple(change(part) for part in value.parts))
    return value


def conjunction(a: Value, b: Value) -> Value | None:
    """Return a mask by parts where its parts change along different sides."""
    if is_plain(a) or is_plain(b):
        return (b if a else False) if is_plain(a) else (a if b else False)
    parts = a.parts if isinstance(a, Both) else (a,)
    for part in b.parts if isinstance(b, Both) else (b,):
        if side(part) == "both":
            return None
        parts = joined(parts, part, torch.bitwise_and)
    return parts[0] if len(parts) == 1 else Both(parts)


def reshaped(part: torch.Tensor, old: Shape, new: Shape) -> torch.Tensor:
    """Reshape lanes; sizes of 1 that are only inserted or removed keep a lazy part lazy."""
    lanes = part.shape[3:]
    if prod(lanes) == 1:
        return part.reshape(*part.shape[:3], *((1,) * len(new)))
    if [size for size in old if size != 1] == [size for size in new if size != 1]:
        rest = iter(lane for lane, size in zip(lanes, old, strict=True) if size != 1)
        return part.reshape(*part.shape[:3], *(1 if size == 1 else next(rest) for size in new))
    return part.expand(*part.shape[:3], *old).reshape(*part.shape[:3], *new)
