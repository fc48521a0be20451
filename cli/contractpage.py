"""A contract in plain sentences, read off its data."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..spec.contract import WriterContract
from ..spec.reference import holds, skipped
from ..spec.rules import Reserved
from .layout import heading, labelled, wrapped, write
from .pages.promise import where, which
from .pages.text import plain, sentence

_WORLD = 2
_SLOTS = 6


def print_contract(console: Console, contract: WriterContract) -> None:
    """Write the page of a contract."""
    write(console, Text(contract.name, style="bold"))
    wrapped(console, contract.promise)
    heading(console, "Arguments")
    slots = contract.slots
    labelled(
        console, slots.arg, f"the slot table: one {slots.unit} slot per row, {_or(slots.dtypes)}"
    )
    for cache in contract.caches():
        labelled(console, cache, f"the cache that is written{_shape(contract, cache)}")
    for source in dict.fromkeys(segment.source for segment in contract.segments):
        names = [segment.name for segment in contract.segments if segment.source == source]
        shape = _shape(contract, source)
        labelled(console, source, f"the rows of segment {', '.join(names)}{shape}")
    heading(console, "Where")
    for text in where(contract):
        wrapped(console, sentence(plain(text)))
    for dim in contract.dims:
        packed = "" if dim.packed is None else f"; {dim.packed} where none is given"
        labelled(console, dim.name, f"{dim.meaning}{packed}")
    heading(console, "Which rows")
    for text in which(contract):
        wrapped(console, plain(text))
    heading(console, "What")
    wrapped(console, sentence(contract.encode.sentence))
    heading(console, "Given (promises of the caller)")
    for given in contract.given:
        kept = "" if given.droppable else " (always assumed)"
        wrapped(console, f"{given.sentence}{kept}")
    _reserved(console, contract)


def _shape(contract: WriterContract, arg: str) -> str:
    """Say how an argument is passed, where the contract states it."""
    stated = contract.shape(arg)
    return "" if stated is None else f", [{', '.join(str(size) for size in stated.sizes)}]"


def _reserved(console: Console, contract: WriterContract) -> None:
    reserved = [rule for rule in contract.skip if isinstance(rule, Reserved)]
    if not reserved and not contract.claims:
        return
    heading(console, "Reserved slots: virtual and local")
    wrapped(
        console,
        "A virtual slot is the number in the slot table. A local slot is the place in the cache of "
        "one rank.",
    )
    if contract.owner.owned is None:
        wrapped(
            console,
            "This writer is not sharded: both are the same number, so "
            + " and ".join(f'"{rule.sentence}"' for rule in reserved)
            + " also keeps that place of the cache untouched. Under sharding they differ; see "
            "`kvproof explain mla-row-sharded`.",
        )
        return
    wrapped(console, f"With {_WORLD} ranks:")
    _example(console, contract)
    for rule in (*reserved, *contract.claims):
        wrapped(console, f"{sentence(rule.sentence)} {_meaning(contract, rule)}")


def _example(console: Console, contract: WriterContract) -> None:
    table = Table(box=None, padding=(0, 2), pad_edge=True, header_style="bold")
    for title in ("virtual slot", "rank", "local slot", "the row is"):
        table.add_column(title, justify="left" if title == "the row is" else "right")
    for slot in range(_SLOTS):
        rank, place = _home(contract, slot)
        env = {"slot": slot, "place": place, "WORLD": _WORLD, "RANK": rank, "POOL": _SLOTS}
        dropped = skipped(contract.skip, env) is not None
        what = "padding, dropped" if dropped else f"stored on rank {rank}"
        table.add_row(str(slot), str(rank), str(place), what)
    console.print(table)


def _meaning(contract: WriterContract, rule: Reserved) -> str:
    """Say which rows of the example a statement on a reserved slot speaks of."""
    slots = [slot for slot in range(_SLOTS) if _matches(contract, rule, slot)]
    real = [
        slot
        for slot in slots
        if not any(_matches(contract, r, slot) for r in contract.skip if isinstance(r, Reserved))
    ]
    if not real:
        return "That is padding, and every rank must keep it: it is part of the contract."
    homes = ", ".join(f"virtual slot {slot} on rank {_home(contract, slot)[0]}" for slot in real)
    return (
        f"That is another statement: {homes} is a real token and lives there. A right writer "
        "stores it, so this statement does not hold on that rank; it is checked and told on its "
        "own, for readers who take local slot 0 for padding on every rank."
    )


def _matches(contract: WriterContract, rule: Reserved, slot: int) -> bool:
    rank, place = _home(contract, slot)
    return holds(rule.condition, {"slot": slot, "place": place, "WORLD": _WORLD, "RANK": rank})


def _home(contract: WriterContract, slot: int) -> tuple[int, int]:
    """Return (rank, place) of a virtual slot in the example."""
    owned = contract.owner.owned
    for rank in range(_WORLD):
        env = {"slot": slot, "WORLD": _WORLD, "RANK": rank}
        if owned is None or holds(owned, env):
            return rank, int(contract.owner.place.evaluate(env))
    raise AssertionError(slot)


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(names)
