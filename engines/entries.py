"""What the catalogue of engines is made of: frozen data, nothing that decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ..spec.call import Switches


@dataclass(frozen=True)
class EngineModule:
    """One file of an engine that holds writers, in the versions where it reads the same.

    Args:
        engine: normalised distribution name.
        versions: PEP 440 specifier of the releases this entry speaks for.
        file: path of the file inside the wheel (or the sdist, below its top folder).
        module: dotted name the file is loaded under.
        stub_roots: packages of which every other module is replaced by a stub.
    """

    engine: str
    versions: str
    file: str
    module: str
    stub_roots: tuple[str, ...]

    def covers(self, version: str) -> bool:
        """Return whether this entry speaks for `version`; pre-releases count as any other."""
        return SpecifierSet(self.versions).contains(Version(version), prereleases=True)


@dataclass(frozen=True)
class Parameters:
    """Keyword names of a host function's parameters, by what they are for.

    Args:
        cache: the tensor written, [slots, *middle, row width].
        slots: the slot of each token, [tokens].
        nope: first source, [tokens, *middle, nope width].
        rope: second source, [tokens, *middle, rope width]; may be None where a `Row` says so.
        reserved: the reserved slot index, a keyword with a default; None where there is no such
            parameter.
        cast: the torch dtype stored; None where there is no such parameter.
        world: number of shards; None where the function finds it elsewhere or does not shard.
        rank: this shard; None as for `world`.
        middle: sizes between the first and the last dimension of cache and sources.
    """

    cache: str
    slots: str
    nope: str
    rope: str
    reserved: str | None = None
    cast: str | None = None
    world: str | None = None
    rank: str | None = None
    middle: tuple[int, ...] = ()


@dataclass(frozen=True)
class Row:
    """The widths and element formats of one cache row as an engine passes them.

    Args:
        nope: elements of the first source row.
        rope: elements of the second source row; 0 is a tensor of width 0, None is no tensor.
        source: dtype of both sources (short name).
        cache: dtype of the cache as passed.
        cast: dtype passed as a torch dtype; None where the function takes none.
        use: where the engine stores such rows.
    """

    nope: int
    rope: int | None
    source: str
    cache: str
    cast: str | None = None
    use: str = ""

    @property
    def width(self) -> int:
        """Elements of a source row, nope and rope together."""
        return self.nope + (self.rope or 0)


@dataclass(frozen=True)
class Shard:
    """One rank of a context-parallel group, and how the function learns of it.

    Args:
        rank: 0 to world - 1.
        world: ranks that share the slots; 1 means that nothing is sharded.
        switches: what the function reads the rank and the world from; empty where it reads neither
            or takes them as arguments.
    """

    rank: int
    world: int
    switches: Switches = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Platform:
    """What the engine finds out about the machine, set so that a call reaches a Triton kernel.

    Args:
        name: short, for reports.
        switches: values for what the file reads from the machine.
    """

    name: str
    switches: Switches = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Axes:
    """The choices that reach different branches of a writer; every combination is a call.

    The first entry of each axis is the most common one.

    Args:
        rows: widths and element formats.
        slots: dtypes of the slot table.
        shards: context-parallel ranks.
        platforms: machine settings.
    """

    rows: tuple[Row, ...]
    slots: tuple[str, ...]
    shards: tuple[Shard, ...]
    platforms: tuple[Platform, ...]


@dataclass(frozen=True)
class Unproved:
    """A path of a writer that launches no Triton kernel: no proof speaks for it.

    Args:
        name: short, for reports.
        kind: "cuda" for a compiled kernel, "torch" for eager torch operations.
        callable: dotted name of what runs in place of a Triton kernel.
        when: when the writer takes this path, in words.
        switches: values under which the writer takes it.
        fewest_tokens: tokens from which on it is taken.
    """

    name: str
    kind: Literal["cuda", "torch"]
    callable: str
    when: str
    switches: Switches = field(default_factory=dict, hash=False)
    fewest_tokens: int = 1


@dataclass(frozen=True)
class Writer:
    """A host function that writes rows into a cache.

    Args:
        name: unique within its module, as reports and the command line name it.
        module: where it is.
        callable: attribute of the module.
        contract: name of the built-in contract it must keep.
        parameters: keyword names by role.
        axes: the calls to check.
        launches: "triton" where every combination of the axes launches a Triton kernel, "torch"
            where none does: such a writer can be run and compared, never proved.
        unproved: paths outside the axes that no proof speaks for.
        note: what a reader of the report should know.
    """

    name: str
    module: EngineModule
    callable: str
    contract: str
    parameters: Parameters
    axes: Axes
    launches: Literal["triton", "torch"] = "triton"
    unproved: tuple[Unproved, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Engine:
    """An engine whose released writers are catalogued.

    Args:
        name: normalised distribution name.
        releases: catalogued versions, oldest first.
        modules: files, each with the versions it speaks for.
        writers: host functions of these files.
    """

    name: str
    releases: tuple[str, ...]
    modules: tuple[EngineModule, ...]
    writers: tuple[Writer, ...]


@dataclass(frozen=True)
class Configuration:
    """One combination of a writer's axes."""

    row: Row
    slots: str
    shard: Shard
    platform: Platform

    @property
    def switches(self) -> dict[str, tuple[str, object]]:
        """Values for everything the engine reads from its surroundings in this call."""
        return {**self.platform.switches, **self.shard.switches}

    @property
    def label(self) -> str:
        """Return the combination in one phrase, e.g. "nope 512 bf16, rope 64, i64 slots"."""
        row = self.row
        parts = [f"nope {row.nope} {row.source}"]
        parts.append("no rope" if row.rope is None else f"rope {row.rope}")
        if row.cache != row.source:
            parts.append(f"{row.cache} cache")
        if row.cast is not None:
            parts.append(f"stored as {row.cast}")
        parts.append(f"{self.slots} slots")
        if self.shard.world > 1:
            parts.append(f"rank {self.shard.rank} of {self.shard.world}")
        parts.append(self.platform.name)
        return ", ".join(parts)
