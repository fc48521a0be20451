"""The writer contract, and its instance for one configuration."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from .dtypes import dtype
from .errors import ContractError
from .expr import Expr, as_expr, substitute
from .rules import (
    CONTIGUOUS,
    DISTINCT,
    IN_POOL,
    INNER_ONE,
    NO_ALIAS,
    NON_NEGATIVE,
    SAME_ROWS,
    Cast,
    Compare,
    Copy,
    Encode,
    Given,
    Owner,
    Reserved,
    Segment,
    SkipRule,
    Slots,
    Whole,
)

#: Symbols that every contract may use, next to its own dimensions.
COMMON = frozenset({"slot", "place", "row", "col", "POOL", "ROWS", "WORLD", "RANK"})


@dataclass(frozen=True)
class Dim:
    """A dimension of the contract: a width or a stride, in elements.

    Args:
        name: symbol used in expressions.
        meaning: what it counts, in words.
        least: smallest legal value.
    """

    name: str
    meaning: str
    least: int = 0


@dataclass(frozen=True, kw_only=True)
class WriterContract:
    """What a KV-cache writer promises. Frozen data; see `docs/contract.md` for a picture.

    Args:
        name: the name used on the command line and in reports.
        promise: one plain sentence.
        slots: the slot table.
        segments: the runs of a row, each with its source and place.
        dims: the dimensions that the expressions use.
        skip: rows that must be dropped without any store.
        owner: which rank stores a slot, and where.
        encode: what bits are stored.
        given: the caller's promises.
        claims: further statements on reserved slots that are checked and reported on their own,
            without changing which rows are accepted.

    Raises:
        ContractError: a name is missing or used twice, or an expression names an unknown symbol.
    """

    name: str
    promise: str
    slots: Slots
    segments: tuple[Segment, ...]
    dims: tuple[Dim, ...]
    skip: tuple[SkipRule, ...] = ()
    owner: Owner = field(default_factory=Whole)
    encode: Encode = field(default_factory=Copy)
    given: tuple[Given, ...] = (
        NON_NEGATIVE,
        IN_POOL,
        DISTINCT,
        CONTIGUOUS,
        INNER_ONE,
        NO_ALIAS,
        SAME_ROWS,
    )
    claims: tuple[Reserved, ...] = ()

    def __post_init__(self) -> None:
        """Check names and symbols at construction."""
        if not self.segments:
            raise ContractError(
                "segments is empty", where=f"contract {self.name}", mend="name at least one"
            )
        names = [segment.name for segment in self.segments]
        if len(set(names)) != len(names):
            raise ContractError(f"segments repeat a name: {names}", where=f"contract {self.name}")
        known = COMMON | {dim.name for dim in self.dims}
        for segment in self.segments:
            for label in ("width", "at", "begin"):
                expr: Expr = getattr(segment, label)
                unknown = sorted(expr.symbols() - known)
                if unknown:
                    raise ContractError(
                        f"segment {segment.name}: {label} uses unknown symbol {unknown[0]}",
                        where=f"contract {self.name}",
                        mend="add it to dims",
                    )
        if isinstance(self.encode, Cast):
            dtype(self.encode.target)

    def arguments(self) -> tuple[str, ...]:
        """Return the names of all arguments that the contract speaks of."""
        names = [self.slots.arg]
        for segment in self.segments:
            names += [segment.into, segment.source]
        return tuple(dict.fromkeys(names))

    def caches(self) -> tuple[str, ...]:
        """Return the names of the arguments that are written."""
        return tuple(dict.fromkeys(segment.into for segment in self.segments))


@dataclass(frozen=True)
class Range:
    """An inclusive range of integers, for a dimension that is left symbolic."""

    least: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A contract in one configuration: dtypes, dimensions (numbers or ranges), bounds.

    Args:
        contract: the contract.
        dtypes: short dtype name of each argument the contract names.
        dims: value or range of each dimension, and of WORLD and RANK.
        pool: the range of POOL, the places on this rank.
        rows: the range of ROWS, the rows of one call.
        where: further conditions on dimensions that are ranges.
        config: what reports show for the configuration (dtype, loc_dtype, nope, rope, ...).

    Raises:
        ContractError: a dimension or dtype is missing or illegal, or segments overlap or
            leave the row.
    """

    contract: WriterContract
    dtypes: Mapping[str, str]
    dims: Mapping[str, int | Range]
    pool: Range
    rows: Range = Range(0, 1 << 20)
    where: tuple[Compare, ...] = ()
    config: Mapping[str, int | str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the instance at construction."""
        where = f"contract {self.contract.name}"
        for dim in self.contract.dims:
            value = self.dims.get(dim.name)
            if value is None:
                raise ContractError(f"dimension {dim.name} has no value", where=where)
            least = value if isinstance(value, int) else value.least
            if least < dim.least:
                raise ContractError(f"{dim.name}={least} is below {dim.least}", where=where)
        for name in ("WORLD", "RANK"):
            if not isinstance(self.dims.get(name), int):
                raise ContractError(f"{name} needs a number", where=where)
        if not 0 <= self.world_rank[1] < self.world_rank[0]:
            raise ContractError(f"rank {self.world_rank[1]} is not below world", where=where)
        for arg in self.contract.arguments():
            if arg not in self.dtypes:
                raise ContractError(f"argument {arg} has no dtype", where=where)
            dtype(self.dtypes[arg])
        if self.is_concrete:
            self._check_row()

    @property
    def world_rank(self) -> tuple[int, int]:
        """World size and rank."""
        world, rank = self.dims["WORLD"], self.dims["RANK"]
        assert isinstance(world, int)
        assert isinstance(rank, int)
        return world, rank

    @property
    def is_concrete(self) -> bool:
        """Whether every dimension is a number."""
        return all(isinstance(value, int) for value in self.dims.values())

    def numbers(self) -> dict[str, int]:
        """Return every dimension as a number. Raises ContractError when one is a range."""
        numbers: dict[str, int] = {}
        for name, value in self.dims.items():
            if not isinstance(value, int):
                raise ContractError(f"{name} is a range, not a number")
            numbers[name] = value
        return numbers

    def row_ends(self) -> tuple[tuple[Expr, Expr, str], ...]:
        """Return what must hold for rows to fit: (end, limit, what), each `end <= limit`.

        Segments of a cache follow each other inside a row in the order in which they are named,
        and the last ends before the first of the next place begins.
        """
        conditions: list[tuple[Expr, Expr, str]] = []
        for cache in self.contract.caches():
            mine = [segment for segment in self.contract.segments if segment.into == cache]
            for segment, following in itertools.pairwise(mine):
                conditions.append(
                    (
                        place_offset(segment, 0, segment.width),
                        place_offset(following, 0, 0),
                        f"segments {segment.name} and {following.name} overlap",
                    )
                )
            conditions.append(
                (
                    place_offset(mine[-1], 0, mine[-1].width),
                    place_offset(mine[0], 1, 0),
                    f"segment {mine[-1].name} runs past the row's stride",
                )
            )
        return tuple(conditions)

    def _check_row(self) -> None:
        """Refuse segments that overlap each other or run into the next place."""
        env = self.numbers()
        for segment in self.contract.segments:
            if segment.width.evaluate(env) < 0:
                raise ContractError(f"segment {segment.name} has a negative width")
        for end, limit, what in self.row_ends():
            if end.evaluate(env) > limit.evaluate(env):
                raise ContractError(
                    f"{what}: {end} = {end.evaluate(env)} is past {limit} = {limit.evaluate(env)}",
                    where=f"contract {self.contract.name}",
                    mend="widen the stride or narrow a segment",
                )


def place_offset(segment: Segment, place: int, col: Expr | int) -> Expr:
    """Return a segment's element offset at a numbered place, as an expression of dimensions."""
    return substitute(segment.at, {"place": as_expr(place), "col": as_expr(col)})
