"""Memory accesses and loops of the z3 domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .bitvectors import Term, conj
from .domain import Path
from .lanes import Idx, Lanes
from .ttir import Op


@dataclass
class Loop:
    """A loop that carries no value: one symbolic iteration.

    Args:
        index: the iteration number, a 64-bit term of its own.
        guard: the condition that the iteration happens.
        op: the loop.
        iv: the induction variable's term.
        width: its width in bits.
        lower, step: the first value and the increment.
    """

    index: Any
    guard: Any
    op: Op
    iv: Term
    width: int
    lower: Term
    step: Term


@dataclass
class Access:
    """A load or store, for every program and lane at once.

    Args:
        kind: "load" or "store".
        op: the op.
        pointer, mask, value, other: operand tensors; `mask` is None when there is none.
        path: the condition under which the op runs.
        loops: the enclosing symbolic loops, outermost first.
        shape: the lanes.
    """

    kind: str
    op: Op
    pointer: Lanes
    mask: Lanes | None
    path: Path
    shape: tuple[int, ...]
    loops: tuple[Loop, ...]
    value: Lanes | None = None
    other: Lanes | None = None

    def active(self, idx: Idx) -> Term:
        """Return the condition that this lane accesses memory."""
        return conj(self.path, True if self.mask is None else self.mask.at(idx))
