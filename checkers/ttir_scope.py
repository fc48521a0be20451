"""Which SSA values and blocks an op may name: scopes of one function, one for each region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .ttir import Successor, Type
from .ttir_values import UNKNOWN


class ScopeError(ValueError):
    """A name that is used or defined where it must not be; `line` is of the IR text."""

    def __init__(self, what: str, line: int) -> None:
        """Keep the fault and its line."""
        super().__init__(what)
        self.line = line


@dataclass(slots=True)
class _Frame:
    names: list[str] = field(default_factory=list[str])
    labels: set[str] = field(default_factory=set[str])
    targets: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    # Used before any definition was read: name, line, and the index of the block that uses it.
    pending: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])


class Scope:
    """The values of one function while its text is read.

    A region's values end with it. A block may use a value of a block that is printed after it (one
    that dominates it all the same); `late` then holds the types for a second reading.
    """

    def __init__(self, late: Mapping[str, Type]) -> None:
        """Start with the types, found in a first reading, of values that are used early."""
        self._late = late
        self._types: dict[str, Type] = {}
        self._frames: list[_Frame] = []
        self.late: dict[str, Type] = {}

    def enter(self) -> None:
        """Begin a region."""
        self._frames.append(_Frame())

    def block(self, label: str, line: int) -> None:
        """Begin a block of the region. Raises ScopeError for a label that exists."""
        frame = self._frames[-1]
        if label in frame.labels:
            raise ScopeError(f"block {label} is defined twice", line)
        frame.labels.add(label)

    def define(self, name: str, kind: Type, line: int) -> None:
        """Add a value. Raises ScopeError for a name that exists, or was used in this block."""
        frame = self._frames[-1]
        if name in self._types:
            raise ScopeError(f"{name} is defined twice", line)
        self._types[name] = kind
        frame.names.append(name)
        if frame.pending:
            early = [entry for entry in frame.pending if entry[0] == name]
            for _, used, block in early:
                if block == len(frame.labels):
                    raise ScopeError(f"{name} is used before it is defined", used)
                self.late[name] = kind
            frame.pending = [entry for entry in frame.pending if entry[0] != name]

    def type_of(self, name: str, line: int) -> Type:
        """Return the type of a value; `UNKNOWN` for one whose definition comes later."""
        found = self._types.get(name)
        if found is None:
            frame = self._frames[-1]
            frame.pending.append((name, line, len(frame.labels)))
            return self._late.get(name, UNKNOWN)
        return found

    def branch(self, successors: tuple[Successor, ...], line: int) -> None:
        """Note the targets of a branch; `leave` checks that they exist."""
        self._frames[-1].targets.extend((target.block, line) for target in successors)

    def leave(self) -> None:
        """End a region. Raises ScopeError for a target or a value that nothing defines."""
        frame = self._frames.pop()
        for label, line in frame.targets:
            if label not in frame.labels:
                raise ScopeError(f"block {label} is not defined", line)
        for name in frame.names:
            del self._types[name]
        for name, line, _ in frame.pending:
            if not self._frames:
                raise ScopeError(f"{name} is not defined", line)
            outer = self._frames[-1]
            outer.pending.append((name, line, len(outer.labels)))
