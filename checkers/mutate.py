"""Mutants of a kernel: its IR with one small fault, of the kinds that real writers had.

A mutant is a program like any other, and well-typed. Whether it is wrong is decided afterwards, by
proof and by runs; a mutant that does the same as the original is told by a proof
(`kvproof.checkers.equivalence`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import mutation, mutation_control
from .mutation import Context, Maker
from .ttir import Block, Op, Program, Region


@dataclass(frozen=True)
class Mutant:
    """One faulty program.

    Args:
        kind: the kind of fault, in words.
        change: what was changed, in one phrase.
        line: "file:line" of the op.
        program: the IR with the fault.
    """

    kind: str
    change: str
    line: str
    program: Program


def mutants(program: Program) -> Iterator[Mutant]:
    """Yield every mutant of a program, in the order of its ops."""
    makers = {name: op for op in program.walk() for name in op.results}
    context = Context(program, makers)
    for op in list(program.walk()):
        for make in MAKERS:
            for kind, change, ops in make(op, context):
                line = str(op.line) if op.line else "?"
                body = _region(program.body, op, ops)
                yield Mutant(kind, change, line, replace(program, body=body))


def _region(region: Region, old: Op, new: tuple[Op, ...]) -> Region:
    return Region(
        tuple(
            Block(block.label, block.args, tuple(_ops(block.ops, old, new)))
            for block in region.blocks
        )
    )


def _ops(ops: tuple[Op, ...], old: Op, new: tuple[Op, ...]) -> Iterator[Op]:
    for op in ops:
        if op is old:
            yield from new
        elif op.regions:
            yield replace(op, regions=tuple(_region(part, old, new) for part in op.regions))
        else:
            yield op


MAKERS: tuple[Maker, ...] = (
    mutation.accesses,
    mutation.conjuncts,
    mutation.comparisons,
    mutation.arithmetic,
    mutation.constants,
    mutation.scalars,
    mutation_control.widths,
    mutation_control.division,
    mutation_control.programs,
    mutation_control.bases,
    mutation_control.control,
)
