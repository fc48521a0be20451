"""The drawings of a page that its contract and its launches are made into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...spec.errors import KvproofError
from ...spec.job import Job
from .calls import draw_programs, told
from .programs import Call, captured, pid_text
from .rows import CacheRow, describe, draw_row
from .slots import describe as describe_slots
from .slots import draw_slots, slot_map
from .svg import Drawing
from .text import code

if TYPE_CHECKING:
    from ...checkers.child import Child


@dataclass(frozen=True)
class Figure:
    """A drawing with its text.

    Args:
        name: stem of its file, unique within the folder.
        caption: one sentence.
        drawing: the drawing; None where it cannot be made.
        lines: what it says, in sentences.
    """

    name: str
    caption: str
    drawing: Drawing | None
    lines: tuple[str, ...]


def row_figures(rows: Sequence[tuple[CacheRow, tuple[str, ...]]], stem: str) -> list[Figure]:
    """Return the row of each cache in the first configuration that stores it."""
    found: dict[str, Figure] = {}
    for row, labels in rows:
        if row.cache in found:
            continue
        name = f"{stem}.row" if not found else f"{stem}.row-{len(found) + 1}"
        caption = f"One row of `{row.cache}`, to scale, in elements: {labels[0]}."
        drawing = draw_row(row, key=name.replace(".", "-")) if row.drawable else None
        found[row.cache] = Figure(name, caption, drawing, (describe(row),))
    return list(found.values())


def slot_figure(jobs: Sequence[Job], stem: str) -> Figure:
    """Return the slot map, sharded as in the first configuration that is."""
    contract = jobs[0].instance.contract
    world = next((w for job in jobs if (w := job.instance.world_rank[0]) > 1), 1)
    drawing = draw_slots(contract, world=world, key=f"{stem}-slots")
    text = describe_slots(slot_map(contract, world=world), world=world)
    # One slot on each side of the pool is shown too.
    legal = len(slot_map(contract, world=world)) - 2
    ranks = f" on {world} ranks" if world > 1 else ""
    caption = f"What the contract says of each slot, drawn for a pool of {legal} slots{ranks}."
    return Figure(f"{stem}.slots", caption, drawing, (text,))


def program_figures(child: Child, job: Job, stem: str) -> list[Figure]:
    """Return what each program of a small call stores, a drawing for each cache."""
    name = f"{stem}.programs"
    try:
        calls = captured(child, job)
    except KvproofError as problem:
        return [Figure(name, "Which program stores what.", None, (f"Not drawn: {problem}.",))]
    return [
        _programs(call, name if number == 0 else f"{name}-{number + 1}")
        for number, call in enumerate(calls)
    ]


def _programs(call: Call, name: str) -> Figure:
    grid = call.kernels[0].grid
    shape = " × ".join(f"{extent:,}" for extent in grid)
    last = pid_text((grid[0] - 1, grid[1] - 1, grid[2] - 1), grid)
    caption = (
        f"Which program stores what in {code(call.cache)}: a call with {len(call.slots)} rows "
        f"({call.job.label}), captured, and its IR run. Grid {shape}, programs "
        f"{pid_text((0, 0, 0), grid)} to {last}; a store of one program has {call.lanes:,} lanes, "
        "and a lane that is masked off stores nothing."
    )
    drawing = draw_programs(call, key=name.replace(".", "-"))
    return Figure(name, caption, drawing, tuple(told(call)))
