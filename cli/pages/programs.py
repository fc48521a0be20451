"""Which program stores what: a call of a writer, and everything that it stores in a cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...spec.case import Case
from ...spec.errors import KvproofError
from ...spec.expr import Expr
from ...spec.job import Job
from ...spec.launch import Launch
from ...spec.layout import page_of
from ...spec.recipe import recipe
from .rows import CacheRow, cache_rows, numbers
from .slots import Slot, slot_of

if TYPE_CHECKING:
    from ...checkers.child import Child
    from ...checkers.replay import Task

#: Rows of the call that is drawn: one of each skipped slot, the rest real.
ROWS: Final = 6

Pid = tuple[int, int, int]


@dataclass(frozen=True)
class Store:
    """Elements side by side that one program stores.

    Args:
        pid: the program.
        place: the place of the cache whose elements they are.
        first: elements from the start of the place.
        count: elements.
        row: the row of the call whose elements these are, told by their bits; None when they are
            no row's.
        wrong: how many of them have other bits than the contract gives that row.
        sample: the first of those: (element from the start of the place, stored, promised).
    """

    pid: Pid
    place: int
    first: int
    count: int
    row: int | None = None
    wrong: int = 0
    sample: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Kernel:
    """A launch.

    Args:
        launch: as it was captured.
        grid: programs per axis.
        scalars: value of each scalar argument.
    """

    launch: Launch
    grid: Pid
    scalars: Mapping[str, int | float | bool | str | None]

    @property
    def where(self) -> str:
        """Where the kernel is defined, as file.py:line."""
        return f"{self.launch.file}:{self.launch.line}"


@dataclass(frozen=True)
class Call:
    """A call of a writer and everything it stores.

    Args:
        job, case: whose, and which.
        cache: the cache that is looked at.
        slots: what the contract says of the slot of each row.
        kernels: the launches.
        lanes: elements that the widest store of a program covers, masked ones included.
        stores: what is stored in the cache, program by program.
    """

    job: Job
    case: Case
    cache: str
    slots: tuple[Slot, ...]
    kernels: tuple[Kernel, ...]
    lanes: int
    stores: tuple[Store, ...]

    @property
    def cache_row(self) -> CacheRow:
        """The row of the cache."""
        return next(row for row in cache_rows(self.job.instance) if row.cache == self.cache)

    def name_of(self, place: int) -> str:
        """Return a place in words; what lies outside the pages of a paged cache is no place."""
        mine = [one for one in self.job.instance.contract.segments if one.into == self.cache]
        inside = 0 <= place < self.case.pool
        paged = not inside and page_of(mine, numbers(self.job.instance)) > 1
        return "no place" if paged else f"place {place:,}"

    @property
    def world(self) -> int:
        """Ranks that share the slots."""
        return self.job.instance.world_rank[0]

    @property
    def rank(self) -> int:
        """The rank that is called."""
        return self.job.instance.world_rank[1]

    def home(self, row: int) -> int | None:
        """Return the place where this rank must store a row; None where it must not."""
        one = self.slots[row]
        return one.place if one.kind == "stored" and one.rank == self.rank else None

    def owner(self, place: int) -> int | None:
        """Return the row that must be stored at a place; None where none must."""
        return next((row for row in range(len(self.slots)) if self.home(row) == place), None)

    def is_right(self, store: Store) -> bool:
        """Tell whether a store is one that the contract asks for."""
        return store.row is not None and not store.wrong and self.home(store.row) == store.place


def example(job: Job) -> Case:
    """Return the call that is drawn: real slots in disorder, and each skipped slot once."""
    contract = job.instance.contract
    world, rank = job.instance.world_rank
    pool = ROWS + 2
    legal = [slot_of(contract, slot, world=world, pool=pool) for slot in range(pool * world)]
    dropped = [one.slot for one in legal if one.kind == "skipped"][:2]
    real = [one.slot for one in legal if one.kind == "stored"][: ROWS - len(dropped)]
    slots = [*real[1::2], *real[0::2]]
    slots[2:2] = dropped
    dims = {**numbers(job.instance), "WORLD": world, "RANK": rank}
    return Case(dims=dims, pool=pool, slots=tuple(slots))


def captured(child: Child, job: Job) -> list[Call]:
    """Capture the example and run what it launches; return a call for each cache.

    Raises:
        KvproofError: the call fails or launches nothing, the IR holds what no run can show, or
            the dimensions are no numbers.
    """
    if not job.instance.is_concrete:
        raise KvproofError("widths and strides are left symbolic", where=job.label)
    case = example(job)
    call = recipe(job.instance, job.binding, pool=case.pool, slots=case.slots)
    made = child.capture(job.source, job.function, call, switches=job.switches, lift=job.lift)
    if made.error or not made.launches:
        raise KvproofError(made.error or "it launches no Triton kernel", where=job.function)
    config = next((one.config for one in made.launches if one.config), "")
    kernels = [
        Kernel(
            launch,
            launch.grid,
            {arg.name: arg.value for arg in launch.args if arg.kind == "scalar"},
        )
        for launch in made.launches
        if launch.config in ("", config)
    ]
    return [_call(job, case, kernels, cache) for cache in job.instance.contract.caches()]


def replayed(task: Task) -> list[Call]:
    """Run a counterexample's launches; return a call for each cache.

    Raises KvproofError where they cannot be run.
    """
    case = task.case
    env = {**case.dims, "ROWS": case.rows, "POOL": case.pool}
    kernels = [
        Kernel(
            family.launch,
            family.grid_at(env),
            {
                name: int(value.evaluate(env)) if isinstance(value, Expr) else value
                for name, value in family.scalars.items()
            },
        )
        for family in task.families
    ]
    return [_call(task.job, case, kernels, cache) for cache in task.job.instance.contract.caches()]


def _call(job: Job, case: Case, kernels: Sequence[Kernel], cache: str) -> Call:
    from .running import run

    contract = job.instance.contract
    world, _ = job.instance.world_rank
    stores, lanes = run(job, case, kernels, cache)
    return Call(
        job,
        case,
        cache,
        tuple(slot_of(contract, slot, world=world, pool=case.pool) for slot in case.slots),
        tuple(kernels),
        lanes,
        tuple(stores),
    )


def pid_text(pid: Pid, grid: Sequence[int]) -> str:
    """Return a program's number as short as its grid allows: "3", or "(0, 1)"."""
    last = max((axis for axis, extent in enumerate(grid) if extent > 1), default=0)
    kept = pid[: last + 1]
    return f"{kept[0]}" if len(kept) == 1 else f"({', '.join(str(part) for part in kept)})"


def by_place(stores: Iterable[Store]) -> dict[int, list[Store]]:
    """Return the stores of each place, in the order of their elements."""
    found: dict[int, list[Store]] = {}
    for store in sorted(stores, key=lambda one: (one.place, one.first, one.pid)):
        found.setdefault(store.place, []).append(store)
    return found
