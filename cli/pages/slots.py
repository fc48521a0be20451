"""The slot map: which slots are stored, where, by whom; and its drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...spec.contract import WriterContract
from ...spec.reference import holds, skipped
from ...spec.rules import Reserved
from .svg import Drawing, text_width

_CELL: Final = 76.0
_HIGH: Final = 56.0
#: A pool that is large enough to show every kind of slot.
POOL: Final = 4


@dataclass(frozen=True)
class Slot:
    """What a contract says of one slot of the table.

    Args:
        slot: the number in the slot table.
        kind: "stored", "skipped" or "outside" (the caller promises that it is never passed).
        rank: the rank that stores it; None unless it is stored.
        place: its place on that rank; None likewise.
        why: the rule that skips it, in words.
        reserved: whether that rule keeps the slot for padding rows.
    """

    slot: int
    kind: str
    rank: int | None = None
    place: int | None = None
    why: str = ""
    reserved: bool = False


def slot_of(contract: WriterContract, slot: int, *, world: int, pool: int) -> Slot:
    """Return what a contract says of a slot, with `pool` places on each of `world` ranks."""
    env = {"slot": slot, "WORLD": world, "RANK": 0, "POOL": pool}
    home = home_of(contract, slot, world=world)
    rule = skipped(contract.skip, {**env, "place": -1 if home is None else home[1]})
    if rule is not None:
        rank, place = home or (None, None)
        return Slot(slot, "skipped", rank, place, rule.sentence, isinstance(rule, Reserved))
    if not 0 <= slot < pool * world or home is None:
        return Slot(slot, "outside")
    return Slot(slot, "stored", *home)


def home_of(contract: WriterContract, slot: int, *, world: int) -> tuple[int, int] | None:
    """Return (rank, place) of a legal slot; None below zero, or where no rank owns it."""
    if slot < 0:
        return None
    owned = contract.owner.owned
    for rank in range(world):
        env = {"slot": slot, "WORLD": world, "RANK": rank}
        if owned is None or holds(owned, env):
            return rank, int(contract.owner.place.evaluate(env))
    return None


def slot_map(contract: WriterContract, *, world: int, pool: int = POOL) -> tuple[Slot, ...]:
    """Return every slot from the one below zero to the one past the pool."""
    if world == 1:
        pool = max(pool, 6)
    return tuple(
        slot_of(contract, slot, world=world, pool=pool) for slot in range(-1, pool * world + 1)
    )


def describe(slots: Sequence[Slot], *, world: int) -> str:
    """Return a slot map in sentences, as its drawing says it."""
    parts: list[str] = []
    for one in slots:
        if one.kind == "skipped":
            parts.append(f"slot {one.slot} is skipped: {one.why}")
        elif one.kind == "stored":
            where = f"at place {one.place}" + (f" of rank {one.rank}" if world > 1 else "")
            parts.append(f"slot {one.slot} is stored {where}")
        else:
            parts.append(f"slot {one.slot} is outside the pool, and promised never to be passed")
    return "; ".join(parts).capitalize() + "."


def draw_slots(contract: WriterContract, *, world: int, key: str) -> Drawing:
    """Draw the slot map; under sharding also each rank's places."""
    slots = slot_map(contract, world=world)
    drawing = Drawing(
        key=key,
        width=int(2 * 12 + len(slots) * _CELL * (0.9 if world > 1 else 1.0)),
        title="Slot map",
        desc=describe(slots, world=world),
    )
    cell = (drawing.width - 24) / len(slots)
    inside = [one for one in slots if 0 <= one.slot < slots[-1].slot]
    title = "Slots of the table" if world == 1 else f"Virtual slots, {world} ranks"
    drawing.text(12, 14, title, "b")
    for number, one in enumerate(slots):
        _cell(drawing, one, 12 + number * cell, 26, cell - 4, sharded=world > 1)
    y = 26 + _HIGH + 40
    for rank in range(world if world > 1 else 0):
        mine = [one for one in inside if one.rank == rank]
        drawing.text(12, y - 8, f"Local places of rank {rank}", "b")
        for number, one in enumerate(sorted(mine, key=lambda one: one.place or 0)):
            _local(drawing, one, 12 + (number + 1) * cell, y, cell - 4)
        y += _HIGH + 30
    return drawing


def colour_of(rank: int | None, *, sharded: bool) -> str:
    """Return the CSS class of a slot that is stored."""
    return f"s{(rank or 0) % 4}" if sharded else "cell"


def _cell(drawing: Drawing, one: Slot, x: float, y: float, width: float, *, sharded: bool) -> None:
    middle = x + width / 2
    if one.kind == "outside":
        drawing.rect(x, y, width, _HIGH, "none", slot=one.slot)
        below = "never passed"
    elif one.kind == "skipped":
        drawing.hatched(x, y, width, _HIGH, "skip", slot=one.slot)
        below = "reserved" if one.reserved else "skipped"
    else:
        drawing.rect(x, y, width, _HIGH, colour_of(one.rank, sharded=sharded), slot=one.slot)
        below = f"rank {one.rank}" if sharded else f"place {one.place}"
    drawing.text(middle, y + 23, f"{one.slot}", "b halo" if one.kind == "skipped" else "b",
                 anchor="middle")  # fmt: skip
    if one.kind == "stored":
        drawing.text(middle, y + 41, below, "m", anchor="middle")
        return
    css = "halo" if one.kind == "skipped" else "m"
    if text_width(below) <= width + 3:
        drawing.text(middle, y + 41, below, css, anchor="middle")
        return
    first, _, second = below.partition(" ")
    drawing.text(middle, y + 39, first, css, anchor="middle")
    drawing.text(middle, y + 51, second, css, anchor="middle")


def _local(drawing: Drawing, one: Slot, x: float, y: float, width: float) -> None:
    middle = x + width / 2
    if one.kind == "skipped":
        drawing.hatched(x, y, width, _HIGH, "skip", place=one.place, rank=one.rank)
    else:
        drawing.rect(x, y, width, _HIGH, colour_of(one.rank, sharded=True),
                     place=one.place, rank=one.rank)  # fmt: skip
    css = "halo" if one.kind == "skipped" else ""
    drawing.text(middle, y + 23, f"place {one.place}", f"b {css}".strip(), anchor="middle")
    drawing.text(middle, y + 41, f"slot {one.slot}", css or "m", anchor="middle")
