"""An access by rows (programs) and columns (lanes): which are active, and their offsets."""

from __future__ import annotations

from math import prod

import torch

from .buffers import Buffer
from .planes import Places, Shape, broadcast


def extent(*values: torch.Tensor | None, part: slice) -> Shape:
    """Return the broadcast shape of the grid (part 0:3) or of the lanes (part 3:)."""
    shapes = [value.shape[part] for value in values if value is not None]
    return broadcast(*shapes) or ((1, 1, 1) if part.start == 0 else ())


class Axes:
    """The active rows and columns of a separable access, as flat offsets."""

    def __init__(self, places: Places, grid: Shape, lanes: Shape) -> None:
        self.height, self.width = prod(grid), prod(lanes)
        self.row_places = _active(places.row_mask, grid, slice(0, 3))
        self.column_places = _active(places.column_mask, lanes, slice(3, None))
        self._rows = _flat(places.rows, grid, slice(0, 3), self.row_places, self.height)
        self._columns = _flat(places.columns, lanes, slice(3, None), self.column_places, self.width)
        self.empty = self._rows.numel() == 0 or self._columns.numel() == 0
        if not self.empty:
            self._ends = [*_ends(self._rows), *_ends(self._columns)]
            columns = self._columns
            self._rising = columns.numel() == 1 or bool((columns[1:] > columns[:-1]).all())
            self._base = places.base

    def reach(self) -> tuple[int, int]:
        """Return the smallest and largest offset."""
        a, b, c, d = self._ends
        return self._base + a + c, self._base + b + d

    def offsets(self) -> torch.Tensor:
        """Return the offsets, rows by columns."""
        return (self._rows + self._base if self._base else self._rows).unsqueeze(1) + self._columns

    def gather(self, buffer: Buffer, size: int) -> torch.Tensor:
        """Return the elements of a buffer at these offsets, which are legal."""
        if not self._rising or self._ends[3] - self._ends[2] + 1 != self._columns.numel():
            return buffer.gather(self.offsets(), size)
        start = self._base + self._ends[2]
        return buffer.gather_runs(
            self._rows + start if start else self._rows, self._columns.numel(), size
        )

    def different(self) -> bool:
        """Tell whether all offsets are different; False where that is not known."""
        span = self._ends[3] - self._ends[2]
        if not self._rising:
            return False
        if self._rows.numel() == 1:
            return True
        ordered = self._rows.sort().values
        return bool((ordered[1:] - ordered[:-1] > span).all())

    def pick(self, values: torch.Tensor) -> torch.Tensor:
        """Return the active part of a (height, width) tensor."""
        if self.row_places is not None:
            values = values.index_select(0, self.row_places)
        if self.column_places is None:
            return values
        start, end = _slice(self.column_places)
        if end - start == self.column_places.numel():
            return values[:, start:end]
        return values.index_select(1, self.column_places)

    def put(self, into: torch.Tensor, values: torch.Tensor) -> None:
        """Write the active part of a (height, width) tensor."""
        if self.column_places is not None:
            start, end = _slice(self.column_places)
            if end - start == self.column_places.numel():
                into = into[:, start:end]
                if self.row_places is None:
                    into.copy_(values)
                else:
                    into[self.row_places] = values
                return
        rows = torch.arange(self.height) if self.row_places is None else self.row_places
        if self.column_places is None:
            into[rows] = values
        else:
            into[rows.unsqueeze(1), self.column_places] = values


def _slice(places: torch.Tensor) -> tuple[int, int]:
    return int(places[0]), int(places[-1]) + 1


def _active(mask: torch.Tensor | None, shape: Shape, part: slice) -> torch.Tensor | None:
    """Return the active positions of a flattened mask; None for all of them."""
    if mask is None:
        return None
    flat = mask.reshape(mask.shape[part]).expand(shape).reshape(-1)
    return None if bool(flat.all()) else flat.nonzero().reshape(-1)


def _flat(
    value: torch.Tensor | None, shape: Shape, part: slice, keep: torch.Tensor | None, count: int
) -> torch.Tensor:
    if value is None:
        return torch.zeros(count if keep is None else keep.numel(), dtype=torch.int64)
    flat = value.reshape(value.shape[part]).expand(shape).reshape(-1)
    return flat if keep is None else flat[keep]


def _ends(values: torch.Tensor) -> tuple[int, int]:
    if values.numel() == 1:
        only = int(values)
        return only, only
    low, high = values.aminmax()
    return int(low), int(high)
