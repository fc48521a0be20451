"""Plain numbers for the tests of arithmetic: widths, edge values, two's complement."""

from __future__ import annotations

import torch
from kvproof.checkers.tensor_integers import DTYPE

WIDTHS = (8, 16, 32, 64)

PREDICATES = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def signed(x, w):
    return (x + (1 << (w - 1))) % (1 << w) - (1 << (w - 1))


def unsigned(x, w):
    return x % (1 << w)


def edges(w):
    top, half = 1 << (w - 1), 1 << (w // 2)
    raw = (0, 1, 2, 3, 7, 10, 64, 0x55, -1, -2, -3, -7, -10, -64, top - 1, top - 2, -top, 1 - top)
    more = (half, half - 1, half + 1, -half, top // 3, -top // 5)
    return sorted({signed(x, w) for x in (*raw, *more)})


def columns(w, values):
    """Return the columns of a table of integers as tensors of that width."""
    return [torch.tensor(column, dtype=DTYPE[w]) for column in zip(*values, strict=True)]
