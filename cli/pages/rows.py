"""Where a row lies in its cache and where it comes from, in elements, and the drawing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...spec.contract import Instance
from ...spec.dtypes import dtype
from ...spec.layout import page_of
from ...spec.rules import Segment
from .svg import Drawing, text_width

_BAR: Final = 600.0
_LEFT: Final = 16.0
_STUB: Final = 56.0
#: Runs of a cache's row beyond which it is told, not drawn.
_MOST: Final = 24


@dataclass(frozen=True)
class Piece:
    """A run of elements of one segment at place 0 of a cache.

    Args:
        segment: its name.
        first: elements from the start of the place.
        width: elements.
        source: argument that it comes from.
        pitch: elements from one row of the source to the next.
    """

    segment: str
    first: int
    width: int
    source: str
    pitch: int


@dataclass(frozen=True)
class CacheRow:
    """One place of a cache.

    Args:
        cache: argument.
        kind: dtype of its elements.
        size: bytes of an element.
        stride: elements from one place to the next; None where places do not follow each other.
        stride_name: how the contract writes the stride.
        pieces: its runs, in the order of their elements.
        page: places of a page; 1 where there are no pages.
        page_stride: elements from one page to the next.
    """

    cache: str
    kind: str
    size: int
    stride: int | None
    stride_name: str
    pieces: tuple[Piece, ...]
    page: int = 1
    page_stride: int = 0

    @property
    def promised(self) -> int:
        """Elements of a place that the contract speaks of."""
        return sum(piece.width for piece in self.pieces)

    @property
    def pages(self) -> str:
        """How places lie in pages, in words; empty where there are no pages."""
        if self.page == 1:
            return ""
        return (
            f"{self.page} places a page; the next page begins after {self.page_stride:,} elements"
        )

    @property
    def end(self) -> int:
        """Elements up to the end of the last run."""
        return max((piece.first + piece.width for piece in self.pieces), default=0)

    @property
    def gap(self) -> int:
        """Elements between the end of the last run and the next place."""
        return 0 if self.stride is None else self.stride - self.end

    @property
    def drawable(self) -> bool:
        """Whether the row is one stretch of memory with few enough runs."""
        return self.stride is not None and 0 < len(self.pieces) <= _MOST


def numbers(instance: Instance) -> dict[str, int]:
    """Return the dimensions as numbers; the largest of a range."""
    return {
        name: value if isinstance(value, int) else value.most
        for name, value in instance.dims.items()
    }


def cache_rows(instance: Instance) -> tuple[CacheRow, ...]:
    """Return the row of each cache of a contract in one configuration."""
    env = numbers(instance)
    return tuple(_row(instance, cache, env) for cache in instance.contract.caches())


def _row(instance: Instance, cache: str, env: Mapping[str, int]) -> CacheRow:
    mine = [segment for segment in instance.contract.segments if segment.into == cache]
    starts = [_at(segment, env, 0, 0) for segment in mine]
    base = min(starts)
    pieces: list[Piece] = []
    for segment in mine:
        for first, width in runs(
            [_at(segment, env, 0, col) for col in range(int(segment.width.evaluate(env)))]
        ):
            pitch = _begin(segment, env, 1) - _begin(segment, env, 0)
            pieces.append(Piece(segment.name, first - base, width, segment.source, pitch))
    pieces.sort(key=lambda piece: piece.first)
    step = min(_at(segment, env, 1, 0) for segment in mine) - base
    end = max((piece.first + piece.width for piece in pieces), default=0)
    page = page_of(mine, env)
    kind = instance.dtypes[cache]
    names = [name for name, value in env.items() if value == step and "STRIDE" in name]
    used = frozenset[str]().union(*(segment.at.symbols() for segment in mine))
    return CacheRow(
        cache=cache,
        kind=kind,
        size=dtype(kind).size,
        stride=step if step >= end and step > 0 else None,
        stride_name=next((name for name in names if name in used), ""),
        pieces=tuple(pieces),
        page=page,
        page_stride=min(_at(segment, env, page, 0) for segment in mine) - base,
    )


def runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, count) of each run of consecutive numbers, in the order given."""
    found: list[tuple[int, int]] = []
    for offset in offsets:
        if found and found[-1][0] + found[-1][1] == offset:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((offset, 1))
    return found


def _at(segment: Segment, env: Mapping[str, int], place: int, col: int) -> int:
    return int(segment.at.evaluate({**env, "place": place, "col": col}))


def _begin(segment: Segment, env: Mapping[str, int], row: int) -> int:
    return int(segment.begin.evaluate({**env, "row": row, "col": 0}))


