"""The parts a contract is made of: slots, skip rules, ownership, segments, encodings, assumptions.

Everything is frozen data. A rule states what it means in one sentence (`sentence`) and, where it
is a condition on a slot, as comparisons of expressions, so that every domain evaluates the same
statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ContractError
from .expr import Const, Expr, Sym, as_expr

SLOT = Sym("slot")
PLACE = Sym("place")
COL = Sym("col")
ROW = Sym("row")
POOL = Sym("POOL")
ROWS = Sym("ROWS")
WORLD = Sym("WORLD")
RANK = Sym("RANK")


@dataclass(frozen=True)
class Compare:
    """`left op right`, on signed integers.

    Args:
        op: one of == != < <= > >=.
        left: an expression of `slot`, `place` and dimensions.
        right: another.
    """

    op: str
    left: Expr
    right: Expr

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True, kw_only=True)
class Slots:
    """The slot table.

    Args:
        arg: argument of the host function that holds one slot per row, shape [ROWS].
        dtypes: slot dtypes that the writer accepts, of "i32" and "i64".
        unit: what a slot counts: "token".

    Raises:
        ContractError: a dtype is none of the two, or the unit is another word.
    """

    arg: str
    dtypes: tuple[str, ...] = ("i32", "i64")
    unit: str = "token"

    def __post_init__(self) -> None:
        """Check dtypes and unit."""
        if not set(self.dtypes) <= {"i32", "i64"}:
            raise ContractError(
                f"{self.dtypes!r} are no dtypes of a slot table",
                where="Slots.dtypes",
                mend='use ("i32", "i64") or one of them',
            )
        if self.unit != "token" or not self.dtypes:
            what = f"unknown unit {self.unit!r}" if self.dtypes else "no dtype is allowed"
            raise ContractError(what, where="Slots", mend='unit is "token", dtypes name one or two')


@dataclass(frozen=True)
class Reserved:
    """A slot that padding rows point to; its bytes must never change.

    Args:
        index: the slot.
        space: "virtual" when the slot table's own numbers are meant; "local" when the place on
            this rank is meant, after sharding. Both statements can be made; they differ.

    Raises:
        ContractError: `index` is below zero, or `space` is another word.
    """

    index: int
    space: str = "virtual"

    def __post_init__(self) -> None:
        """Refuse a sentinel, which is no slot of the pool."""
        if self.index < 0:
            raise ContractError(
                f"{self.index} is no slot of a pool",
                where="Reserved.index",
                mend=f"write Exactly({self.index}), or Negative() for every slot below zero",
            )
        if self.space not in ("virtual", "local"):
            raise ContractError(
                f"unknown space {self.space!r}", where="Reserved.space", mend="virtual or local"
            )

    @property
    def condition(self) -> Compare:
        """The condition under which a row is skipped."""
        return Compare("==", SLOT if self.space == "virtual" else PLACE, Const(self.index))

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return f"{self.space} slot {self.index} is never stored"


@dataclass(frozen=True)
class Negative:
    """Rows whose slot is below zero are dropped."""

    @property
    def condition(self) -> Compare:
        """The condition under which a row is skipped."""
        return Compare("<", SLOT, Const(0))

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return "a negative slot is never stored"


@dataclass(frozen=True)
class Exactly:
    """Rows whose slot is exactly this sentinel are dropped.

    Args:
        index: the slot, usually below zero.
    """

    index: int = -1

    @property
    def condition(self) -> Compare:
        """The condition under which a row is skipped."""
        return Compare("==", SLOT, Const(self.index))

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return f"slot {self.index} is never stored"


@dataclass(frozen=True)
class BeyondPool:
    """Rows whose slot is the pool's size or more are dropped."""

    @property
    def condition(self) -> Compare:
        """The condition under which a row is skipped."""
        return Compare(">=", SLOT, POOL * WORLD)

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return "a slot past the pool is never stored"


SkipRule = Reserved | Negative | Exactly | BeyondPool


@dataclass(frozen=True)
class Whole:
    """No sharding: every rank stores every slot at the place of the same number.

    Args:
        place: where a slot is stored, an expression of `slot`; leave it as it is.
        owned: the condition that this rank stores the slot; None: always.
    """

    place: Expr = SLOT
    owned: Compare | None = None

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return "every accepted slot is stored at the place of the same number"


@dataclass(frozen=True)
class Interleaved:
    """Context-parallel sharding, interleaved by token.

    Rank `slot % WORLD` stores the slot, at place `slot // WORLD` of its own pool.

    Args:
        place: where a slot is stored, an expression of `slot` and `WORLD`; leave it as it is.
        owned: the condition that rank `RANK` stores the slot; leave it as it is.
    """

    place: Expr = SLOT // WORLD
    owned: Compare | None = Compare("==", SLOT % WORLD, RANK)

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return "rank slot % WORLD stores the slot, at place slot // WORLD"


Owner = Whole | Interleaved


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A run of a row's elements that comes from one source.

    Args:
        name: the segment's name, e.g. "nope".
        source: argument that holds the rows, shape [ROWS, ..., width], innermost stride 1.
        into: argument of the cache.
        width: elements per row.
        at: element offset in the cache, an expression of `place`, `col` and dimensions.
        begin: element offset of the row's element inside the source, an expression of `row`,
            `col` and dimensions.

    A plain number stands for a constant expression.
    """

    name: str
    source: str
    into: str
    width: Expr
    at: Expr
    begin: Expr

    def __post_init__(self) -> None:
        """Take a plain number for an expression."""
        _as_exprs(self, ("width", "at", "begin"))


@dataclass(frozen=True)
class Copy:
    """Every element is stored bit for bit."""

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return "bit for bit, -0.0 and NaN payloads included"


@dataclass(frozen=True)
class Cast:
    """Every element is converted to the cache's format by the declared rules.

    Args:
        target: short name of the cache's format.
        saturate: overflow and infinities give the largest finite value.
    """

    target: str
    saturate: bool = True

    @property
    def sentence(self) -> str:
        """The rule in words."""
        overflow = "overflow saturates" if self.saturate else "overflow gives infinity or NaN"
        return f"cast to {self.target}, round to nearest even, {overflow}, NaN stays NaN"


Encode = Copy | Cast


@dataclass(frozen=True)
class Given:
    """A precondition: the caller's promise, printed with every verdict it affects.

    Args:
        key: the name by which it is dropped.
        sentence: what the caller promises.
        droppable: whether the prover drops it in turn to show what it excludes.
    """

    key: str
    sentence: str
    droppable: bool = True


NON_NEGATIVE = Given("slots>=0", "0 <= slot")
IN_POOL = Given("slots<pool", "slot < POOL * WORLD")
DISTINCT = Given("slots-distinct", "rows that are not skipped have distinct slots")
CONTIGUOUS = Given("slots-contiguous", "the slot table has stride 1")
INNER_ONE = Given("columns-contiguous", "the innermost stride of sources and cache is 1", False)
NO_ALIAS = Given("no-alias", "cache, sources and slot table do not overlap", False)
SAME_ROWS = Given("same-rows", "sources have a row for every slot of the table", False)


def _as_exprs(part: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(part, name)
        if isinstance(value, int):
            object.__setattr__(part, name, as_expr(value))
