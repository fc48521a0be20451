"""What kvproof knows: engines and their writers, contracts, invariants."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ..engines.catalogue import ENGINES, configurations, writers
from ..engines.target import Target, parse_target
from ..spec.builtin import CONTRACTS
from ..spec.invariants import INVARIANTS, PROVED_BY_CHECK
from .layout import counted, heading, labelled, wrapped, write


def print_listing(console: Console, asked: str = "") -> None:
    """Write the catalogue. Raises KvproofError when `asked` is no catalogued release."""
    if asked:
        _writers(console, parse_target(asked))
        return
    write(console, Text("Engines", style="bold"))
    for engine in ENGINES.values():
        labelled(console, engine.name, ", ".join(engine.releases))
    for engine in ENGINES.values():
        console.print()
        _writers(console, Target(engine.name, engine.releases[-1]))
    heading(console, "Contracts (kvproof explain NAME)")
    for contract in CONTRACTS.values():
        write(console, Text(f"  {contract.name}"))
        wrapped(console, contract.promise, indent=6)
    heading(console, "Invariants (kvproof explain W6)")
    for one in INVARIANTS.values():
        decided = "" if one.id in PROVED_BY_CHECK else " (not by a check)"
        labelled(console, one.id, f"{one.title}{decided}")


def _writers(console: Console, target: Target) -> None:
    found = writers(target.engine, target.version)
    write(console, Text(f"Writers of {target}", style="bold"))
    for writer in found:
        count = counted(len(configurations(writer)), "configuration")
        run = "" if writer.launches == "triton" else ", eager torch: not proved"
        write(console, Text(f"  {writer.name}"))
        wrapped(
            console,
            f"{writer.module.module}.{writer.callable}, contract {writer.contract}, {count}{run}",
            indent=6,
        )
