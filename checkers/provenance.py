"""Which source element reaches a store, and under which condition."""

from __future__ import annotations

from dataclasses import dataclass

from .bitvectors import Term, conj
from .lanes import Dep, Idx, Lanes, cone
from .problem import Problem


@dataclass(frozen=True)
class Leaf:
    """A loaded element that a stored value is made from.

    Args:
        live: the condition that the load happens and its value is selected.
        arg: the contract's argument that it is loaded from; None for another buffer.
        offset: element offset from that argument's first element.
    """

    live: Term
    arg: str | None
    offset: Term


def _reads_source(problem: Problem, condition: Lanes, idx: Idx, _: Term) -> bool:
    """Tell whether a condition depends on the contents of a source."""
    sources = {segment.source for segment in problem.instance.contract.segments}
    return any(
        value.access is not None and problem.place_of(value.access.pointer.at(here))[0] in sources
        for value, here, _ in cone(condition, idx)
    )


def _whole(deps: list[Dep]) -> list[Dep]:
    """Return the operands of a choice that depends on the elements: it is arithmetic on them."""
    return [(value, at, True) for value, at, _ in deps]


def leaves(problem: Problem, value: Lanes, idx: Idx) -> list[Leaf]:
    """Return every load that may reach `value` at a lane index.

    A select passes on the side that is chosen; its condition is no provenance unless it depends on
    the elements themselves, which makes the select arithmetic on them. Arithmetic passes on all
    operands. A masked-off load passes on its `other`, which is a constant or has loads of its
    own. Raises Unsupported for a load whose address is unknown.
    """
    found: list[Leaf] = []
    seen: set[tuple[int, tuple[object, ...], int]] = set()
    stack: list[tuple[Lanes, Idx, Term]] = [(value, idx, True)]
    while stack:
        node, here, live = stack.pop()
        key = (
            id(node),
            tuple(i if isinstance(i, int) else i.get_id() for i in here),
            live if isinstance(live, bool) else live.get_id(),
        )
        if live is False or key in seen:
            continue
        seen.add(key)
        if node.access is not None:
            deps = node.deps(here) if node.deps else []
            pointer, at, mask = deps[0]
            arg, offset = problem.place_of(pointer.at(at))
            found.append(Leaf(conj(live, mask), arg, offset))
            # deps are pointer, mask, other; only `other` carries elements.
            if node.access.other is not None:
                other, at, masked = deps[-1]
                stack.append((other, at, conj(live, masked)))
            continue
        deps = node.deps(here) if node.deps else []
        if node.op is not None and node.op.name == "arith.select" and len(deps) == 3:
            deps = deps[1:] if not _reads_source(problem, *deps[0]) else _whole(deps)
        stack += [(dep, at, conj(live, condition)) for dep, at, condition in deps]
    return found
