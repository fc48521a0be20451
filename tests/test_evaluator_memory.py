"""The evaluator's memory: bounds, order, conflicts, sparse caches, alignment, poison."""

from __future__ import annotations

import pytest
import torch
from kvproof.checkers.buffers import MASKED, OUTSIDE, pattern
from kvproof.checkers.evaluator import Buffer, evaluate
from kvproof.checkers.ttir_parser import parse_ttir

from .launches import MEMORY, noise, program, rows, run


def test_only_a_repeated_slot_is_a_conflict():
    for slots, conflicts in (([1, 2, 3, 4], 0), ([1, 2, 3, 2], 576 * 2)):
        src, dst, loc = rows(slots, 5, 576)
        tensors = {"src": src, "dst": dst, "loc": loc}
        made = run("row_copy", (4, 5, 1), tensors, src_stride=576, dst_stride=576)
        assert made.conflicts == conflicts
        last = {slot: row for row, slot in enumerate(slots)}
        for slot, row in last.items():
            assert torch.equal(dst[slot * 576 :][:576], src[row * 576 :][:576])


def test_the_last_of_many_rows_wins():
    slots = [1 + i % 2 for i in range(300)]
    src, dst, loc = rows(slots, 3, 576)
    run(
        "row_copy",
        (300, 5, 1),
        {"src": src, "dst": dst, "loc": loc},
        src_stride=576,
        dst_stride=576,
    )
    assert torch.equal(dst[576:1152], src[298 * 576 :][:576])
    assert torch.equal(dst[1152:], src[299 * 576 :][:576])


def test_rows_that_overlap_in_part_end_as_the_last_left_them():
    slots = [2, 1, 3, 2, 1]
    src, dst, loc = rows(slots, 8, 576)
    want = dst.clone()
    for row, slot in enumerate(slots):
        want[slot * 100 : slot * 100 + 576] = src[row * 576 :][:576]
    made = run(
        "row_copy", (5, 5, 1), {"src": src, "dst": dst, "loc": loc}, src_stride=576, dst_stride=100
    )
    # Programs run in grid order, the second axis fastest: so do whole rows here.
    assert torch.equal(dst, want)
    assert made.conflicts == (576 + 100) * 2


@pytest.mark.parametrize(("slot", "lost"), ((19, 0), (20, 576), (-1, 576)))
def test_a_store_beyond_the_storage_is_told_and_not_made(slot, lost):
    src, _, loc = rows([3, slot], 20, 576)
    arena = torch.full((30 * 576,), 0x55AA, dtype=torch.int16)
    inner = arena[5 * 576 : 25 * 576]
    buffer = Buffer.of(inner)
    assert buffer.offset == 5 * 576 * 2
    # The storage ends with the pool: what lies before and behind it belongs to others.
    inside = Buffer(buffer.data[buffer.offset : buffer.offset + 20 * 576 * 2])
    arguments = {"src": Buffer.of(src), "dst": inside, "loc": Buffer.of(loc)}
    strides = {"src_stride": 576, "dst_stride": 576}
    made = evaluate(program("row_copy"), (2, 5, 1), {**arguments, **strides})
    assert bool((arena[: 5 * 576] == 0x55AA).all())
    assert bool((arena[25 * 576 :] == 0x55AA).all())
    assert torch.equal(arena[8 * 576 :][:576], src[:576])
    assert made.clean == (lost == 0)
    if lost:
        (event,) = made.events
        assert (event.kind, event.arg, event.count) == ("store outside", "dst", lost)
        assert (event.program, event.lane, event.offset) == ((1, 0, 0), (0,), slot * 576)
        assert "kernels.py" in event.line


@pytest.mark.parametrize("short", (0, 1))
def test_a_load_beyond_the_storage_gives_poison(short):
    src, dst, loc = rows([1, 2], 3, 64)
    part = src[: 128 - short].clone()
    made = run("early_return", (2, 1, 1), {"key": part, "cache": dst, "slots": loc}, key_stride=64)
    assert torch.equal(dst[64 : 192 - 1], src[: 128 - 1])
    assert dst[191] == (pattern(OUTSIDE, 2) if short else src[127])
    assert [event.kind for event in made.events] == ["load outside"] * short
    if short:
        assert (made.events[0].arg, made.events[0].count, made.events[0].offset) == ("key", 1, 127)


