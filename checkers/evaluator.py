"""Runs a TTIR program on the CPU: all programs and lanes of a launch at once, bit for bit.

The fast runner of replays and campaigns. It walks the compiler's own IR in the torch domain, so it
shares the walker and the op table with the proof, and nothing with Triton's interpreter.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..spec.errors import KvproofError
from .buffers import Buffer, Event, Failure, Store
from .domain import Path, Unsupported, line_of
from .effects import nested, touches_memory
from .hazards import bytes_stored_twice, order_events
from .optable import OPS
from .planes import Pointer, Value
from .tensor_domain import TensorDomain
from .tensor_floats import cast
from .tensor_integers import signed
from .tensor_memory import Memory
from .ttir import FloatType, IntType, Op, Program, PtrType, Region, Type
from .walker import Walker


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What a launch did.

    Args:
        stores: executed store ops, in order.
        events: accesses outside a storage, undefined operations, and loads that depend on the
            order of programs.
        asserts: device asserts that do not hold.
        inexact: ops whose bits may differ on hardware ("name at file:line"): approximate
            functions and sums of floats, whose order is the compiler's.
        conflicts: bytes stored more than once; None unless asked for.
    """

    stores: tuple[Store, ...]
    events: tuple[Event, ...]
    asserts: tuple[Failure, ...]
    inexact: tuple[str, ...] = ()
    conflicts: int | None = None

    @property
    def clean(self) -> bool:
        """Tell whether there is neither an event nor a failed assert."""
        return not self.events and not self.asserts


class _Walk(Walker):
    """A walk that ends where something unknown would decide what memory holds."""

    domain: TensorDomain

    def __init__(self, compiled: Compiled, domain: TensorDomain, values: dict[str, Value]) -> None:
        super().__init__(compiled.program, domain, values)
        self._static, self._known = compiled.computed_once(domain.memory.grid)

    def _op(self, op: Op, env: dict[str, Value], path: Path) -> None:
        known = self._known.get(id(op))
        if known is not None:
            env.update(zip(op.results, known, strict=True))
            return
        operands = tuple([env[name] for name in op.operands])
        self.domain.path = path
        noted = self.domain.noted
        try:
            results = self._evaluate(op, operands, env, path)
        except Unsupported as why:
            results = self._unknown(op, why)
        except (TypeError, KeyError, NotImplementedError) as error:
            results = self._unknown(op, Unsupported(op.name, line_of(op), str(error)))
        if id(op) in self._static and self.domain.noted == noted:
            self._known[id(op)] = results
        env.update(zip(op.results, results, strict=True))

    def _unknown(self, op: Op, why: Unsupported) -> tuple[Value, ...]:
        if touches_memory(op) or any(touches_memory(inner) for inner in nested(op)):
            raise why
        return tuple(self.domain.opaque(op, kind, why) for kind in op.result_types)


class Compiled:
    """A program that is run many times: what no launch changes is computed once."""

    def __init__(self, program: Program) -> None:
        """Prepare a program, which must not change."""
        self.program = program
        self._once: dict[tuple[bool, ...], tuple[set[int], dict[int, tuple[Value, ...]]]] = {}

    def computed_once(
        self, grid: tuple[int, int, int]
    ) -> tuple[set[int], dict[int, tuple[Value, ...]]]:
        """Return the ids of ops that need no argument and no memory, and the results so far.

        A program id is such an op on an axis of one program.
        """
        single = tuple(extent == 1 for extent in grid)
        if single not in self._once:
            found: set[int] = set()
            _find_static(self.program.body, set(), found, single)
            self._once[single] = (found, {})
        return self._once[single]

    def run(
        self,
        grid: tuple[int, int, int],
        arguments: Mapping[str, Buffer | float],
        *,
        record: bool = False,
        conflicts: bool = False,
    ) -> Evaluation:
        """Run the program as `evaluate` does."""
        buffers: dict[str, Buffer] = {}
        values = {
            name: _argument(name, kind, arguments, buffers) for name, kind in self.program.args
        }
        memory = Memory(buffers, grid, record)
        domain = TensorDomain(memory)
        if 0 not in grid:
            trace = _Walk(self, domain, values).run()
            if trace.effects:
                raise trace.effects[0]
        return Evaluation(
            stores=tuple(memory.stores),
            events=(*memory.events, *order_events(memory)),
            asserts=tuple(domain.failures),
            inexact=tuple(sorted(domain.inexact)),
            conflicts=bytes_stored_twice(memory) if conflicts else None,
        )


