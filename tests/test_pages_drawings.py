"""Drawings of pages: geometry from the contract's data, words, and colours that can be read."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kvproof.cli.grid import instances
from kvproof.cli.pages.calls import draw_programs, strips, told
from kvproof.cli.pages.hits import cells, draw_hits
from kvproof.cli.pages.programs import Call, Store, example, pid_text
from kvproof.cli.pages.rows import cache_rows, draw_row, runs
from kvproof.cli.pages.slots import draw_slots, slot_map, slot_of
from kvproof.cli.pages.svg import TEMPLATES
from kvproof.spec.builtin import MLA_ROW, MLA_ROW_NOROPE, MLA_ROW_SHARDED
from kvproof.spec.case import Case
from kvproof.spec.job import Job, ModuleSource
from kvproof.spec.rules import Negative

from .page_reports import Elements


def job(contract, *, gap=0, rank=(1, 0)) -> Job:
    instance = next(
        one
        for _, one in instances(contract)
        if one.config.get("gap", 0) == gap and one.world_rank == rank
    )
    source = ModuleSource(file="a.py")
    return Job(target="a.py::w", writer="w", label="one", source=source, function="w",
               instance=instance)  # fmt: skip


def call(contract, slots, *stores, pool=4, rank=(1, 0)) -> Call:
    made = job(contract, rank=rank)
    world = rank[0]
    kernel = SimpleNamespace(grid=(max(len(slots), 1), 1, 1))
    dims = {"WORLD": world, "RANK": rank[1]}
    return Call(
        made,
        Case(dims=dims, pool=pool, slots=tuple(slots)),
        "kv_buffer",
        tuple(slot_of(contract, slot, world=world, pool=pool) for slot in slots),
        (kernel,),
        1024,
        tuple(stores),
    )


def rects(drawing, *names) -> list[dict[str, str]]:
    found = Elements(drawing.inline()).of("rect")
    return [one for one in found if all(f"data-{name}" in one for name in names)]


def whole(pid: int, place: int, row: int | None, **more) -> Store:
    return Store((pid, 0, 0), place, 0, 576, row, **more)


@pytest.mark.parametrize(("gap", "parts"), ((0, [512, 64]), (64, [512, 64, 64])))
def test_segments_and_gap_sum_to_the_row(gap, parts):
    (row,) = cache_rows(job(MLA_ROW, gap=gap).instance)
    assert (row.stride, row.gap, row.end) == (576 + gap, gap, 576)
    boxes = rects(draw_row(row, key="k"), "first")
    assert [int(one["data-elements"]) for one in boxes] == parts
    assert sum(parts) == row.stride
    firsts = [int(one["data-first"]) for one in boxes]
    assert firsts == [0, 512, 576][: len(parts)]
    scale = 600 / row.stride
    for one in boxes:
        assert float(one["width"]) == pytest.approx(int(one["data-elements"]) * scale, abs=0.06)
        assert float(one["x"]) == pytest.approx(16 + int(one["data-first"]) * scale, abs=0.06)


def test_a_gap_is_hatched_and_a_segment_is_not():
    (row,) = cache_rows(job(MLA_ROW, gap=64).instance)
    kinds = {one["data-segment"]: one["class"] for one in rects(draw_row(row, key="k"), "first")}
    assert kinds == {"nope": "s0", "rope": "s1", "": "gap"}
    assert 'fill="url(#k-gap)"' in draw_row(row, key="k").inline()
    (tight,) = cache_rows(job(MLA_ROW).instance)
    assert [one["class"] for one in rects(draw_row(tight, key="k"), "first")] == ["s0", "s1"]


def test_runs_are_cut_where_offsets_jump():
    assert runs([4, 5, 6, 9, 10, 2]) == [(4, 3), (9, 2), (2, 1)]
    assert runs([]) == []


def test_the_reserved_slot_is_hatched_and_the_next_is_not():
    boxes = {one["data-slot"]: one["class"] for one in
             rects(draw_slots(MLA_ROW, world=1, key="k"), "slot")}  # fmt: skip
    assert boxes["0"] == "skip"
    assert boxes["1"] == "cell"
    assert boxes["-1"] == boxes["6"] == "none"
    free = draw_slots(replace(MLA_ROW, skip=()), world=1, key="k")
    assert "skip" not in {one["class"] for one in rects(free, "slot")}


def test_a_skipped_slot_is_called_reserved_only_where_it_is():
    assert slot_of(MLA_ROW, 0, world=1, pool=4).reserved
    dropped = slot_of(replace(MLA_ROW, skip=(Negative(),)), -1, world=1, pool=4)
    assert (dropped.kind, dropped.reserved) == ("skipped", False)
    assert slot_of(MLA_ROW, -1, world=1, pool=4).kind == "outside"
    assert slot_of(MLA_ROW, 4, world=1, pool=4).kind == "outside"


@pytest.mark.parametrize("world", (2, 4))
def test_ranks_share_the_slots(world):
    for one in slot_map(MLA_ROW_SHARDED, world=world):
        if one.kind == "stored":
            assert (one.rank, one.place) == (one.slot % world, one.slot // world)
    drawing = draw_slots(MLA_ROW_SHARDED, world=world, key="k")
    local = {(one["data-rank"], one["data-place"]) for one in rects(drawing, "rank")}
    assert local == {(str(rank), str(place)) for rank in range(world) for place in range(4)}


def test_the_example_holds_each_kind_of_slot():
    case = example(job(MLA_ROW))
    assert case.slots == (2, 4, 0, 1, 3, 5)
    assert example(job(replace(MLA_ROW, skip=()))).slots == (1, 3, 5, 0, 2, 4)


def test_a_right_call_has_nothing_to_say():
    found = call(MLA_ROW, [2, 0, 1], whole(0, 2, 0), whole(2, 1, 2))
    assert all(found.is_right(store) for store in found.stores)
    assert [strip.missing for strip in strips(found)] == [(), (), ()]
    assert not any("not" in line for line in told(found) if "nothing" not in line)
    assert {cell.kind for cell in cells(found)} == {"right", "kept"}
    assert "bad" not in {one["class"] for one in rects(draw_programs(found, key="k"))}


FAULTS = (
    # A reserved slot is stored; its place must keep its bytes.
    (call(MLA_ROW, [0], whole(0, 0, 0)), "bad", "which must not be stored here"),
    # The row lies past the pool, and its own place is lost.
    (call(MLA_ROW, [1], whole(0, 4, 0)), "outside", "past the last place of the pool"),
    (call(MLA_ROW, [1], whole(0, -1, None)), "outside", "before the cache begins"),
    (call(MLA_ROW, [1]), "lost", "elements 0 to 575 are not stored"),
    (
        call(MLA_ROW, [1], Store((0, 0, 0), 1, 0, 512, 0)),
        "lost",
        "elements 512 to 575 are not stored",
    ),
    (
        call(MLA_ROW, [1], whole(0, 1, 0, wrong=2, sample=(0, 0, 32768))),
        "bits",
        "2 of them with other bits",
    ),
    # Rank 0 of 2 stores a row of rank 1.
    (
        call(MLA_ROW_SHARDED, [3], whole(0, 1, 0), rank=(2, 0)),
        "bad",
        "which must not be stored here",
    ),
    (
        call(MLA_ROW, [1, 2], whole(0, 2, 0), whole(1, 1, 1)),
        "bad",
        "which must not be stored here (elements of row 0)",
    ),
)


@pytest.mark.parametrize(("broken", "state", "words"), FAULTS)
def test_a_fault_is_drawn_where_it_is(broken, state, words):
    assert any(words in line for line in told(broken))
    boxes = rects(draw_hits(broken, key="k"), "state")
    assert state in {one["data-state"] for one in boxes}
    assert {cell.kind for cell in cells(broken)} - {"kept"}
    drawn = Elements(draw_programs(broken, key="k").inline())
    assert {"bad", "lost"} & {one["class"] for one in drawn.of("rect")}


def test_a_row_under_another_one_is_told_beside_its_strip():
    swapped = FAULTS[-1][0]
    words = Elements(draw_programs(swapped, key="k").inline()).words()
    assert "place 1, ! row not stored" in words
    assert "✘ program 1: row 1" in words


def test_programs_are_named_as_short_as_the_grid_allows():
    assert pid_text((3, 0, 0), (6, 1, 1)) == "3"
    assert pid_text((3, 0, 0), (6, 5, 1)) == "(3, 0)"
    assert pid_text((0, 0, 2), (1, 1, 4)) == "(0, 0, 2)"
    assert pid_text((0, 0, 0), (1, 1, 1)) == "0"


def test_a_drawing_does_not_depend_on_when_it_is_made():
    (row,) = cache_rows(job(MLA_ROW_NOROPE).instance)
    assert draw_row(row, key="k").standalone() == draw_row(row, key="k").standalone()


def palette() -> dict[str, dict[str, str]]:
    text = (TEMPLATES / "palette.css").read_text()
    light, dark = text.split("@media", 1)
    return {
        scheme: dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", part))
        for scheme, part in (("light", light), ("dark", dark))
    }


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2.2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_what_others_measure():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#767676", "#ffffff") > 4.5


TEXT = [
    *((text, below) for text in ("text", "muted") for below in
      ("paper", "panel", "s0", "s1", "s2", "s3")),
    *((text, "paper") for text in ("link", "ok", "bad", "open")),
    ("ok", "ok-bg"), ("bad", "bad-bg"), ("open", "open-bg"), ("text", "bad-bg"),
]  # fmt: skip
SHAPES = [("edge", below) for below in ("paper", "panel")] + [("bad", "bad-bg")]


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_colours_can_be_told_apart(scheme):
    colours = palette()[scheme]
    assert set(colours) == set(palette()["light"])
    poor = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in TEXT}
    assert {pair: value for pair, value in poor.items() if value < 4.5} == {}
    shapes = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in SHAPES}
    assert {pair: value for pair, value in shapes.items() if value < 3} == {}
