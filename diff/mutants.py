"""Measures the proof: which invariant kills which mutant of a right writer; runs tell too."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import z3

from ..checkers.answered import Answered
from ..checkers.building import build
from ..checkers.child import Child
from ..checkers.domain import Unsupported
from ..checkers.equivalence import equivalent
from ..checkers.groups import Group, Grouping, Kernel
from ..checkers.ideal import Ideal
from ..checkers.mutate import Mutant, mutants
from ..checkers.replay import Differences, Task, evaluate_case
from ..checkers.sampling import Unit, sample
from ..checkers.solving import Solving
from ..checkers.ttir import Program
from ..checkers.ttir_parser import parse_ttir
from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.reference import row_env, skipped

#: Promises about single stores, which are asked first; the others speak of all rows and columns.
_LOCAL = ("W6", "W1", "W9", "W10", "W12", "W8")
#: Rows of the cases that every mutant is run on.
_ROWS = (1, 2, 3, 5, 9, 18)


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant.

    Args:
        mutant: the mutant.
        killers: invariants that the proof refutes.
        undecided: invariants that it neither proves nor refutes, with the reason.
        run: what a run shows: "differs", "same", or why it was not run.
        equivalent: whether a proof shows that it stores the same as the original; asked only of
            mutants that nothing kills.
    """

    mutant: Mutant
    killers: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    run: str = ""
    equivalent: bool = False

    @property
    def kind(self) -> str:
        """One of "killed", "equivalent", "undecided" and "survived"."""
        if self.killers:
            return "killed"
        if self.equivalent:
            return "equivalent"
        return "undecided" if self.undecided else "survived"


@dataclass
class Mutation:
    """The outcome for one writer.

    Args:
        job: the writer in one configuration, proved right as it is.
        outcomes: one for each mutant.
        seconds: time spent.
    """

    job: Job
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, kind: str) -> int:
        """Return how many mutants came out that way."""
        return sum(outcome.kind == kind for outcome in self.outcomes)


