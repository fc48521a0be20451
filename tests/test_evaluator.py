"""The evaluator on compiled kernels, against plain loops."""

from __future__ import annotations

import pytest
import torch
from kvproof.checkers.domain import Unsupported
from kvproof.checkers.evaluator import Buffer, compile_program, evaluate
from kvproof.checkers.ttir_parser import parse_ttir
from kvproof.spec.dtypes import cast_table
from kvproof.spec.errors import KvproofError

from .integers import signed
from .launches import MEMORY, VERSIONS, noise, program, rows, run


@pytest.mark.parametrize("version", VERSIONS)
def test_a_row_copy_moves_every_bit(version):
    slots = [3, 0, 5, 7, 19, 0, 1, 2]
    src, dst, loc = rows(slots, 20, 576)
    src[5:9] = torch.tensor([0x7F81, -1, 0x7FC0, -32768], dtype=torch.int16)
    want = dst.clone()
    for row, slot in enumerate(slots):
        for column in range(576):
            if slot != 0:
                want[slot * 576 + column] = src[row * 576 + column]
    tensors = {"src": src, "dst": dst, "loc": loc}
    made = run("row_copy", (8, 5, 1), tensors, version, src_stride=576, dst_stride=576)
    assert torch.equal(dst, want)
    assert made.clean
    assert made.conflicts == 0
    assert sum(store.count for store in made.stores) == 6 * 576


@pytest.mark.parametrize("version", VERSIONS)
def test_an_early_return_stores_nothing(version):
    slots = [4, -1, 2, -1, 0]
    src, dst, loc = rows(slots, 5, 64)
    want = dst.clone()
    for row, slot in enumerate(slots):
        if slot != -1:
            want[slot * 64 : slot * 64 + 64] = src[row * 64 :][:64]
    tensors = {"key": src, "cache": dst, "slots": loc}
    assert run("early_return", (5, 1, 1), tensors, version, key_stride=64).clean
    assert torch.equal(dst, want)


def test_no_program_stays_after_all_returned():
    src, dst, loc = rows([-1, -1], 5, 64)
    before = dst.clone()
    made = run("early_return", (2, 1, 1), {"key": src, "cache": dst, "slots": loc}, key_stride=64)
    assert torch.equal(dst, before)
    assert made.clean
    assert made.stores == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_branches_by_program_pick_their_source(version):
    slots = [5, 1, 3]
    nope, dst, loc = rows(slots, 6, 512, torch.int64)
    rope = noise(3 * 64, 1)
    dst = torch.full((6 * 576,), 0x1234, dtype=torch.int16)
    want = dst.clone()
    for row, slot in enumerate(slots):
        want[slot * 576 :][:512] = nope[row * 512 :][:512]
        want[slot * 576 + 512 :][:64] = rope[row * 64 :][:64]
    tensors = {"nope": nope, "rope": rope, "dst": dst, "loc": loc}
    assert run("two_segments", (3, 5, 1), tensors, version, dst_stride=576).clean
    assert torch.equal(dst, want)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("programs", (1, 3, 9))
def test_loops_with_a_range_of_each_program(version, programs):
    slots = [5, 0, -3, 1, 2, 7, 4]
    src, dst, loc = rows(slots, 8, 150)
    want = dst.clone()
    for row, slot in enumerate(slots):
        if slot > 0:
            want[slot * 150 :][:130] = src[row * 150 :][:130]
    tensors = {"src": src, "dst": dst, "loc": loc}
    assert run("persistent", (programs, 1, 1), tensors, version, n=7, D=130, stride=150).clean
    assert torch.equal(dst, want)


@pytest.mark.parametrize("n", (0, 1, 2, 3, 4))
def test_two_dimensions_of_lanes_cast_to_fp8(n):
    table = torch.tensor(cast_table("bf16", "f8e4m3fn", saturate=True), dtype=torch.uint8)
    src, loc = noise(5 * 20, 3), torch.tensor([3, -1, 0, 6, 9][:n] + [99] * (5 - n))
    dst = torch.full((200,), 0x77, dtype=torch.uint8)
    want = dst.clone()
    for row in range(n):
        slot = int(loc[row])
        if slot >= 0:
            want[slot * 20 :][:20] = table[src[row * 20 :][:20].to(torch.int64) & 0xFFFF]
    made = run("lanes_2d", (2, 1, 1), {"src": src, "dst": dst, "loc": loc}, n=n)
    assert torch.equal(dst, want)
    assert made.clean


@pytest.mark.parametrize(("slot", "held"), ((99_999, True), (100_000, False)))
def test_a_device_assert(slot, held):
    src, dst = noise(20), torch.zeros(2_000_100, dtype=torch.uint8)
    made = run("lanes_2d", (1, 1, 1), {"src": src, "dst": dst, "loc": torch.tensor([slot])}, n=1)
    assert (made.asserts == ()) == held
    if not held:
        (failure,) = made.asserts
        assert failure.message.startswith("slot beyond the pool")
        assert (failure.count, failure.program, failure.lane) == (1, (0, 0, 0), (0,))


