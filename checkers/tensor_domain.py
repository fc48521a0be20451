"""The torch domain: all programs and all lanes of one concrete launch at once.

Values are those of `planes`. A program that is not on the current path computes along and its
result is dropped: loads, stores, asserts and loops look at the path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import torch

from .buffers import Event, Failure
from .domain import Path, Unsupported, line_of
from .optable import OPS, OpRow
from .planes import (
    Opaque,
    Pointer,
    Shape,
    Value,
    conjunction,
    each,
    places,
    plain,
    reshaped,
    to_rank,
)
from .tensor_algebra import TensorAlgebra
from .tensor_integers import DTYPE, is_plain, signed
from .tensor_loops import Loops
from .tensor_memory import Memory
from .ttir import IntType, Op, PtrType, Type


@lru_cache(maxsize=256)
def _range(start: int, end: int) -> torch.Tensor:
    return torch.arange(start, end, dtype=torch.int32).reshape(1, 1, 1, -1)


@lru_cache(maxsize=256)
def _programs(axis: int, extent: int) -> torch.Tensor:
    shape = [1, 1, 1]
    shape[axis] = extent
    return torch.arange(extent, dtype=torch.int32).reshape(shape)


_NAMES = "addi andi ori xori maxsi minsi maxui minui addf maxnumf minnumf maximumf minimumf"
#: Combiners that a reduction may have.
_COMBINERS = frozenset(f"arith.{name}" for name in _NAMES.split())
#: Ops that the proof keeps uninterpreted and that are nevertheless exact.
_EXACT = frozenset(
    (
        "math.floor",
        "math.ceil",
        "math.trunc",
        "math.round",
        "math.absi",
        "tt.precise_sqrt",
        "tt.precise_divf",
    )
)


@dataclass
class TensorDomain(Loops):
    """Implements `domain.Domain` on tensors.

    Args:
        memory: the buffers, and the grid.
        inexact: ops whose bits may differ on hardware, with their lines.
        failures: device asserts that do not hold.
        path: the condition of the current op.
    """

    memory: Memory
    inexact: set[str] = field(default_factory=set[str])
    failures: list[Failure] = field(default_factory=list[Failure])
    path: Path = True

    def __post_init__(self) -> None:
        """Make the algebra, whose reports become events."""
        self.algebra = TensorAlgebra(self._undefined)
        self._op: Op | None = None

    @property
    def noted(self) -> int:
        """Count what was noted of ops beside their results."""
        return len(self.memory.events) + len(self.inexact)

    def _undefined(self, what: str, where: Any) -> None:
        path = self.path
        if path is False:
            return
        active = where if isinstance(where, torch.Tensor) else torch.ones((), dtype=torch.bool)
        if isinstance(path, torch.Tensor):
            active = active & (to_rank(path, active.dim()) if active.dim() > 3 else path)
        count = int(active.sum())
        if count:
            line = line_of(self._op) if self._op else "?"
            note = f"{what}; lanes that are masked off later count"
            self.memory.events.append(Event("undefined", line, count=count, note=note))

    # --- leaves -------------------------------------------------------------------------

    def constant(self, op: Op, value: int) -> Value:
        kind = op.result_types[0]
        return bool(value) if kind.elem == IntType(1) else signed(value, kind.width())

    def program_id(self, axis: int) -> Value:
        extent = self.memory.grid[axis]
        return 0 if extent == 1 else _programs(axis, extent)

    def num_programs(self, axis: int) -> Value:
        return self.memory.grid[axis]

    def make_range(self, op: Op, start: int, end: int) -> Value:
        return _range(start, end)

    # --- shapes -------------------------------------------------------------------------

    def splat(self, op: Op, value: Value) -> Value:
        rank = 3 + len(op.result_types[0].shape)
        return each(value, lambda part: to_rank(part, rank))

    def expand_dims(self, op: Op, value: Value, axis: int) -> Value:
        return each(value, lambda part: part.unsqueeze(3 + axis))

    def broadcast(self, op: Op, value: Value) -> Value:
        return value

    def transpose(self, op: Op, value: Value, order: Shape) -> Value:
        return each(value, lambda part: part.permute(0, 1, 2, *(3 + axis for axis in order)))

    def reshape(self, op: Op, value: Value) -> Value:
        old, new = op.operand_types[0].shape, op.result_types[0].shape
        if op.attrs.get("allow_reorder") and old != new:
            raise Unsupported(op.name, line_of(op), "the order of elements is left open")
        return each(value, lambda part: reshaped(part, old, new))

    # --- arithmetic ---------------------------------------------------------------------

    def pointwise(self, row: OpRow, op: Op, operands: tuple[Value, ...]) -> Value:
        if op.name == "arith.select":
            return self._select(op, operands)
        for value in operands:
            if isinstance(value, Opaque):
                return value
        self._op = op
        kind = op.result_types[0]
        if op.name == "arith.andi" and kind.elem == IntType(1) and not is_plain(*operands):
            made = conjunction(*operands)
            if made is not None:
                return made
        if not row.exact and op.name not in _EXACT:
            self.inexact.add(f"{op.name} at {line_of(op)}")
        return row.apply(self.algebra, op, tuple(plain(value) for value in operands))

    def _select(self, op: Op, operands: tuple[Value, ...]) -> Value:
        condition, a, b = operands
        if isinstance(condition, Opaque):
            return condition
        condition = plain(condition)
        if not isinstance(condition, int):
            condition = to_rank(condition, 3 + len(op.result_types[0].shape))
        return self._choose(op.result_types[0], condition, a, b, op)

    def _choose(self, kind: Type, condition: Value, a: Value, b: Value, op: Op | None) -> Value:
        if isinstance(condition, int):
            return a if condition else b
        if isinstance(a, Opaque) or isinstance(b, Opaque):
            return a if isinstance(a, Opaque) else b
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            if a.arg != b.arg or a.size != b.size:
                name, line = (op.name, line_of(op)) if op else ("a choice", "?")
                return Opaque(Unsupported(name, line, "a choice between two buffers"))
            offset = self.algebra.select(condition, a.offset(), b.offset(), 64)
            return Pointer(a.arg, a.size, 0, ()).moved(offset)
        return self.algebra.select(condition, plain(a), plain(b), kind.width())

    def addptr(self, op: Op, pointer: Value, offset: Value) -> Value:
        for value in (pointer, offset):
            if isinstance(value, Opaque):
                return value
        elem = op.operand_types[1].elem
        if not isinstance(elem, IntType):
            raise TypeError(f"{op.name}: the offset is no integer")
        step = plain(offset)
        return pointer.moved(step if elem.width == 64 else self.algebra.sext(step, elem.width, 64))

    def pointer_cast(self, op: Op, pointer: Value) -> Value:
        if isinstance(pointer, Opaque):
            return pointer
        elem = op.result_types[0].elem
        assert isinstance(elem, PtrType)
        if Type(elem.pointee).element_bytes() != pointer.size:
            raise Unsupported(op.name, line_of(op), "a pointer to another element size")
        return pointer

    # --- memory -------------------------------------------------------------------------

    def load(self, op: Op, operands: tuple[Value, ...], path: Path) -> Value:
        pointer, *rest = operands
        mask, other = (*rest, None, None)[:2]
        for value in (pointer, mask):
            if isinstance(value, Opaque):
                return value
        kind = op.result_types[0]
        line = line_of(op)
        if self.memory.buffers[pointer.arg].data is None:
            why = f"a load from {pointer.arg}, which has no storage"
            return Opaque(Unsupported(op.name, line, why))
        where = places(pointer, (mask, path), 3 + len(kind.shape))
        if isinstance(other, Opaque):
            if where is None or where.mask_shape() != (1,) * where.rank:
                return other
            other = None
        is_truth = kind.elem == IntType(1)
        default = plain(other)
        if is_truth and default is not None:
            default = self.algebra.zext(default, 1, 8)
        found = self.memory.load(pointer.arg, where, pointer.size, default, line)
        return self.algebra.trunc(found, 8, 1) if is_truth else found

    def store(self, op: Op, operands: tuple[Value, ...], path: Path) -> None:
        pointer, value, *rest = operands
        mask = rest[0] if rest else None
        for item in (pointer, mask):
            if isinstance(item, Opaque):
                raise item.why
        where = places(pointer, (mask, path), 3 + len(op.operand_types[0].shape))
        if where is None:
            return
        if isinstance(value, Opaque):
            if not bool(where.mask().any()):
                return
            raise value.why
        self.memory.store(pointer.arg, where, pointer.size, plain(value), line_of(op))

    def reduce(self, op: Op, operands: tuple[Value, ...], axis: int) -> tuple[Value, ...]:
        line = line_of(op)
        ops = [inner for block in op.regions[0].blocks for inner in block.ops]
        known = len(operands) == 1 and len(ops) == 2 and ops[0].name in _COMBINERS
        if not known or ops[1].operands != ops[0].results:
            raise Unsupported(op.name, line, "a reduction by more than one known operation")
        value, inner = operands[0], ops[0]
        if isinstance(value, Opaque):
            return (value,)
        size = op.operand_types[0].shape[axis]
        tensor = plain(value)
        if not isinstance(tensor, torch.Tensor):
            kind = DTYPE[op.result_types[0].width()]
            tensor = torch.full((1,) * (3 + len(op.operand_types[0].shape)), tensor, dtype=kind)
        axis += 3
        tensor = tensor.expand(*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
        if inner.name == "arith.addf":
            self.inexact.add(f"{op.name} of {inner.name} at {line}")
        row = OPS[inner.name]
        while tensor.shape[axis] > 1:
            half = tensor.shape[axis] // 2
            left, right = tensor.narrow(axis, 0, half), tensor.narrow(axis, half, half)
            made = row.apply(self.algebra, inner, (left.contiguous(), right.contiguous()))
            odd = tensor.narrow(axis, 2 * half, tensor.shape[axis] - 2 * half)
            tensor = torch.cat((made, odd), axis) if odd.shape[axis] else made
        return (tensor.squeeze(axis),)

    def check(self, op: Op, condition: Value, path: Path) -> None:
        if isinstance(condition, Opaque):
            raise condition.why
        if condition is True or path is False:
            return
        shape = op.operand_types[0].shape
        wrong = torch.tensor(True) if condition is False else ~plain(condition)
        wrong = wrong.reshape((1,) * (3 + len(shape))) if wrong.dim() == 0 else wrong
        if isinstance(path, torch.Tensor):
            wrong = wrong & to_rank(path, wrong.dim())
        if not bool(wrong.any()):
            return
        first = [int(i) for i in wrong.nonzero()[0]]
        spread = prod((*self.memory.grid, *shape)) // wrong.numel()
        message = str(op.attrs.get("message", ""))
        count = int(wrong.sum()) * spread
        self.failures.append(
            Failure(line_of(op), message, count, tuple(first[:3]), tuple(first[3:]))
        )

    def opaque(self, op: Op, kind: Type, why: Unsupported) -> Value:
        return Opaque(why)
