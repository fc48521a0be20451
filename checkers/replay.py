"""Running a counterexample: on the torch domain, against the naive reference, byte by byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..spec.case import Case, fingerprint
from ..spec.contract import Instance
from ..spec.dtypes import dtype
from ..spec.expr import Expr
from ..spec.job import Job
from ..spec.reference import Expected, expected_stores, row_env, skipped
from .family import Family
from .ttir import Program

#: Elements of a source that a replay builds at most.
MOST_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class Task:
    """A counterexample to run.

    Args:
        job: the job it belongs to.
        families: the launches, in order.
        case: the concrete call.
        invariant, statement: what it is said to break.
        place: the reserved place a claim speaks of; None otherwise.
    """

    job: Job
    families: tuple[Family, ...]
    case: Case
    invariant: str
    statement: str = ""
    place: int | None = None


@dataclass
class Differences:
    """How memory differs from what the contract says.

    Args:
        extra: elements stored that no accepted row has, (argument, offset) -> bits.
        missing: elements that should have been stored and were not.
        wrong: elements stored with other bits, -> (stored, expected).
        events: what went wrong besides, in words.
        touched: every element stored, (argument, offset) -> bits.
        past: the slot table is read past its end: where that leads, only luck decides.
    """

    extra: dict[tuple[str, int], int] = field(default_factory=dict)
    missing: dict[tuple[str, int], Expected] = field(default_factory=dict)
    wrong: dict[tuple[str, int], tuple[int, Expected]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    touched: dict[tuple[str, int], int] = field(default_factory=dict)
    past: bool = False

    def any(self) -> bool:
        """Tell whether anything differs."""
        return bool(self.extra or self.missing or self.wrong or self.events)


class Contents:
    """The bit patterns of a case's sources and slot table.

    A source element is a fingerprint of its argument and offset unless the case gives its bits.
    """

    def __init__(self, instance: Instance, case: Case) -> None:
        self.instance = instance
        self.case = case
        self._streams = {arg: k for k, arg in enumerate(instance.contract.arguments())}
        self._given: dict[tuple[str, int], int] = {}
        for (source, row, column), bits in case.payload.items():
            for segment in instance.contract.segments:
                if segment.source == source:
                    env = {**row_env(instance, case, row), "col": column}
                    self._given[source, int(segment.begin.evaluate(env))] = bits

    def element(self, arg: str, offset: int) -> int:
        """Return the bits of one source element."""
        given = self._given.get((arg, offset))
        if given is not None:
            return given
        bits = dtype(self.instance.dtypes[arg]).bits
        return fingerprint(self.case.seed, self._streams[arg], offset, bits)

    def extent(self, arg: str) -> int:
        """Return the elements of a source that the case's rows span."""
        ends = [1]
        for segment in self.instance.contract.segments:
            if segment.source == arg and self.case.rows:
                env = row_env(self.instance, self.case, self.case.rows - 1)
                width = int(segment.width.evaluate(env))
                ends.append(int(segment.begin.evaluate({**env, "col": 0})) + max(width, 1))
        return max(ends)

    def data(self, arg: str) -> bytes:
        """Return a source's bytes."""
        size = dtype(self.instance.dtypes[arg]).size
        return b"".join(
            self.element(arg, offset).to_bytes(size, "little") for offset in range(self.extent(arg))
        )

    def slots(self, size: int) -> bytes:
        """Return the slot table's bytes for slots of `size` bytes."""
        stride = self.case.slot_stride
        table = bytearray(size * max(1, (self.case.rows - 1) * stride + 1))
        for row, slot in enumerate(self.case.slots):
            at = row * stride * size
            table[at : at + size] = slot.to_bytes(size, "little", signed=True)
        return bytes(table)

    def expected(self) -> dict[tuple[str, int], Expected]:
        """Return every element that must be stored."""
        return expected_stores(self.instance, self.case, self.element)