def test_a_sparse_cache_hands_its_stores_back():
    slots = [4_000_000, 0, 3_999_999]
    src, _, loc = rows(slots, 1, 576)
    size = 4_000_001 * 576 * 2
    arguments = {"src": Buffer.of(src), "loc": Buffer.of(loc), "src_stride": 576, "dst_stride": 576}
    made = evaluate(
        program("row_copy"), (3, 5, 1), {**arguments, "dst": Buffer.sparse(size)}, conflicts=True
    )
    assert made.clean
    assert made.conflicts == 0
    final = {}
    for store in made.stores:
        final |= dict(zip(store.offsets.tolist(), store.bits.tolist(), strict=True))
    want = {
        slot * 576 + column: int(src[row * 576 + column])
        for row, slot in enumerate(slots)
        for column in range(576)
        if slot
    }
    assert final == want
    short = evaluate(program("row_copy"), (3, 5, 1), {**arguments, "dst": Buffer.sparse(size - 2)})
    assert [(event.kind, event.count) for event in short.events] == [("store outside", 1)]


def test_a_sparse_cache_and_a_dense_one_agree():
    slots = [3, 1, 3, 0, 1, 2]
    src, dst, loc = rows(slots, 4, 576)
    arguments = {"src": Buffer.of(src), "loc": Buffer.of(loc), "src_stride": 576, "dst_stride": 576}
    sparse = evaluate(program("row_copy"), (6, 5, 1), {**arguments, "dst": Buffer.sparse()})
    again = dst.clone()
    evaluate(program("row_copy"), (6, 5, 1), {**arguments, "dst": Buffer.of(dst)})
    for store in sparse.stores:
        for offset, bits in zip(store.offsets.tolist(), store.bits.tolist(), strict=True):
            again[offset] = bits
    assert torch.equal(again, dst)


def test_a_storage_off_its_alignment_is_read_and_written_bytewise():
    slots = [2, 1]
    src, dst, loc = rows(slots, 3, 576)
    for shift in (0, 1):
        data = torch.zeros(3 * 576 * 2 + 2, dtype=torch.uint8)[shift:][: 3 * 576 * 2]
        data.copy_(dst.view(torch.uint8))
        arguments = {"src": Buffer.of(src), "loc": Buffer.of(loc), "dst": Buffer(data)}
        evaluate(
            program("row_copy"), (2, 5, 1), {**arguments, "src_stride": 576, "dst_stride": 576}
        )
        want = torch.cat((dst[:576], src[576:], src[:576]))
        assert torch.equal(data, want.view(torch.uint8))


@pytest.mark.parametrize(("start", "ordered"), (("s", False), ("f", True)))
def test_a_load_of_what_another_program_stores_is_told(start, ordered):
    data = noise(40)
    both = Buffer.of(data)
    made = evaluate(parse_ttir(MEMORY.format("bf16", start)), (3, 1, 1), {"a": both, "b": both})
    # In place, each program loads its own row; one element further, it meets its neighbour's.
    assert [event.kind for event in made.events] == ["order"] * ordered
    other = Buffer.of(noise(40))
    apart = evaluate(parse_ttir(MEMORY.format("bf16", start)), (3, 1, 1), {"a": both, "b": other})
    assert apart.clean


def test_a_masked_off_lane_without_a_default_holds_poison():
    text = """
module {
  tt.func public @k(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %n: i32) {
    %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %m = tt.splat %n : i32 -> tensor<4xi32>
    %c = arith.cmpi slt, %r, %m : tensor<4xi32>
    %0 = tt.splat %a : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %1 = tt.addptr %0, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %2 = tt.load %1, %c : tensor<4x!tt.ptr<i32>>
    %3 = tt.splat %b : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %4 = tt.addptr %3, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    tt.store %4, %2 : tensor<4x!tt.ptr<i32>>
    tt.return
  }
}
"""
    for n in (0, 3, 4):
        a, b = torch.arange(1, 5, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
        evaluate(parse_ttir(text), (1, 1, 1), {"a": Buffer.of(a), "b": Buffer.of(b), "n": n})
        assert b.tolist() == [1, 2, 3, 4][:n] + [pattern(MASKED, 4)] * (4 - n)
