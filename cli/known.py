"""Faults that are known: what a mark or an argument says, as reasons by test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..spec.errors import KvproofError

if TYPE_CHECKING:
    import pytest

    from .contracttest import ContractTest

MARK = "kvproof_known"
#: The line that `pytest --markers` shows.
ABOUT = (
    f"{MARK}(id, *, reason, link): on a contract test: its test of that id ('W6', or "
    "'W6-bf16-i64') must fail, for that reason and as that report says (xfail, strict)."
)


def known_of(
    test: ContractTest, names: Sequence[str], inherited: Iterable[pytest.Mark]
) -> Mapping[str, str]:
    """Return a contract test's `known`, and what marks add.

    Args:
        test: the contract test, with the marks above it.
        names: the ids of its tests.
        inherited: marks of its class and module; those of other tests' ids are passed over.

    Raises KvproofError: a mark without an id, a reason or a link, or an id with two reasons.
    """
    if not isinstance(test.known, Mapping):
        return test.known  # refused with the other arguments
    marked: dict[str, str] = {}
    for mark in (*test.pytestmark, *inherited):
        if mark.name == MARK:
            name, text = _read(mark)
            mine = any(f"{one}-".startswith(f"{name}-") for one in names)
            if not mine and mark not in test.pytestmark:
                continue
            if {**test.known, **marked}.get(name, text) != text:
                raise KvproofError("two reasons", where=f"known[{name!r}]", mend="give one")
            marked[name] = text
    return {**test.known, **marked} if marked else test.known


def _read(mark: pytest.Mark) -> tuple[str, str]:
    example = f"{MARK}('W6', reason='stores padding', link='https://...')"
    if len(mark.args) != 1 or not isinstance(mark.args[0], str):
        raise KvproofError("it names no test", where=f"mark {MARK}", mend=f"write {example}")
    parts: list[str] = []
    for name in ("reason", "link"):
        value = mark.kwargs.get(name)
        if not isinstance(value, str) or not value.strip():
            raise KvproofError(f"no {name}", where=f"mark {MARK}", mend=f"write {example}")
        parts.append(value.strip())
    if unknown := sorted(set(mark.kwargs) - {"reason", "link"}):
        what = f"unknown argument {unknown[0]!r}"
        raise KvproofError(what, where=f"mark {MARK}", mend=f"write {example}")
    return mark.args[0], ": ".join(parts)