class Laboratory:
    """Makes and checks mutants of one captured writer.

    Args:
        job: the writer.
        unit: what it launches.
        timeout: seconds per question to the solver.
    """

    def __init__(self, job: Job, unit: Unit, *, timeout: float = 5.0) -> None:
        self.job, self.unit, self.timeout = job, unit, timeout
        self.programs = [parse_ttir(family.launch.ttir) for family in unit.families]
        self.cases = list(cases(job))
        # A mutant leaves most of the questions as they were.
        self.answered = Answered()

    def mutants(self) -> Iterator[tuple[int, Mutant]]:
        """Yield every mutant with the position of its launch."""
        for position, program in enumerate(self.programs):
            for mutant in mutants(program):
                yield position, mutant

    def kernels(self, programs: Sequence[Program]) -> list[Kernel]:
        """Walk programs in place of the captured ones. Raises ContractError."""
        job = self.job
        return [
            Kernel(
                build(job.instance, job.binding, family, program),
                build(job.instance, job.binding, family, program, Ideal()),
            )
            for family, program in zip(self.unit.families, programs, strict=True)
        ]

    def check(self, position: int, mutant: Mutant, *, run: bool = True) -> Outcome:
        """Ask every invariant of one mutant, and run it."""
        programs = list(self.programs)
        programs[position] = mutant.program
        killers, undecided = self.prove(programs)
        outcome = Outcome(mutant, killers, undecided, self.run(programs) if run else "not run")
        if killers:
            return outcome
        return replace(outcome, equivalent=self._equivalent(position, mutant))

    def _equivalent(self, position: int, mutant: Mutant) -> bool:
        family, job = self.unit.families[position], self.job
        first, second = (
            build(job.instance, job.binding, family, program)
            for program in (self.programs[position], mutant.program)
        )
        return equivalent(first, second, Solving(self.timeout, answered=self.answered))

    def prove(self, programs: Sequence[Program]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the invariants that are refuted, and those that are undecided."""
        solving = Solving(self.timeout, answered=self.answered)
        try:
            kernels = self.kernels(programs)
        except KvproofError as problem:
            return (), (str(problem),)
        effects = [e for kernel in kernels for e in kernel.ideal.trace.effects]
        if effects:
            return (), (f"{effects[0]} may touch memory",)
        groups = Grouping(kernels, solving).groups()
        killers: dict[str, None] = {}
        undecided: dict[str, None] = {}
        local = [g for name in _LOCAL for g in groups if g.invariant == name]
        rest = [g for g in groups if g.invariant not in _LOCAL]
        for part in (local, rest):
            for group in part:
                status = _status(group, solving)
                if status == "refuted":
                    killers[group.invariant] = None
                elif status != "proved":
                    undecided[f"{group.invariant} {status}"] = None
            if killers:
                break
        return tuple(killers), tuple(undecided)

    def run(self, programs: Sequence[Program]) -> str:
        """Run programs on every case; return what a difference shows, or "same"."""
        job = self.job
        for case in self.cases:
            task = Task(job, self.unit.families, case, "")
            try:
                found = evaluate_case(task, programs)
            except (Unsupported, KvproofError, RuntimeError) as problem:
                return f"not run: {str(problem).splitlines()[0][:80]}"
            if _wrong(found):
                return "differs"
        return "same"


def _wrong(found: Differences) -> bool:
    events = [text for text in found.events if "undefined" not in text]
    return bool(found.extra or found.missing or found.wrong or events)


def _status(group: Group, solving: Solving) -> str:
    unsupported = ""
    unknown = False
    items = []
    for make in group.makes:
        try:
            items += make()
        except Unsupported as why:
            unsupported = f"unsupported: {why.op}"
    problems = {id(problem): problem for problem, _ in items}
    for key, problem in problems.items():
        obligations = [obligation for own, obligation in items if id(own) == key]
        if group.invariant == "W4":
            found = solving.any_of(problem, obligations)
            answers = [] if found is None else [found[1].status]
        else:
            answers = (solving.ask(problem, obligation).status for obligation in obligations)
        for status in answers:
            if status == "sat":
                return "refuted"
            unknown = unknown or status == "unknown"
    return "unknown" if unknown else unsupported or "proved"


def cases(job: Job) -> Iterator[Case]:
    """Yield calls that keep the preconditions: small pools, and one as large as it may be.

    Distinct slots in any order, with padding rows between them where the contract skips any.
    """
    instance = job.instance
    dims = instance.numbers()
    world = instance.world_rank[0]
    source = random.Random(1)  # noqa: S311 - test data
    for count, rows in enumerate(_ROWS):
        most = instance.pool.most
        pool = most if count == 4 else min(rows + 4, most)
        total = pool * world
        near = {source.randrange(max(1, total - 40), total) for _ in range(rows)}
        wanted = set(range(min(total, 3 * rows + 4)))
        if count == 4:
            wanted = near | {source.randrange(1, total) for _ in range(rows)}
        legal = sorted(slot for slot in wanted if not _skips(job, dims, pool, slot))
        padding = [0] if _skips(job, dims, pool, 0) else []
        source.shuffle(legal)
        slots = legal[:rows]
        for row in range(len(slots)):
            if padding and source.random() < 0.3:
                slots[row] = source.choice(padding)
        yield Case(dims=dims, pool=pool, slots=tuple(slots), seed=count)


def _skips(job: Job, dims: dict[str, int], pool: int, slot: int) -> bool:
    case = Case(dims=dims, pool=pool, slots=(slot,))
    return skipped(job.instance.contract.skip, row_env(job.instance, case, 0)) is not None


def right_jobs(jobs: Sequence[Job], child: Child, *, timeout: float = 5.0) -> Iterator[Laboratory]:
    """Yield one laboratory for each writer that is proved right in some configuration."""
    done: set[str] = set()
    for job in jobs:
        if job.writer in done or not job.instance.is_concrete:
            continue
        try:
            unit = sample(child, job).units[0]
        except KvproofError:
            continue
        made = Laboratory(job, unit, timeout=timeout)
        if made.prove(made.programs) == ((), ()):
            done.add(job.writer)
            yield made


def measure(
    laboratory: Laboratory, *, most: int | None = None, run: bool = True
) -> Iterator[Outcome]:
    """Yield the outcome of every mutant, or of `most` of them spread over the kernel."""
    every = list(laboratory.mutants())
    if most is not None and most < len(every):
        every = [every[k * len(every) // most] for k in range(most)]
    for position, mutant in every:
        try:
            yield laboratory.check(position, mutant, run=run)
        except z3.Z3Exception as problem:
            yield Outcome(mutant, undecided=(f"z3: {str(problem)[:60]}",), run="not run")


def mutate(laboratory: Laboratory, *, most: int | None = None, run: bool = True) -> Mutation:
    """Return the outcome for one writer."""
    begun = time.perf_counter()
    found = Mutation(laboratory.job, list(measure(laboratory, most=most, run=run)))
    found.seconds = time.perf_counter() - begun
    return found
