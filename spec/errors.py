"""Errors that a person reads: one line that says what, where, and how to mend it."""

from __future__ import annotations


class KvproofError(Exception):
    """A fault of the input or the surroundings, told in one line.

    Args:
        what: the thing that is wrong, named.
        where: the file, argument, field or target it was found in; empty when `what` says it.
        mend: what the user can do about it; empty when nothing can be done.
    """

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        """Join the three parts into one line."""
        parts = [f"{where}: {what}" if where else what]
        if mend:
            parts.append(mend)
        super().__init__(" - ".join(" ".join(part.split()) for part in parts))
        self.what = what
        self.where = where
        self.mend = mend


class ContractError(KvproofError):
    """A contract that contradicts itself or does not fit the function it is asked of."""
