"""What an abstract machine must offer to run a TTIR program: the two domains implement it.

Values are opaque to the walker. A *path* is the condition under which the current op runs, one
truth value per program; `True` means always.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .optable import OpRow
from .ttir import Op, Type

Value = Any
Path = Any


class Unsupported(Exception):
    """An op that a domain cannot say anything about; raised when something depends on it."""

    def __init__(self, op: str, line: str, reason: str = "") -> None:
        """Name the op, its source line and, when it is not simply unknown, the reason."""
        super().__init__(f"{op} at {line}" + (f": {reason}" if reason else ""))
        self.op = op
        self.line = line
        self.reason = reason


def line_of(op: Op) -> str:
    """Return "file:line" of an op, or "?" where the compiler recorded none."""
    return f"{op.line.file}:{op.line.line}" if op.line else "?"


@dataclass
class Trace:
    """What the walk saw besides values and accesses.

    Args:
        effects: ops that may touch memory in unknown ways; they spoil every promise.
        asserts: device asserts, with their message.
        waits: order numbers of dependency waits (`gdc_wait`).
        triggers: order numbers of early triggers (`gdc_launch_dependents`).
        loads: (order number, op) of every load.
        stores: (order number, op) of every store.
        conditions: (op, value, path) of everything that control flow depends on.
        order: order number of the next op.
    """

    effects: list[Unsupported] = field(default_factory=list)
    asserts: list[tuple[Op, str]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    triggers: list[int] = field(default_factory=list)
    loads: list[tuple[int, Op]] = field(default_factory=list)
    stores: list[tuple[int, Op]] = field(default_factory=list)
    conditions: list[tuple[Op, Any, Any]] = field(default_factory=list)
    order: int = 0


Body = Callable[[Value, tuple[Value, ...], Path], tuple[Value, ...]]


class Domain(Protocol):
    """An abstract machine."""

    def constant(self, op: Op, value: int) -> Value: ...
    def program_id(self, axis: int) -> Value: ...
    def num_programs(self, axis: int) -> Value: ...
    def make_range(self, op: Op, start: int, end: int) -> Value: ...
    def pointwise(self, row: OpRow, op: Op, operands: tuple[Value, ...]) -> Value: ...
    def splat(self, op: Op, value: Value) -> Value: ...
    def expand_dims(self, op: Op, value: Value, axis: int) -> Value: ...
    def broadcast(self, op: Op, value: Value) -> Value: ...
    def reshape(self, op: Op, value: Value) -> Value: ...
    def transpose(self, op: Op, value: Value, order: tuple[int, ...]) -> Value: ...
    def addptr(self, op: Op, pointer: Value, offset: Value) -> Value: ...
    def pointer_cast(self, op: Op, pointer: Value) -> Value: ...
    def load(self, op: Op, operands: tuple[Value, ...], path: Path) -> Value: ...
    def store(self, op: Op, operands: tuple[Value, ...], path: Path) -> None: ...
    def reduce(self, op: Op, operands: tuple[Value, ...], axis: int) -> tuple[Value, ...]: ...
    def check(self, op: Op, condition: Value, path: Path) -> None: ...
    def opaque(self, op: Op, kind: Type, why: Unsupported) -> Value: ...
    def truth(self, value: Value) -> Path: ...
    def both(self, a: Path, b: Path) -> Path: ...
    def either(self, a: Path, b: Path) -> Path: ...
    def negate(self, a: Path) -> Path: ...
    def never(self, a: Path) -> bool: ...
    def merge(self, kind: Type, condition: Path, a: Value, b: Value) -> Value: ...
    def loop(
        self,
        op: Op,
        bounds: tuple[Value, Value, Value],
        init: tuple[Value, ...],
        path: Path,
        body: Body,
    ) -> tuple[Value, ...]: ...
    def repeat(
        self,
        op: Op,
        init: tuple[Value, ...],
        path: Path,
        before: Callable[[tuple[Value, ...], Path], tuple[Value, tuple[Value, ...]]],
        after: Callable[[tuple[Value, ...], Path], tuple[Value, ...]],
    ) -> tuple[Value, ...]: ...
