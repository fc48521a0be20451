"""What the evaluator's tests share: fixtures as programs, noise, and rows with a slot table."""

from __future__ import annotations

from pathlib import Path

import torch
from kvproof.checkers.evaluator import Buffer, evaluate
from kvproof.checkers.ttir_parser import parse_ttir

HERE = Path(__file__).parent
VERSIONS = sorted(folder.name for folder in (HERE / "fixtures/ttir").iterdir())
NEWEST = VERSIONS[-1]

#: Copies eight elements a program, from %a at an offset to %b.
MEMORY = """
module {{
  tt.func public @k(%a: !tt.ptr<{0}>, %b: !tt.ptr<{0}>) {{
    %r = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
    %p = tt.get_program_id x : i32
    %n = arith.constant 8 : i32
    %s = arith.muli %p, %n : i32
    %f = arith.addi %s, %p : i32
    %0 = tt.addptr %a, %{1} : !tt.ptr<{0}>, i32
    %1 = tt.splat %0 : !tt.ptr<{0}> -> tensor<8x!tt.ptr<{0}>>
    %2 = tt.addptr %1, %r : tensor<8x!tt.ptr<{0}>>, tensor<8xi32>
    %3 = tt.load %2 : tensor<8x!tt.ptr<{0}>>
    %4 = tt.addptr %b, %s : !tt.ptr<{0}>, i32
    %5 = tt.splat %4 : !tt.ptr<{0}> -> tensor<8x!tt.ptr<{0}>>
    %6 = tt.addptr %5, %r : tensor<8x!tt.ptr<{0}>>, tensor<8xi32>
    tt.store %6, %3 : tensor<8x!tt.ptr<{0}>>
    tt.return
  }}
}}
"""


def program(name, version=NEWEST):
    return parse_ttir((HERE / f"fixtures/ttir/{version}/{name}.ttir").read_text())


def noise(count, seed=0, kind=torch.int16):
    """Return every kind of pattern: NaN payloads, infinities, subnormals, both zeros."""
    generator = torch.Generator().manual_seed(seed)
    info = torch.iinfo(kind)
    return torch.randint(info.min, info.max, (count,), generator=generator).to(kind)


def run(name, grid, tensors, version=NEWEST, **scalars):
    """Run a fixture on tensors in place and return the evaluation."""
    arguments = {key: Buffer.of(tensor) for key, tensor in tensors.items()}
    return evaluate(program(name, version), grid, {**arguments, **scalars}, conflicts=True)


def rows(slots, pool, width, kind=torch.int32):
    """Return sources, a cache filled with a pattern, and a slot table."""
    return (
        noise(len(slots) * width),
        torch.full((pool * width,), 0x1234, dtype=torch.int16),
        torch.tensor(slots, dtype=kind),
    )
