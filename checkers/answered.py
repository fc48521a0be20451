"""Answers of the solver, kept for the next equal question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

#: Questions that are kept, at most.
LIMIT = 4096


@dataclass(frozen=True)
class Answer:
    """What the solver said.

    Args:
        status: "unsat" (the promise holds), "sat" (broken) or "unknown".
        model: the model of a "sat".
        seconds: time it took; 0 for one that was kept.
        reason: why it is "unknown".
    """

    status: str
    model: Any = None
    seconds: float = 0.0
    reason: str = ""


@dataclass
class Answered:
    """Questions with their answers; kernels of one writer ask many in common.

    z3 makes equal terms of one context one node, so a set of node numbers names a conjunction for
    as long as its nodes live. Each entry holds them.

    Args:
        limit: questions that are kept; the oldest goes first.
    """

    limit: int = LIMIT
    _kept: dict[tuple[bool, frozenset[int]], tuple[Sequence[Any], Answer]] = field(
        default_factory=dict
    )

    def find(self, terms: Sequence[Any], *, integers: bool = False) -> Answer | None:
        """Return the answer to a conjunction that was asked before, or None.

        Args:
            terms: z3 terms of the conjunction, in any order.
            integers: whether the question was asked over integers.
        """
        found = self._kept.get(_key(terms, integers=integers))
        return None if found is None else replace(found[1], seconds=0.0)

    def keep(self, terms: Sequence[Any], answer: Answer, *, integers: bool = False) -> None:
        """Keep an answer, unless it is "unknown": more time may answer that."""
        if answer.status == "unknown":
            return
        if len(self._kept) >= self.limit:
            del self._kept[next(iter(self._kept))]
        self._kept[_key(terms, integers=integers)] = (tuple(terms), answer)


def _key(terms: Sequence[Any], *, integers: bool) -> tuple[bool, frozenset[int]]:
    return integers, frozenset(item.get_id() for item in terms)
