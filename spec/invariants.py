"""The invariants W1 to W17: one id, one sentence, and how each is decided.

Source: 118 public bug reports about writers of KV caches, about what moves their rows, and about
the readers that they poisoned; each report breaks at least one invariant.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import KvproofError


@dataclass(frozen=True)
class Invariant:
    """One invariant of a KV-cache writer.

    Args:
        id: "W1" to "W17".
        title: two or three words.
        sentence: the invariant, for a reader of a report.
        decided: how kvproof decides it: "proof", "run", or why it is out of reach.
        broken: what is said when it is refuted.
    """

    id: str
    title: str
    sentence: str
    decided: str
    broken: str


_TABLE = (
    Invariant(
        "W1",
        "frame",
        "Every byte outside the addressed segments of accepted rows is unchanged.",
        "proof: no store leaves the segments of the accepted row whose slot it loaded",
        "a byte outside the addressed segments is stored",
    ),
    Invariant(
        "W2",
        "completeness",
        "Every column of every segment of every accepted row is stored.",
        "proof: a program and lane are named for each row and column; what is stored there is "
        "W9's and W10's",
        "a column of an accepted row is not stored",
    ),
    Invariant(
        "W3",
        "layout",
        "Addresses come only from the view's real storage offset and strides.",
        "run: layouts of the memory arena; the proofs use the captured strides",
        "an address does not follow the view's strides",
    ),
    Invariant(
        "W4",
        "address width",
        "No address or mask is computed in a type that wraps for a legal slot, row or column.",
        "proof, with the largest safe range when it is broken",
        "an address wraps",
    ),
    Invariant(
        "W5",
        "index space",
        "Slots have a declared unit and space; the map to places is injective.",
        "run: distinct slots must end in distinct places",
        "two slots share a place",
    ),
    Invariant(
        "W6",
        "skip set",
        "A slot of the skip set causes no store in any segment.",
        "proof: no store happens for a row whose slot is skipped",
        "a reserved slot is stored",
    ),
    Invariant(
        "W7",
        "row count",
        "Exactly the rows of the slot table are processed; n = 0 raises nothing.",
        "proof for every n from the grid as a function of n; n = 0 by a captured call",
        "rows processed differ from the slot table",
    ),
    Invariant(
        "W8",
        "source",
        "Sources and slots are read inside their rows at their real strides and never stored.",
        "proof: each element that reaches a store lies in its row of a source, and every load "
        "stays inside its tensor",
        "a source is not read at its real rows",
    ),
    Invariant(
        "W9",
        "segments",
        "The element stored at a segment's column is that column of that segment's source.",
        "proof, for the widths of the configuration or for all of them",
        "a column carries another element",
    ),
    Invariant(
        "W10",
        "encoding",
        "The stored bits are the declared encoding of the element, -0.0 and NaN included.",
        "proof: bit-vectors and IEEE arithmetic; casts as declared functions whose tables are "
        "checked by runs",
        "the stored bits are not the declared encoding",
    ),
    Invariant(
        "W11",
        "scale agreement",
        "The scale used to quantise equals the scale decoded from the stored bytes.",
        "out of reach: no built-in contract has a quantiser yet",
        "payload and scale disagree",
    ),
    Invariant(
        "W12",
        "ownership",
        "A rank stores only slots that it owns.",
        "proof: no store happens for a row of another rank; with W2, the union over ranks is "
        "the unsharded result",
        "a row of another rank is stored",
    ),
    Invariant(
        "W13",
        "order",
        "No two programs or lanes store the same byte.",
        "proof: two arbitrary lanes of distinct rows, and of one row",
        "one byte is stored twice",
    ),
    Invariant(
        "W14",
        "path equivalence",
        "All paths of a writer give the same bytes and the same skips.",
        "run: each path against the reference",
        "two paths disagree",
    ),
    Invariant(
        "W15",
        "dependency order",
        "Nothing made by an earlier kernel is loaded before the dependency wait.",
        "static rule over the IR: no load above the wait",
        "memory is loaded before the dependency wait",
    ),
    Invariant(
        "W16",
        "relocation",
        "Move, copy and swap have simultaneous semantics.",
        "out of reach: writers only, no movers yet",
        "a moved row is overwritten before it is read",
    ),
    Invariant(
        "W17",
        "finite sink",
        "After any padding the reserved rows are finite.",
        "follows from W1 and W6 for a writer; a reader is out of reach",
        "a reserved row holds NaN",
    ),
)
INVARIANTS = {invariant.id: invariant for invariant in _TABLE}

#: The invariants that a check decides by proof, in the order of its table.
PROVED_BY_CHECK = ("W1", "W2", "W4", "W6", "W7", "W8", "W9", "W10", "W12", "W13", "W15")


def invariant(name: str) -> Invariant:
    """Return the invariant of that id, in any case. Raises KvproofError on an unknown one."""
    found = INVARIANTS.get(name.upper())
    if found is None:
        raise KvproofError(f"unknown invariant {name!r}", mend="use W1 to W17")
    return found