def describe(row: CacheRow) -> str:
    """Return a row in one sentence, as its drawing says it."""
    parts = [
        f"{piece.segment} takes elements {piece.first:,} to {piece.first + piece.width - 1:,} "
        f"({piece.width:,}) from {piece.source}, whose rows are {piece.pitch:,} elements apart"
        for piece in row.pieces[:_MOST]
    ]
    if row.stride is not None:
        gap = f"a gap of {row.gap:,} elements" if row.gap else "no gap"
        parts.append(
            f"the next place begins after {row.stride:,} elements "
            f"({row.stride * row.size:,} bytes), with {gap}"
        )
    if row.pages:
        parts.append(row.pages)
    return f"One place of {row.cache} ({row.kind}): {'; '.join(parts)}."


def draw_row(row: CacheRow, *, key: str) -> Drawing:
    """Draw one place of a cache to scale: sources above, segments, gap and stride below."""
    assert row.stride is not None
    scale = _BAR / row.stride
    drawing = Drawing(key=key, width=712, title=f"One row of {row.cache}", desc=describe(row))
    colours = segment_colours([piece.segment for piece in row.pieces])
    y = 14.0
    arrows: list[tuple[float, float]] = []
    for piece in row.pieces:
        x, width = _LEFT + piece.first * scale, piece.width * scale
        y = _source(drawing, piece, x, width, y, colours[piece.segment])
        arrows.append((x + width / 2, y - 20))
    top = y + 26
    for x, start in arrows:
        drawing.line(x, start, x, top - 2, "arrow")
    label = f"{row.cache}, place p"
    drawing.text(_LEFT, top - 8, label, "b halo")
    for piece in row.pieces:
        x, width = _LEFT + piece.first * scale, piece.width * scale
        drawing.rect(
            x, top, width, 38, colours[piece.segment],
            segment=piece.segment, first=piece.first, elements=piece.width,
        )  # fmt: skip
        said = f"{piece.segment} {piece.width:,}"
        if text_width(said) <= width:
            drawing.text(x + width / 2, top + 23, said, "b", anchor="middle")
        elif text_width(piece.segment) <= width:
            drawing.text(x + width / 2, top + 23, piece.segment, "b", anchor="middle")
    if row.gap:
        x, width = _LEFT + row.end * scale, row.gap * scale
        drawing.hatched(x, top, width, 38, "gap", segment="", first=row.end, elements=row.gap)
        if text_width(f"gap {row.gap:,}") <= width:
            drawing.text(x + width / 2, top + 23, f"gap {row.gap:,}", "halo", anchor="middle")
    drawing.rect(_LEFT + _BAR + 4, top, _STUB, 38, "none")
    drawing.text(_LEFT + _BAR + 4 + _STUB / 2, top + 23, "p + 1", "m", anchor="middle")
    _ticks(drawing, row, scale, top + 38)
    return drawing


def _source(drawing: Drawing, piece: Piece, x: float, width: float, y: float, colour: str) -> float:
    """Draw a source's row above the place it goes to; return the y below it."""
    said = f"{piece.source}, row r"
    more = f"next row {piece.pitch:,} elements on"
    if x + text_width(f"{said}: {more}") <= drawing.width:
        drawing.text(x, y, said, "b halo")
        drawing.text(x + text_width(said) + 6, y, more, "m halo")
    else:
        right = min(x + width + _STUB, drawing.width - 4)
        drawing.text(right, y, said, "b halo", anchor="end")
        drawing.text(right - text_width(said) - 8, y, more, "m halo", anchor="end")
    drawing.rect(x, y + 8, width, 20, colour, source=piece.source, elements=piece.width)
    if piece.pitch > piece.width:
        drawing.hatched(x + width, y + 8, 28, 20, "gap")
    return y + 50


def _ticks(drawing: Drawing, row: CacheRow, scale: float, y: float) -> None:
    """Write offsets below the row, and the stride below them."""
    assert row.stride is not None
    last = -100.0
    places = {piece.first for piece in row.pieces} | {row.end, row.stride}
    for offset in sorted(places):
        x = _LEFT + offset * scale
        drawing.line(x, y, x, y + 6)
        if x - last >= text_width(f"{offset:,}") + 8 or offset == row.stride:
            drawing.text(x, y + 19, f"{offset:,}", "m", anchor="middle")
            last = x
    y += 34
    drawing.line(_LEFT + _BAR, y, _LEFT, y, "arrow")
    drawing.line(_LEFT, y, _LEFT + _BAR, y, "arrow")
    name = f"{row.stride_name} = " if row.stride_name else ""
    said = f"{name}{row.stride:,} elements of {row.kind}, {row.stride * row.size:,} bytes"
    drawing.text(_LEFT + _BAR / 2, y + 18, said, anchor="middle")
    if row.pages:
        drawing.text(_LEFT + _BAR / 2, y + 36, row.pages, "m", anchor="middle")


def segment_colours(names: Sequence[str]) -> dict[str, str]:
    """Return a CSS class for each segment, in the order in which they come."""
    order = list(dict.fromkeys(names))
    return {name: f"s{number % 4}" for number, name in enumerate(order)}
