"""A tensor of the z3 domain: a memoised function from lane indices to a term."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .bitvectors import Term, conj, is_const
from .ttir import Elem, Op

Idx = tuple[Term, ...]


class Pointer(NamedTuple):
    """An address: kernel argument, signed 64-bit offset in elements, element type."""

    arg: str
    offset: Term
    elem: Elem


def _key(idx: Idx) -> tuple[Any, ...]:
    return tuple(i if is_const(i) else ("z3", i.get_id()) for i in idx)


class Lanes:
    """One value per lane.

    Args:
        shape: lanes per dimension; `()` for a scalar.
        fn: the term at a lane index.
        op: the op that made it.
        deps: the operands that matter at a lane index, each with the condition under which it
            does (a select needs only one side).
    """

    __slots__ = ("_memo", "access", "deps", "fn", "op", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        fn: Callable[[Idx], Any],
        op: Op | None = None,
        deps: Callable[[Idx], list[Dep]] | None = None,
    ) -> None:
        self.shape = shape
        self.fn = fn
        self.op = op
        self.deps = deps
        self.access: Any = None
        self._memo: dict[Any, tuple[Idx, Any]] = {}

    def at(self, idx: Idx) -> Any:
        """Return the term at a lane index. Raises Unsupported when an opaque value is needed."""
        key = _key(idx)
        found = self._memo.get(key)
        if found is None:
            # The index is kept beside the term so that its id is not reused.
            found = (idx, self.fn(idx))
            self._memo[key] = found
        return found[1]


Dep = tuple[Lanes, Idx, Term]


def reindex(op: Op, value: Lanes, relabel: Callable[[Idx], Idx]) -> Lanes:
    """Return `value` with its lanes relabelled to the shape of the op's result."""
    return Lanes(
        op.result_types[0].shape,
        lambda idx: value.at(relabel(idx)),
        op,
        lambda idx: [(value, relabel(idx), True)],
    )


def cone(root: Lanes, idx: Idx, *, guard: Term = True) -> Iterator[tuple[Lanes, Idx, Term]]:
    """Yield every value that `root` at `idx` is computed from; the root comes first.

    With each come the lane index at which it is needed and the condition under which it is.
    """
    seen: dict[tuple[Any, ...], list[Term]] = {}
    stack: list[Dep] = [(root, idx, guard)]
    while stack:
        value, here, needed = stack.pop()
        if needed is False:
            continue
        known = seen.setdefault((id(value), *_key(here)), [])
        if any(old is True or old is needed for old in known):
            continue
        known.append(needed)
        yield value, here, needed
        if value.deps is None:
            continue
        for dep, at, condition in value.deps(here):
            stack.append((dep, at, conj(needed, condition)))