@pytest.mark.parametrize("version", VERSIONS)
def test_integer_arithmetic_of_mixed_widths(version):
    cases = [
        (0, 1, 1),
        (-7, 5, -128),
        (2**31 - 1, 2**40, 127),
        (-(2**31), -(2**62), -1),
        (5, -9, 3),
    ]

    def trunc(a, b):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    for a, b, c in cases:
        d = signed(signed(signed(a + b, 64) * 10, 64) - signed(c << 3, 32), 64)
        q = trunc(signed(d + 2, 64), 3)
        e = (q - trunc(q, 7) * 7) ^ (b >> 2)
        one = evaluate(
            program("mixed_widths", version), (1, 1, 1),
            {
                "small": Buffer.of(torch.tensor([a], dtype=torch.int32)),
                "wide": Buffer.of(torch.tensor([b])),
                "byte": Buffer.of(torch.tensor([c], dtype=torch.int8)),
                "dst": Buffer.sparse(),
            },
        )  # fmt: skip
        (store,) = one.stores
        assert store.offsets.tolist() == [signed(e, 32)]
        assert store.bits.tolist() == [signed((e % (1 << 64)) // 5, 64)]


@pytest.mark.parametrize("name", ("counters", "descriptors", "chosen_pointer", "scaled_row"))
def test_what_an_unknown_op_decides_is_not_stored(name):
    kinds = {arg.removeprefix("%"): kind for arg, kind in program(name).args}
    arguments = {
        arg: Buffer(torch.zeros(1 << 16, dtype=torch.uint8)) if "ptr" in str(kind) else 16
        for arg, kind in kinds.items()
    }
    with pytest.raises(Unsupported):
        evaluate(program(name), (1, 1, 1), arguments)


def test_an_unknown_op_that_nothing_depends_on_does_no_harm():
    text = MEMORY.format("bf16", "s").replace(
        "    tt.store", "    %9 = tt.histogram %r : tensor<8xi32> -> tensor<8xi32>\n    tt.store"
    )
    data, out = noise(8), torch.zeros(8, dtype=torch.int16)
    evaluate(parse_ttir(text), (1, 1, 1), {"a": Buffer.of(data), "b": Buffer.of(out)})
    assert torch.equal(out, data)
    stored = text.replace("tt.store %6, %3", "tt.store %6, %9").replace("bf16", "i32")
    with pytest.raises(Unsupported, match="histogram"):
        evaluate(parse_ttir(stored), (1, 1, 1), {"a": Buffer.of(data), "b": Buffer.of(out)})


def test_an_empty_grid_runs_nothing():
    src, dst, loc = rows([1], 2, 64)
    before = dst.clone()
    tensors = {"key": src, "cache": dst, "slots": loc}
    assert run("early_return", (0, 1, 1), tensors, key_stride=64).stores == ()
    assert torch.equal(dst, before)


def test_an_argument_of_the_wrong_kind_is_named():
    src, dst, loc = rows([1], 2, 64)
    good = {
        "key": Buffer.of(src),
        "cache": Buffer.of(dst),
        "slots": Buffer.of(loc),
        "key_stride": 64,
    }
    evaluate(program("early_return"), (1, 1, 1), {**good, "D": 64})
    for change in ({"key_stride": 1 << 40}, {"key_stride": Buffer.of(src)}, {"key": 5}):
        with pytest.raises(KvproofError, match=next(iter(change))):
            evaluate(program("early_return"), (1, 1, 1), {**good, **change})
    with pytest.raises(KvproofError, match="key_stride"):
        evaluate(
            program("early_return"), (1, 1, 1), {k: good[k] for k in ("key", "cache", "slots")}
        )


def test_a_prepared_program_runs_alike_on_every_launch():
    prepared = compile_program(program("two_segments"))
    for grid, slots in (
        ((3, 5, 1), [5, 1, 3]),
        ((1, 5, 1), [2]),
        ((1, 1, 1), [4]),
        ((2, 5, 1), [0, 7]),
    ):
        caches = []
        for which in (prepared, program("two_segments"), prepared):
            nope, rope, loc = (
                noise(len(slots) * 512),
                noise(len(slots) * 64, 1),
                torch.tensor(slots),
            )
            dst = torch.zeros(8 * 576, dtype=torch.int16)
            tensors = {"nope": nope, "rope": rope, "dst": dst, "loc": loc}
            arguments = {name: Buffer.of(tensor) for name, tensor in tensors.items()}
            assert evaluate(which, grid, {**arguments, "dst_stride": 576}).clean
            caches.append(dst)
        assert torch.equal(caches[0], caches[1])
        assert torch.equal(caches[0], caches[2])
        assert bool(caches[0].any())
