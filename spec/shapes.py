"""The shape in which a host function is passed an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .expr import Expr, as_expr


@dataclass(frozen=True, kw_only=True)
class TensorShape:
    """How an argument is passed, where it is not [rows or places, width].

    Args:
        arg: a cache or a source of the contract.
        sizes: sizes of the tensor, expressions of dimensions and POOL (a cache) or ROWS (a source,
            whose first size is ROWS).
        strides: its strides in elements, one for each size; the last is 1.
    """

    arg: str
    sizes: tuple[Expr | int, ...]
    strides: tuple[Expr | int, ...]

    def at(self, env: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return sizes and strides as numbers, strides in elements."""
        sizes = tuple(int(as_expr(size).evaluate(env)) for size in self.sizes)
        return sizes, tuple(int(as_expr(stride).evaluate(env)) for stride in self.strides)
