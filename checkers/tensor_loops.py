"""Control flow of the torch domain: one truth value per program, loops that really iterate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .domain import Body, Path, Unsupported, line_of
from .planes import Opaque, Value, plain, to_rank
from .tensor_integers import is_plain
from .ttir import IntType, Op, Type

#: A loop of more iterations than this is given up.
ITERATIONS = 1 << 20

#: The reason of a value that a branch without programs would have made.
NEVER = "a branch that is never taken"


class Loops:
    """The part of `TensorDomain` that decides which programs run what."""

    def _choose(self, kind: Type, condition: Value, a: Value, b: Value, op: Op | None) -> Value:
        raise NotImplementedError

    def truth(self, value: Value) -> Path:
        if isinstance(value, Opaque):
            raise value.why
        return plain(value)

    def both(self, a: Path, b: Path) -> Path:
        if a is True or b is False:
            return b
        return a if b is True or a is False else a & b

    def either(self, a: Path, b: Path) -> Path:
        if a is True or b is False:
            return a
        return b if b is True or a is False else a | b

    def negate(self, a: Path) -> Path:
        return ~a if isinstance(a, torch.Tensor) else not a

    def never(self, a: Path) -> bool:
        return a is False or (isinstance(a, torch.Tensor) and not bool(a.any()))

    def merge(self, kind: Type, condition: Path, a: Value, b: Value) -> Value:
        # A branch that no program takes yields nothing; its condition may still be mixed over
        # the programs that are not on the path.
        for value, other in ((a, b), (b, a)):
            if isinstance(value, Opaque) and value.why.reason == NEVER:
                return other
        if a is b:
            return a
        if isinstance(condition, torch.Tensor):
            condition = to_rank(condition, 3 + len(kind.shape))
        return self._choose(kind, condition, a, b, None)

    def loop(
        self,
        op: Op,
        bounds: tuple[Value, Value, Value],
        init: tuple[Value, ...],
        path: Path,
        body: Body,
    ) -> tuple[Value, ...]:
        for bound in bounds:
            if isinstance(bound, Opaque):
                raise bound.why
        elem = op.operand_types[0].elem
        if not isinstance(elem, IntType) or elem.width not in (8, 16, 32, 64):
            raise Unsupported(op.name, line_of(op), "bounds that are no integers")
        unsigned = bool(op.attrs.get("unsigned"))
        if is_plain(*bounds):
            return self._count(op, bounds, init, path, body, elem.width, unsigned=unsigned)
        lower, upper, step = (
            _wide(plain(bound), elem.width, unsigned=unsigned) for bound in bounds
        )
        moving = step > 0
        if not bool((moving | ~_tensor(path)).all()):
            raise Unsupported(op.name, line_of(op), "a step that is not positive")
        trips = (
            torch.div(upper - lower - 1, torch.where(moving, step, 1), rounding_mode="floor") + 1
        )
        trips = torch.where(_tensor(path), trips, 0)
        most = int(trips.max())
        self._bounded(op, most)
        narrow = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[elem.width]
        kinds = op.result_types
        carried = init
        for trip in range(most):
            here = self.both(path, _settled(trips > trip))
            iv = (lower + step * trip).to(narrow)
            new = body(iv, carried, here)
            carried = tuple(
                self.merge(kind, here, a, b) for kind, a, b in zip(kinds, new, carried, strict=True)
            )
        return carried

    def _count(
        self,
        op: Op,
        bounds: tuple[int, int, int],
        init: tuple[Value, ...],
        path: Path,
        body: Body,
        w: int,
        *,
        unsigned: bool,
    ) -> tuple[Value, ...]:
        mask = (1 << w) - 1
        lower, upper, step = (bound & mask if unsigned else bound for bound in bounds)
        if step <= 0:
            raise Unsupported(op.name, line_of(op), "a step that is not positive")
        numbers = range(lower, upper, step)
        self._bounded(op, max(0, (upper - lower + step - 1) // step))
        carried = init
        for iv in numbers:
            signed = iv - (1 << w) if iv >> (w - 1) > 0 else iv
            carried = body(signed, carried, path)
        return carried

    def _bounded(self, op: Op, trips: int) -> None:
        if trips > ITERATIONS:
            raise Unsupported(op.name, line_of(op), f"more than {ITERATIONS} iterations")

    def repeat(
        self,
        op: Op,
        init: tuple[Value, ...],
        path: Path,
        before: Callable[..., Any],
        after: Callable[..., Any],
    ) -> tuple[Value, ...]:
        carried, active = init, path
        final: tuple[Value, ...] = ()
        for _ in range(ITERATIONS):
            condition, values = before(carried, active)
            taken = self.truth(condition)
            going = self.both(active, taken)
            leaving = self.both(active, self.negate(taken))
            final = tuple(
                self.merge(kind, leaving, new, old)
                for kind, new, old in zip(op.result_types, values, final or values, strict=True)
            )
            if self.never(going):
                return final
            carried, active = after(values, going), going
        raise Unsupported(op.name, line_of(op), f"more than {ITERATIONS} iterations")


def _tensor(path: Path) -> torch.Tensor:
    return path if isinstance(path, torch.Tensor) else torch.tensor(bool(path)).reshape(1, 1, 1)


def _settled(path: torch.Tensor) -> Path:
    return True if bool(path.all()) else path


def _wide(value: Value, w: int, *, unsigned: bool) -> torch.Tensor:
    wide = torch.as_tensor(value).to(torch.int64)
    return wide & ((1 << w) - 1) if unsigned and w < 64 else wide
