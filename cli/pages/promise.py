"""What a contract promises, in plain sentences made from its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...spec.contract import Instance, Range, WriterContract
from .rows import CacheRow, cache_rows
from .text import code, sentence


@dataclass(frozen=True)
class Symbol:
    """A dimension: its name, what it counts, and its values over the configurations."""

    name: str
    meaning: str
    values: str


@dataclass(frozen=True)
class Promise:
    """A contract in sentences.

    Args:
        where: which element goes where, a sentence for each segment.
        which: which rows are stored.
        what: which bits are stored.
        frame: what stays as it is.
        symbols: the dimensions.
        rows: the different rows of the configurations, each with the labels that have it.
    """

    where: tuple[str, ...]
    which: tuple[str, ...]
    what: str
    frame: str
    symbols: tuple[Symbol, ...]
    rows: tuple[tuple[CacheRow, tuple[str, ...]], ...]


def promise_of(instances: Sequence[tuple[str, Instance]]) -> Promise:
    """Return the promise of one contract in its configurations, each with its label."""
    contract = instances[0][1].contract
    rows: dict[CacheRow, list[str]] = {}
    for label, instance in instances:
        for row in cache_rows(instance):
            rows.setdefault(row, []).append(label)
    return Promise(
        where=tuple(where(contract)),
        which=tuple(which(contract)),
        what=sentence(contract.encode.sentence),
        frame=_frame(contract),
        symbols=tuple(
            Symbol(dim.name, dim.meaning, _values(dim.name, [one for _, one in instances]))
            for dim in contract.dims
        ),
        rows=tuple((row, tuple(labels)) for row, labels in rows.items()),
    )


def where(contract: WriterContract) -> list[str]:
    """Return which element goes where, a sentence for each segment, names between backticks."""
    return [
        f"segment {code(segment.name)}: for 0 ≤ {code('col')} < {code(segment.width)}, column "
        f"{code('col')} of row {code('row')} is element {code(segment.begin)} of "
        f"{code(segment.source)}, and is stored in {code(segment.into)} at element "
        f"{code(segment.at)}."
        for segment in contract.segments
    ]


def which(contract: WriterContract) -> list[str]:
    """Return which rows are stored and which are dropped, names between backticks."""
    arg = code(contract.slots.arg)
    kinds = " or ".join(contract.slots.dtypes)
    found = [
        f"{arg} holds one {contract.slots.unit} slot for each row, as {kinds}.",
        sentence(contract.owner.sentence),
    ]
    if contract.owner.owned is not None:
        found.append("A row of another rank is dropped without any store.")
    found += [
        f"{sentence(rule.sentence)} A row with such a slot is dropped without any store."
        for rule in contract.skip
    ]
    if not contract.skip:
        found.append("No slot is skipped: every legal slot is stored.")
    return found


def _frame(contract: WriterContract) -> str:
    caches = " and ".join(code(cache) for cache in contract.caches())
    return (
        f"Every other byte of {caches} keeps its value: other places, gaps inside a row, and what "
        "lies before and behind the cache. Sources and slot table are only read."
    )


def _values(name: str, instances: Sequence[Instance]) -> str:
    found: dict[str, None] = {}
    for instance in instances:
        value = instance.dims[name]
        ranged = isinstance(value, Range)
        found[f"{value.least:,} to {value.most:,}" if ranged else f"{value:,}"] = None
    return " · ".join(found)
