"""Explaining an invariant or a contract, from the data that the checks use."""

from __future__ import annotations

import difflib
from typing import Final

from rich.console import Console
from rich.text import Text

from ..spec.builtin import CONTRACTS
from ..spec.contract import WriterContract
from ..spec.errors import KvproofError
from ..spec.invariants import INVARIANTS, Invariant
from .contractpage import print_contract
from .layout import labelled, wrapped, write

#: What a break of each invariant looks like to the one who meets it.
LOOKS: Final = {
    "W1": "a row that is too wide runs on into the next slot, and another request reads it",
    "W2": "the last columns of a row keep what an earlier request left there",
    "W3": "a cache that is a view of a larger tensor is written as if it began at 0",
    "W4": "int32 slots times a row stride of 576 pass 2^31 at slot 3,728,271, and the row lands "
    "before the cache",
    "W5": "a page number is taken for a token number, and two tokens share one place",
    "W6": "padding rows of a CUDA graph point to slot 0; the writer stores their NaN there, and "
    "attention multiplies slot 0 into real answers",
    "W7": "the grid is rounded down, and the last rows of the batch are never written",
    "W8": "a slice of a wider tensor is read at the slice's width instead of its stride",
    "W9": "the rotary part begins one column too late, so every key is shifted",
    "W10": "rows pass through an addition of 0.0, and -0.0 comes out as 0.0; or a cast rounds "
    "toward zero",
    "W11": "the scale is clamped before it is stored but after it was used",
    "W12": "with two ranks, rank 0 also stores the rows of rank 1, over rows of its own",
    "W13": "two programs store the same column, and the one that comes last wins",
    "W14": "batches of 768 rows and more take a faster path that skips another slot",
    "W15": "slots are loaded before the wait, while the kernel before still writes them",
    "W16": "rows are copied in place, and one is overwritten before it is read",
    "W17": "a reserved row holds NaN, and 0 times NaN is NaN in every row that attends to it",
}


def print_explanation(console: Console, name: str) -> None:
    """Write the page of an invariant or a contract. Raises KvproofError on an unknown name."""
    found = INVARIANTS.get(name.upper())
    if found is not None:
        _invariant(console, found)
        return
    contract = CONTRACTS.get(name)
    if contract is None:
        known = [*INVARIANTS, *CONTRACTS]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or ["W1 to W17", *CONTRACTS]
        raise KvproofError(
            f"neither an invariant nor a contract is named {name!r}",
            mend=f"use {', '.join(near)}",
        )
    print_contract(console, contract)


def speakers(found: Invariant) -> list[str]:
    """Return the built-in contracts that an invariant says something of."""
    if found.decided.startswith("out of reach"):
        return []
    return [name for name, contract in CONTRACTS.items() if _speaks(found.id, contract)]


def _speaks(name: str, contract: WriterContract) -> bool:
    if name == "W6":
        return bool(contract.skip or contract.claims)
    if name == "W12":
        return contract.owner.owned is not None
    return True


def _invariant(console: Console, found: Invariant) -> None:
    write(console, Text(f"{found.id} {found.title}", style="bold"))
    wrapped(console, found.sentence)
    console.print()
    labelled(console, "decided by", found.decided)
    labelled(console, "broken", f"{found.broken}: {LOOKS[found.id]}")
    named = speakers(found)
    labelled(console, "contracts", ", ".join(named) if named else "none that is built in")
    if found.id == "W6":
        for name in named:
            rules = [rule.sentence for rule in CONTRACTS[name].skip]
            rules += [f"{claim.sentence} (a further statement)" for claim in CONTRACTS[name].claims]
            labelled(console, "", f"{name}: {'; '.join(rules)}")
