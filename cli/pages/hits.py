"""What a counterexample hits: rows of the call, places of the cache, and the drawing of both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .calls import missing_of, told
from .programs import Call, Store, by_place
from .svg import Drawing, text_width


@dataclass(frozen=True)
class Cell:
    """One place of the cache in a counterexample.

    Args:
        place: its number.
        kind: "right", "bad" (stored and must not be), "bits" (stored with other bits), "lost"
            (must be stored and is not), "kept" (neither) or "outside" (stored outside the cache).
        lines: what is written in it.
        rows: (row, whether it may) that are stored there.
    """

    place: int
    kind: str
    lines: tuple[str, ...]
    rows: tuple[tuple[int, bool], ...]


def cells(call: Call) -> list[Cell]:
    """Return the places that a counterexample touches or should touch, and those of a small pool.

    At most twelve; places in between are left out.
    """
    stored = by_place(call.stores)
    homes = {home for row in range(len(call.slots)) if (home := call.home(row)) is not None}
    shown = set(stored) | homes | set(range(call.case.pool if call.case.pool <= 4 else 1))
    return [
        _hit(call, place, stored.get(place, []), promised=place in homes)
        for place in sorted(shown)[:12]
    ]


def _hit(call: Call, place: int, stores: Iterable[Store], *, promised: bool) -> Cell:
    mine = list(stores)
    owner = call.owner(place)
    only = 0 if len(call.slots) == 1 else None
    rows = {only if store.row is None else store.row for store in mine} - {None}
    pairs = tuple(
        (row, call.home(row) == place and all(call.is_right(s) for s in mine))
        for row in sorted(row for row in rows if row is not None)
    )
    count = sum(store.count for store in mine)
    elements = f"{count:,} elements"
    if not 0 <= place < call.case.pool:
        where = "before the cache" if place < 0 else "past the pool"
        return Cell(place, "outside", ("✘ stored", elements, where), pairs)
    if not mine:
        if promised:
            return Cell(place, "lost", ("! not stored", f"row {owner} belongs", "here"), ())
        return Cell(place, "kept", ("unchanged",), ())
    if owner is None or any(store.row not in (owner, None) for store in mine):
        return Cell(place, "bad", ("✘ stored", elements), pairs)
    wrong = sum(store.wrong for store in mine)
    lost = sum(count for _, count in missing_of(call, owner, mine))
    lines = (f"✘ {wrong:,} with other bits" if wrong else "", f"! {lost:,} not stored")
    if wrong or lost:
        kind = "bits" if wrong else "lost"
        said = tuple(line for line in (lines if lost else lines[:1]) if line)
        return Cell(place, kind, (*said, f"of {call.cache_row.promised:,}"), pairs)
    return Cell(place, "right", ("as promised", elements), pairs)


def is_broken(call: Call) -> bool:
    """Tell whether a call stores what it must not, or not all that it must."""
    return any(cell.kind not in ("right", "kept") for cell in cells(call))


_KIND: Final = {"right": "s3", "kept": "cell", "lost": "lost"}


def draw_hits(call: Call, *, key: str) -> Drawing:
    """Draw a counterexample: the rows of the call, and the places of the cache that they hit."""
    found = cells(call)
    names = [call.name_of(cell.place) for cell in found]
    wide = max(140.0, *(text_width(name) + 16 for name in names))
    gaps = [b.place - a.place > 1 for a, b in pairwise(found)]
    total = len(found) * wide + 30 * sum(gaps)
    box = max(132.0, *(text_width(f"row {row}, slot {one.slot:,}") + 20 for row, one in
                       enumerate(call.slots)))  # fmt: skip
    rank = f" of rank {call.rank}" if call.world > 1 else ""
    below = f"{call.cache}{rank}: a pool of {_counted(call.case.pool)}"
    words = max(text_width(text) for text in (below, _heading(call)))
    width = max(total, len(call.slots) * (box + 12), words) + 24
    drawing = Drawing(key=key, width=int(width), title="Counterexample", desc=hits_text(call))
    drawing.text(12, 14, _heading(call), "b")
    tops: dict[int, float] = {}
    for row in range(len(call.slots)):
        x = 12 + row * (box + 12)
        _row_box(drawing, call, row, x, box)
        tops[row] = x + box / 2
    y = 134.0
    x = 12.0
    spots: list[tuple[Cell, float]] = []
    for number, cell in enumerate(found):
        spots.append((cell, x))
        x += wide
        if number < len(gaps) and gaps[number]:
            drawing.text(x + 11, y + 36, "⋯", "b", anchor="middle")
            x += 30
    for cell, left in spots:
        for row, allowed in cell.rows:
            end = left + wide / 2 - 2
            drawing.line(tops[row], 76, end, y - 3, "arrow" if allowed else "arrow-bad")
    for cell, left in spots:
        _cell(drawing, cell, call.name_of(cell.place), left, y, wide - 4)
    drawing.text(12, y + 92, below, "m")
    return drawing


def _counted(pool: int) -> str:
    return "1 place" if pool == 1 else f"{pool:,} places"


def _heading(call: Call) -> str:
    count = len(call.slots)
    rows = "one row" if count == 1 else f"{count} rows"
    return f"A call with {rows}" + (f" on rank {call.rank} of {call.world}" if call.world > 1
                                    else "")  # fmt: skip


def _row_box(drawing: Drawing, call: Call, row: int, x: float, width: float) -> None:
    one = call.slots[row]
    kind = "skip" if one.kind == "skipped" else "cell"
    add = drawing.hatched if kind == "skip" else drawing.rect
    add(x, 24, width, 50, kind, row=row, slot=one.slot)
    css = "halo" if kind == "skip" else ""
    drawing.text(x + width / 2, 45, f"row {row}, slot {one.slot:,}", f"b {css}".strip(),
                 anchor="middle")  # fmt: skip
    home = call.home(row)
    said = f"belongs in place {home:,}" if home is not None else "must be dropped"
    if home is None and one.kind == "stored":
        said = f"belongs to rank {one.rank}"
    drawing.text(x + width / 2, 63, said, css or "m", anchor="middle")


def _cell(drawing: Drawing, cell: Cell, name: str, x: float, y: float, width: float) -> None:
    data = {"place": cell.place, "state": cell.kind}
    if cell.kind in _KIND:
        drawing.rect(x, y, width, 72, _KIND[cell.kind], **data)
    else:
        drawing.hatched(x, y, width, 72, "bad", **data)
    middle = x + width / 2
    bad = cell.kind not in ("right", "kept")
    css = "halo" if bad else ""
    drawing.text(middle, y + 18, name, f"b {css}".strip(), anchor="middle")
    for number, line in enumerate(cell.lines):
        kind = "bad-t halo" if bad and number == 0 else css or "m"
        drawing.text(middle, y + 36 + 15 * number, line, kind, anchor="middle")


def hits_text(call: Call) -> str:
    """Return a counterexample in sentences, as its drawing says it."""
    parts = [f"{_heading(call)}, in a pool of {_counted(call.case.pool)}"]
    parts += told(call)
    return f"{'. '.join(part[:1].upper() + part[1:] for part in parts)}."
