"""What each program of a call stores, row by row: in words, and the drawing of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .programs import Call, Store, by_place, pid_text
from .rows import segment_colours
from .svg import Drawing, text_width

_LEFT: Final = 200.0
_BAR: Final = 560.0
_HIGH: Final = 30.0


@dataclass(frozen=True)
class Strip:
    """One place of the cache, and what the call has to do with it.

    Args:
        title, note: what is written beside it.
        place: the place; None where the row has none on this rank.
        row: the row that must be stored there; None where none must.
        stores: what is stored there.
        missing: (first, count) of elements that must be stored and are not.
    """

    title: str
    note: str
    place: int | None
    row: int | None
    stores: tuple[Store, ...]
    missing: tuple[tuple[int, int], ...] = ()


def strips(call: Call) -> list[Strip]:
    """Return a strip for each row of the call, then one for each further place that is stored."""
    stored = by_place(call.stores)
    found: list[Strip] = []
    homes = {call.home(row) for row in range(len(call.slots))} - {None}
    used: set[int] = set()
    for row, one in enumerate(call.slots):
        home = call.home(row)
        place, note = home, f"place {home}"
        if home is None:
            mine = one.kind == "skipped" and one.rank == call.rank and one.place not in homes
            place = one.place if mine else None
            note = "skipped: no store" if one.kind == "skipped" else f"rank {one.rank} stores it"
            if one.kind == "outside":
                note = "never passed"
        title = f"row {row}, slot {one.slot:,}"
        if place is None or place in used:
            found.append(Strip(title, note, None, None, ()))
            continue
        used.add(place)
        stores = tuple(stored.get(place, ()))
        missing = missing_of(call, row, stores) if home is not None else ()
        found.append(Strip(title, note, place, None if home is None else row, stores, missing))
    found += [
        Strip(call.name_of(place), "of no row here", place, None, tuple(stores))
        for place, stores in stored.items()
        if place not in used
    ]
    return found


def missing_of(call: Call, row: int, stores: Sequence[Store]) -> tuple[tuple[int, int], ...]:
    """Return the promised elements of a row's place that nothing of that row is stored to."""
    found: list[tuple[int, int]] = []
    mine = [store for store in stores if store.row == row]
    for piece in call.cache_row.pieces:
        at, end = piece.first, piece.first + piece.width
        for store in mine:
            if store.first + store.count <= at or store.first >= end:
                continue
            if store.first > at:
                found.append((at, store.first - at))
            at = max(at, store.first + store.count)
        if at < end:
            found.append((at, end - at))
    return tuple(_joined(found))


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans with those that meet made one."""
    made: list[tuple[int, int]] = []
    for first, count in spans:
        if made and sum(made[-1]) == first:
            made[-1] = (made[-1][0], made[-1][1] + count)
        else:
            made.append((first, count))
    return made


def told(call: Call) -> list[str]:
    """Return what the call stores, a sentence for each strip."""
    sentences: list[str] = []
    for strip in strips(call):
        head = f"{strip.title} ({strip.note})"
        parts = [_said(call, store) for store in strip.stores]
        parts += [f"elements {_span(first, count)} are not stored" for first, count in
                  strip.missing]  # fmt: skip
        sentences.append(f"{head}: {'; '.join(parts) or 'nothing is stored'}")
    return sentences


def _said(call: Call, store: Store) -> str:
    who = f"program {pid_text(store.pid, call.kernels[0].grid)}"
    said = f"{who} stores elements {_span(store.first, store.count)}"
    return said if call.is_right(store) else f"{said}, {fault_of(call, store)}"


def fault_of(call: Call, store: Store) -> str:
    """Return what is wrong with a store, in a few words."""
    if store.row is not None and call.home(store.row) == store.place and store.sample:
        return f"{store.wrong:,} of them with other bits"
    whose = "" if store.row is None or len(call.slots) < 2 else f" (elements of row {store.row})"
    if store.place < 0:
        return f"before the cache begins{whose}"
    if store.place >= call.case.pool:
        return f"past the last place of the pool{whose}"
    return f"which must not be stored here{whose}"


def _span(first: int, count: int) -> str:
    return f"{first:,}" if count == 1 else f"{first:,} to {first + count - 1:,}"


def draw_programs(call: Call, *, key: str) -> Drawing:
    """Draw what each program stores: a strip for each row, columns from left to right."""
    found = strips(call)
    row = call.cache_row
    ends = [store.first + store.count for strip in found for store in strip.stores]
    extent = max([row.end, *ends, 1])
    scale = _BAR / extent
    drawing = Drawing(
        key=key,
        width=int(_LEFT + _BAR + 16),
        title="Which program stores what",
        desc=f"{'. '.join(one[:1].upper() + one[1:] for one in told(call))}.",
    )
    y = _segments(drawing, call, scale)
    for strip in found:
        drawing.text(8, y + 13, strip.title, "b")
        covered = bool(strip.missing and strip.stores)
        note = f"{strip.note}, ! row not stored" if covered else strip.note
        drawing.text(8, y + 27, note, "bad-t" if covered else "m")
        if strip.place is None or not (strip.stores or strip.row is not None):
            drawing.rect(_LEFT, y, row.end * scale, _HIGH, "none")
            drawing.text(_LEFT + row.end * scale / 2, y + 20, "nothing is stored", "m",
                         anchor="middle")  # fmt: skip
        for store in strip.stores:
            place = (_LEFT + store.first * scale, y, store.count * scale)
            _box(drawing, call, store, place, strip.row)
        for first, count in strip.missing:
            drawing.rect(_LEFT + first * scale, y, count * scale, _HIGH, "lost",
                         first=first, elements=count)  # fmt: skip
            if text_width("! not stored") <= count * scale and not covered:
                drawing.text(_LEFT + (first + count / 2) * scale, y + 20, "! not stored", "bad-t",
                             anchor="middle")  # fmt: skip
        y += _HIGH + 12
    for offset in sorted({0, row.end, *(piece.first for piece in row.pieces)}):
        x = _LEFT + offset * scale
        drawing.line(x, y - 8, x, y - 2)
        drawing.text(x, y + 12, f"{offset:,}", "m", anchor="middle")
    drawing.text(8, y + 12, "element of the place", "m")
    return drawing


def _segments(drawing: Drawing, call: Call, scale: float) -> float:
    """Draw the segments' names above the strips; return the y below them."""
    pieces = call.cache_row.pieces
    colours = segment_colours([piece.segment for piece in pieces])
    drawing.text(8, 20, "segment", "m")
    for piece in pieces:
        x, width = _LEFT + piece.first * scale, piece.width * scale
        drawing.rect(x, 6, width, 20, colours[piece.segment])
        if text_width(piece.segment) <= width:
            drawing.text(x + width / 2, 20, piece.segment, anchor="middle")
    return 40.0


def _box(
    drawing: Drawing, call: Call, store: Store, at: tuple[float, float, float], row: int | None
) -> None:
    """Draw what one program stores in the strip of a row; `at` is x, y and width."""
    x, y, width = at
    right = call.is_right(store)
    pid = pid_text(store.pid, call.kernels[0].grid)
    said = [f"program {pid}", f"{pid}"]
    data = {"pid": pid, "place": store.place, "first": store.first, "elements": store.count}
    if right:
        drawing.rect(x, y, width, _HIGH, f"s{0 if sum(store.pid) % 2 == 0 else 3}", **data)
    else:
        drawing.hatched(x, y, width, _HIGH, "bad", **data)
        whose = "" if store.row is None or row is None else f": row {store.row}"
        said = [f"✘ program {pid}{whose}", f"✘ {pid}", "✘"]
    label = next((text for text in said if text_width(text) <= width - 2), "")
    drawing.text(x + width / 2, y + 20, label, "" if right else "bad-t halo", anchor="middle")
