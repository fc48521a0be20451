"""What a runner leaves behind, and differences in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..checkers.buffers import Event
from .api import Mismatch
from .arena import Arena
from .form import Array


@dataclass(frozen=True, eq=False)
class StoreRecord:
    """A store op that ran: the contract's argument, file:line, element offsets from its start."""

    arg: str
    line: str
    offsets: Array


@dataclass(frozen=True)
class Memory:
    """What a runner left behind.

    Args:
        storages: each storage's bytes by name.
        sparse: for sparse caches, distinct increasing element offsets and the bits stored there.
        events: accesses outside a storage, and others that a right kernel does not make.
        stores: what was recorded of store ops, for their lines.
        conflicts: bytes stored more than once.
    """

    storages: dict[str, Array]
    sparse: dict[str, tuple[Array, Array]] = field(default_factory=dict[str, tuple[Array, Array]])
    events: list[Event] = field(default_factory=list[Event])
    stores: list[StoreRecord] = field(default_factory=list[StoreRecord])
    conflicts: int = 0


def _hex(bits: int | None, width: int) -> str:
    return "nothing" if bits is None else f"0x{bits:0{width // 4}X}"


def told(item: Mismatch) -> str:
    """Return a mismatch in one line."""
    new, old = _hex(item.stored, item.bits), _hex(item.expected, item.bits)
    here = f"{item.tensor}[{item.index}]"
    if item.column is not None and item.slot is not None:
        here = f"{item.tensor} slot {item.slot} {item.segment} column {item.column}"
        here += f" (element {item.index}, row {item.row})"
    said = {
        "W1": f"stored where no row belongs: {new} at {here}, was {old}",
        "W2": f"not stored: {here} holds {new}, not {old}",
        "W4": f"stored {(item.where or 0) - (item.index or 0):+d} elements off: {here}",
        "W6": f"a skipped slot is stored: {new} at {here}, was {old}",
        "W7": f"a row past the slot table is stored: {new} at {here}",
        "W8": f"what surrounds the source is stored: {new} instead of {old} at {here}",
        "W9": f"another element is stored: {new} instead of {old} at {here}",
        "W10": f"wrong bits: {new} instead of {old} at {here}",
        "W12": f"a row of another rank is stored: {new} at {here}, was {old}",
    }[item.invariant]
    return f"{said}; {item.count} element{'s' if item.count > 1 else ''}"


def changed_input(arena: Arena, name: str, data: Array) -> Mismatch:
    """Return the mismatch of an input storage that is not what it was."""
    region = next(r for r in arena.regions.values() if r.storage == name)
    changed = (data != arena.after[name]).nonzero()[0]
    first = int(changed[0])
    size = region.form.fmt.size
    text = f"the input {name} is changed: byte {first - region.start} from its start; "
    text += f"{changed.size} bytes"
    return Mismatch(
        invariant="W8",
        tensor=name,
        text=text,
        count=int(changed.size),
        index=(first - region.start) // size,
        stored=int(data[first]),
        expected=int(arena.after[name][first]),
    )


def event_mismatches(memory: Memory) -> list[Mismatch]:
    """Return a mismatch for each thing that a right kernel does not do."""
    named = {"load outside": "W8", "store outside": "W1", "undefined": "W4", "order": "W13"}
    found: list[Mismatch] = []
    for event in memory.events:
        text = f"{event.kind} {event.arg}".strip()
        if event.offset is not None:
            text += f" at element {event.offset}"
        if event.note:
            text += f": {event.note}"
        found.append(
            Mismatch(
                invariant=named.get(event.kind, "W1"),
                tensor="",
                text=text,
                count=event.count,
                index=event.offset,
                line=event.line,
            )
        )
    return found
