"""The evaluator against Triton's interpreter in a child, where the interpreter is exact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from .launches import noise, run

HERE = Path(__file__).parent


def bf16(count, seed):
    return noise(count, seed).view(torch.bfloat16)


def u8(count, seed):
    return noise(count // 2, seed).view(torch.uint8)


def i64(*values):
    return torch.tensor(values)


def i32(*values):
    return torch.tensor(values, dtype=torch.int32)


#: Launches whose arithmetic is exact in the interpreter: copies and integers.
INTERPRETED = {
    "early_return": lambda: (
        (4, 1, 1), {"key": bf16(256, 1), "cache": bf16(320, 2), "slots": i32(3, -1, 0, 3)},
        {"key_stride": 64}, {"D": 64},
    ),
    "two_segments": lambda: (
        (2, 5, 1),
        {"nope": bf16(1024, 1), "rope": bf16(128, 2), "dst": bf16(1800, 3), "loc": i64(2, 0)},
        {"dst_stride": 600}, {"N": 512, "R": 64, "BLOCK": 128},
    ),
    "persistent": lambda: (
        (2, 1, 1), {"src": bf16(500, 1), "dst": bf16(600, 2), "loc": i32(5, 0, 1, -4, 2)},
        {"n": 5, "D": 70, "stride": 100}, {"BLOCK": 64},
    ),
    "byte_rows": lambda: (
        (3, 1, 1),
        {"src": u8(192, 1), "dst": u8(320, 2), "loc": i32(2, -1, 0)},
        {"stride": 80}, {"D": 64},
    ),
    "paged": lambda: (
        (3, 2, 1), {"src": bf16(192, 1), "dst": bf16(2 * 4096, 2), "loc": i32(17, 3, 31)},
        {"page_stride": 4096, "head_stride": 1024}, {"D": 64, "PAGE": 16},
    ),
    "while_loop": lambda: (
        (1, 1, 3), {"src": i32(2, 1, -1, 3), "dst": i32(*range(9))}, {"limit": 4}, {},
    ),
    "loop_exits": lambda: (
        (2, 1, 1), {"src": i32(2, 0, 4, -1, 5), "dst": i32(-5)}, {"n": 4}, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INTERPRETED)
def test_the_interpreter_agrees_bit_for_bit(name):
    pytest.importorskip("triton")
    grid, tensors, scalars, constexprs = INTERPRETED[name]()
    request = {
        "kernel": name,
        "grid": grid,
        "tensors": {
            key: (
                str(tensor.dtype).partition(".")[2],
                bytes(tensor.view(torch.uint8).tolist()).hex(),
            )
            for key, tensor in tensors.items()
        },
        "scalars": scalars,
        "constexprs": constexprs,
    }
    child = subprocess.run(
        [sys.executable, HERE / "interpreter_child.py"],
        input=json.dumps(request), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr[-500:]
    made = run(name, grid, tensors, **scalars)
    assert made.events == ()
    for key, text in json.loads(child.stdout).items():
        assert bytes(tensors[key].view(torch.uint8).tolist()).hex() == text, key
