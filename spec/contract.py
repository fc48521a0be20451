"""The writer contract, and its instance for one configuration."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from .construction import check_contract, check_dtype
from .errors import ContractError
from .expr import Expr, as_expr, substitute
from .layout import clash, misfit
from .rules import (
    CONTIGUOUS,
    DISTINCT,
    IN_POOL,
    INNER_ONE,
    NO_ALIAS,
    NON_NEGATIVE,
    SAME_ROWS,
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
from .shapes import TensorShape


@dataclass(frozen=True)
class Dim:
    """A dimension of the contract: a count, a width or a stride, in elements.

    Args:
        name: symbol used in expressions.
        meaning: what it counts, in words.
        least: smallest legal number of elements, heads or tokens.
        packed: what it is where none is given, an expression of the dimensions before it: the
            stride of rows without a gap; None where it must be given.
    """

    name: str
    meaning: str
    least: int = 0
    packed: Expr | int | None = None


@dataclass(frozen=True, kw_only=True)
class WriterContract:
    """What a KV-cache writer promises. Frozen data; see `docs/contracts-howto.md` for a picture.

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
        shapes: how arguments are passed that are not [places, width] or [ROWS, width].

    Raises:
        ContractError: a field has another type, is empty, or contradicts another: a name is used
            twice, an expression uses a symbol that it cannot, a cache is a source too.
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
    shapes: tuple[TensorShape, ...] = ()

    def __post_init__(self) -> None:
        """Check every field at construction."""
        check_contract(self)

    def arguments(self) -> tuple[str, ...]:
        """Return the names of all arguments that the contract speaks of."""
        names = [self.slots.arg]
        for segment in self.segments:
            names += [segment.into, segment.source]
        return tuple(dict.fromkeys(names))

    def caches(self) -> tuple[str, ...]:
        """Return the names of the arguments that are written."""
        return tuple(dict.fromkeys(segment.into for segment in self.segments))

    def shape(self, arg: str) -> TensorShape | None:
        """Return how an argument is passed; None where it is [places or ROWS, width]."""
        return next((shape for shape in self.shapes if shape.arg == arg), None)

    def packed(self, given: Mapping[str, int], *, gap: int = 0) -> dict[str, int]:
        """Return the dimensions with every stride that can be told from those that are given.

        Args:
            given: numbers by name.
            gap: elements added to each stride that is told.

        A stride is packed where none is given; one whose widths are missing is left out.
        """
        found = dict(given)
        for dim in self.dims:
            packed = None if dim.packed is None else as_expr(dim.packed)
            if packed is not None and dim.name not in found and packed.symbols() <= found.keys():
                found[dim.name] = int(packed.evaluate(found)) + gap
        return found


@dataclass(frozen=True)
class Range:
    """An inclusive range of integers, for a dimension that is left symbolic.

    Args:
        least: the smallest of them, in the unit of what the range is of: elements, places, rows.
        most: the largest of them, in elements, places or rows likewise.
    """

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
        ContractError: a dimension or dtype is missing, unknown or illegal, or segments overlap or
            run into the next row or page.
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
                raise ContractError(
                    f"dimension {dim.name} ({dim.meaning}) has no value",
                    where=where,
                    mend=f"add {dim.name} to dims",
                )
            least = value if isinstance(value, int) else value.least
            if least < dim.least:
                raise ContractError(
                    f"{dim.name}={least} is below {dim.least}",
                    where=where,
                    mend=f"{dim.name} is {dim.meaning}",
                )
        for name in ("WORLD", "RANK"):
            if not isinstance(self.dims.get(name), int):
                raise ContractError(
                    f"{name} needs a number", where=where, mend="add WORLD and RANK to dims"
                )
        if not 0 <= self.world_rank[1] < self.world_rank[0]:
            raise ContractError(
                f"rank {self.world_rank[1]} is not below world size {self.world_rank[0]}",
                where=where,
                mend="ranks count from 0",
            )
        for arg in self.contract.arguments():
            if arg not in self.dtypes:
                raise ContractError(
                    f"argument {arg} has no dtype", where=where, mend=f"add {arg} to dtypes"
                )
            check_dtype(self.dtypes[arg], where=f"{where}, dtype of {arg}")
        slots = self.contract.slots
        if self.dtypes[slots.arg] not in slots.dtypes:
            raise ContractError(
                f"slots of {self.dtypes[slots.arg]} are not allowed",
                where=where,
                mend=f"use {' or '.join(slots.dtypes)}",
            )
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
                raise ContractError(
                    f"segment {segment.name} has a negative width",
                    where=f"contract {self.contract.name}",
                    mend=f"its width is {segment.width}",
                )
        for cache in self.contract.caches():
            mine = [segment for segment in self.contract.segments if segment.into == cache]
            meets = clash(mine, env)
            if meets:
                raise ContractError(
                    meets,
                    where=f"contract {self.contract.name}, cache {cache}",
                    mend="widen the stride or narrow a segment",
                )
        for shape in self.contract.shapes:
            smaller = misfit(shape, self.contract.segments, env)
            if smaller:
                raise ContractError(
                    smaller,
                    where=f"contract {self.contract.name}, shapes",
                    mend="state the sizes and strides that the segments use",
                )


def place_offset(segment: Segment, place: int, col: Expr | int) -> Expr:
    """Return a segment's element offset at a numbered place, as an expression of dimensions."""
    return substitute(segment.at, {"place": as_expr(place), "col": as_expr(col)})