def batch_walk(
    compiled: Compiled,
    domain: TensorDomain,
    arguments: Mapping[str, Buffer | float],
    pointers: Mapping[str, Value],
) -> None:
    """Walk a program in a domain of the caller's, with the caller's pointers.

    Args:
        compiled: the program.
        domain: its memory holds a buffer for each pointer.
        arguments: as for `evaluate`.
        pointers: what each pointer argument is, instead of the start of its buffer.

    Raises as `evaluate` does.
    """
    values: dict[str, Value] = {}
    for name, kind in compiled.program.args:
        made = _argument(name, kind, arguments, {})
        values[name] = pointers.get(name.removeprefix("%"), made)
    trace = _Walk(compiled, domain, values).run()
    if trace.effects:
        raise trace.effects[0]


_LEAVES = ("arith.constant", "tt.make_range")
_SHAPES = ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans")


def _find_static(
    region: Region, outer: set[str], found: set[int], single: tuple[bool, ...]
) -> None:
    names = set(outer)
    for block in region.blocks:
        names -= {name for name, _ in block.args}
        for op in block.ops:
            leaf = op.name in _LEAVES or (
                op.name == "tt.get_program_id" and single[int(str(op.attrs["axis"]))]
            )
            computed = op.name in OPS or op.name in _SHAPES
            if leaf or (computed and names.issuperset(op.operands)):
                found.add(id(op))
                names |= set(op.results)
            else:
                names -= set(op.results)
            for inner in op.regions:
                _find_static(inner, names, found, single)


def compile_program(program: Program) -> Compiled:
    """Return the program, prepared to be run many times."""
    return Compiled(program)


def evaluate(
    program: Program | Compiled,
    grid: tuple[int, int, int],
    arguments: Mapping[str, Buffer | float],
    *,
    record: bool = False,
    conflicts: bool = False,
) -> Evaluation:
    """Run a program and return what it did; dense buffers are changed in place.

    Args:
        program: the parsed IR, or what `compile_program` made of it.
        grid: programs per axis; an axis of 0 runs nothing.
        arguments: a `Buffer` for each pointer and a number for each scalar, by kernel argument
            name. Names that the IR does not have (constexprs, folded scalars) are ignored.
        record: keep the offsets and bits of stores into dense buffers; those into sparse buffers
            are always kept.
        conflicts: count the bytes that are stored more than once.

    Of stores to one place, the later op wins, within an op the later program in grid order (axis 2
    fastest), within a program the later lane. A float NaN that an operation makes has the bits
    that NVIDIA hardware gives it.

    Raises:
        Unsupported: an op without a rule decides what is stored where, or may touch memory; the
            buffers may already hold what was stored before it.
        KvproofError: an argument is missing or of the wrong kind.
    """
    compiled = program if isinstance(program, Compiled) else Compiled(program)
    return compiled.run(grid, arguments, record=record, conflicts=conflicts)


def _argument(
    name: str, kind: Type, arguments: Mapping[str, Any], buffers: dict[str, Buffer]
) -> Value:
    short = name.removeprefix("%")
    if short not in arguments:
        raise KvproofError(f"no value for the kernel argument {short}")
    value = arguments[short]
    elem = kind.elem
    if isinstance(elem, PtrType):
        if not isinstance(value, Buffer):
            raise KvproofError(f"the kernel argument {short} is a pointer: pass a Buffer")
        buffers[short] = value
        return Pointer(short, Type(elem.pointee).element_bytes(), 0, ())
    if isinstance(elem, IntType) and isinstance(value, int):
        if elem.width == 1:
            return bool(value)
        if not -(1 << (elem.width - 1)) <= value < 1 << elem.width:
            raise KvproofError(f"{value} does not fit the kernel argument {short}: {elem}")
        return signed(value, elem.width)
    if isinstance(elem, FloatType) and isinstance(value, (int, float)):
        if elem.name == "f64":
            return struct.unpack("<q", struct.pack("<d", value))[0]
        single = struct.unpack("<i", struct.pack("<f", value))[0]
        return cast(single, "f32", elem.name, None)
    raise KvproofError(f"{value!r} is no value for the kernel argument {short}: {elem}")


__all__ = [
    "Buffer",
    "Compiled",
    "Evaluation",
    "Event",
    "Failure",
    "Store",
    "Unsupported",
    "compile_program",
    "evaluate",
]