def evaluate_case(task: Task, programs: Sequence[Program] | None = None) -> Differences:
    """Run a case on the torch domain and compare it with the naive reference.

    Args:
        task: the case with its launches.
        programs: run in place of the launches' own IR, one for each.

    Raises Unsupported or KvproofError where it cannot be run.
    """
    import torch

    from .buffers import Buffer
    from .evaluator import evaluate
    from .ttir_parser import parse_ttir

    instance, case, binding = task.job.instance, task.case, task.job.binding
    contents = Contents(instance, case)
    env = {**case.dims, "ROWS": case.rows, "POOL": case.pool}
    found = Differences()
    stored: dict[tuple[str, int], int] = {}

    def dense(data: bytes) -> Buffer:
        return Buffer(torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8))

    for position, family in enumerate(task.families):
        arguments: dict[str, Any] = {}
        sizes: dict[str, str | None] = {}
        for info in family.launch.args:
            if info.kind == "scalar":
                value = family.scalars[info.name]
                arguments[info.name] = value.evaluate(env) if isinstance(value, Expr) else value
                continue
            if info.kind != "pointer":
                continue
            arg = binding.contract_arg((info.tensor or "").removeprefix("~"))
            sizes[info.name] = arg
            if arg in instance.contract.caches():
                arguments[info.name] = Buffer.sparse()
            elif arg == instance.contract.slots.arg:
                arguments[info.name] = dense(contents.slots(8 if info.type == "*i64" else 4))
            elif arg in instance.contract.arguments():
                arguments[info.name] = dense(contents.data(arg))
            else:
                arguments[info.name] = Buffer.sparse()
        program = programs[position] if programs else parse_ttir(family.launch.ttir)
        made = evaluate(program, family.grid_at(env), arguments, record=True, conflicts=True)
        for store in made.stores:
            arg = sizes.get(store.arg)
            if store.offsets is None or store.bits is None:
                continue
            mask = (1 << (8 * store.size)) - 1
            for offset, bits in zip(
                store.offsets.reshape(-1).tolist(), store.bits.reshape(-1).tolist(), strict=True
            ):
                stored[arg or store.arg, offset] = bits & mask
        found.events += [f"{event.kind} at {event.line}" for event in made.events]
        table = instance.contract.slots.arg
        found.past |= any(sizes.get(event.arg) == table for event in made.events)
        if made.conflicts:
            found.events.append(f"{made.conflicts} bytes stored more than once")
    compare(found, stored, contents.expected())
    return found


def compare(
    found: Differences,
    stored: Mapping[tuple[str, int], int],
    expected: Mapping[tuple[str, int], Expected],
) -> None:
    """Fill in what differs between stored elements and the expected ones."""
    found.touched.update(stored)
    for key, bits in stored.items():
        wanted = expected.get(key)
        if wanted is None:
            found.extra[key] = bits
        elif wanted.bits != bits:
            found.wrong[key] = (bits, wanted)
    found.missing.update({key: want for key, want in expected.items() if key not in stored})


def judge(task: Task, found: Differences) -> tuple[bool, str]:
    """Tell whether the differences are what the task says, and describe them."""
    text = describe(task, found)
    invariant = task.invariant
    if task.place is not None:
        hits = _in_place(task, found, task.place)
        return bool(hits), f"{hits} elements of place {task.place} stored"
    if invariant in ("W1", "W6", "W12"):
        return bool(found.extra), text
    if invariant == "W2":
        return bool(found.missing), text
    if invariant in ("W8", "W9", "W10"):
        caches = task.job.instance.contract.caches()
        inputs = [arg for arg, _ in found.extra if arg not in caches]
        return bool(found.wrong or found.events or inputs), text
    return found.any(), text


def elsewhere(task: Task, found: Differences) -> dict[str, str]:
    """Return the element whose bits are wrong, where the solver's own element is right.

    A cast to fp8 is any function to the solver, so that it may name bits which the real one keeps.
    Empty where its element is among the wrong ones, and for other promises than W10.
    """
    case, instance = task.case, task.job.instance
    named = {(row, column) for _, row, column in case.payload}
    wrong = [wanted for _, wanted in found.wrong.values()]
    if task.invariant != "W10" or not wrong or any((w.row, w.column) in named for w in wrong):
        return {}
    first = wrong[0]
    (segment,) = [s for s in instance.contract.segments if s.name == first.segment]
    at = segment.begin.evaluate({**row_env(instance, case, first.row), "col": first.column})
    bits = Contents(instance, case).element(segment.source, int(at))
    return {
        "source": segment.source,
        "row": str(first.row),
        "column": str(first.column),
        "bits": str(bits),
    }


def _in_place(task: Task, found: Differences, place: int) -> int:
    env = {**task.case.dims, "POOL": task.case.pool, "ROWS": task.case.rows, "place": place}
    wanted: set[tuple[str, int]] = set()
    for segment in task.job.instance.contract.segments:
        for column in range(int(segment.width.evaluate(env))):
            wanted.add((segment.into, int(segment.at.evaluate({**env, "col": column}))))
    return sum(key in wanted for key in found.touched)


def describe(task: Task, found: Differences) -> str:
    """Return the differences in one phrase."""
    parts: list[str] = []
    if found.extra:
        slots = [
            slot
            for row, slot in enumerate(task.case.slots)
            if skipped(task.job.instance.contract.skip, row_env(task.job.instance, task.case, row))
        ]
        whose = f" of slot {slots[0]}" if slots and task.invariant in ("W1", "W6") else ""
        parts.append(f"{len(found.extra)} elements{whose} changed that must not")
    if found.missing:
        parts.append(f"{len(found.missing)} elements not stored")
    if found.wrong:
        stored, wanted = next(iter(found.wrong.values()))
        bits = dtype(task.job.instance.dtypes[task.job.instance.contract.caches()[0]]).bits
        digits = (bits + 3) // 4
        parts.append(
            f"{len(found.wrong)} elements with other bits, first at row {wanted.row}, "
            f"{wanted.segment} column {wanted.column}: 0x{stored:0{digits}X} "
            f"instead of 0x{wanted.bits:0{digits}X}"
        )
    parts += found.events[:2]
    return "; ".join(parts) or "memory is as the contract says"
