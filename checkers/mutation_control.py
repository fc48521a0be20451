"""Mutations of widths, division, program ids, bases and control flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .mutation import Change, Context
from .ttir import IntType, Op, PtrType, Type

# --- widths and division --------------------------------------------------------------------


def widths(op: Op, context: Context) -> Iterator[Change]:
    """Compute in 32 bits what was widened first, or widen by zeros."""
    if op.name not in ("arith.muli", "arith.addi"):
        return
    kind = op.result_types[0]
    if kind.elem != IntType(64):
        return
    narrow = Type(IntType(32), kind.shape)
    a, b, c = (context.fresh(op, tag) for tag in ("a32", "b32", "c32"))
    ops = (
        Op("arith.trunci", (a,), (narrow,), op.operands[:1], (kind,), line=op.line),
        Op("arith.trunci", (b,), (narrow,), op.operands[1:], (kind,), line=op.line),
        Op(op.name, (c,), (narrow,), (a, b), (narrow, narrow), line=op.line),
        Op("arith.extsi", op.results, (kind,), (c,), (narrow,), line=op.line),
    )
    yield "widening removed", f"{op.name} in 32 bits", ops


def division(op: Op, context: Context) -> Iterator[Change]:
    """Divide toward minus infinity, as Python does."""
    if op.name not in ("arith.divsi", "arith.remsi"):
        return
    kind = op.result_types[0]
    truth = Type(IntType(1), kind.shape)
    x, y = op.operands
    names = [context.fresh(op, tag) for tag in ("q", "r", "zero", "some", "xor", "neg", "adjust")]
    quotient, rest, zero, some, sign, negative, adjust = names

    def make(name: str, result: str, *operands: str, of: Type = kind, **attrs: object) -> Op:
        result_type = truth if name == "arith.cmpi" or of is truth else kind
        types = tuple(of for _ in operands)
        return Op(name, (result,), (result_type,), operands, types, attrs=attrs, line=op.line)

    wide = context.fresh(op, "wide")
    ops = (
        make("arith.divsi", quotient, x, y),
        make("arith.remsi", rest, x, y),
        make("arith.constant", zero, value=0),
        make("arith.cmpi", some, rest, zero, predicate="ne"),
        make("arith.xori", sign, x, y),
        make("arith.cmpi", negative, sign, zero, predicate="slt"),
        make("arith.andi", adjust, some, negative, of=truth),
        Op("arith.extui", (wide,), (kind,), (adjust,), (truth,), line=op.line),
    )
    if op.name == "arith.divsi":
        last = (make("arith.subi", op.results[0], quotient, wide),)
    else:
        more = context.fresh(op, "more")
        last = (make("arith.muli", more, wide, y), make("arith.addi", op.results[0], rest, more))
    yield "floor division", f"{op.name} toward minus infinity", (*ops, *last)


# --- programs, bases, control ---------------------------------------------------------------


def programs(op: Op, _: Context) -> Iterator[Change]:
    """Pin a program id, or read another axis."""
    if op.name == "tt.get_program_id":
        axis = int(str(op.attrs["axis"]))
        pinned = replace(op, name="arith.constant", attrs={"value": 0})
        yield "program id pinned", f"axis {axis} is 0", (pinned,)
        changed = replace(op, attrs={**op.attrs, "axis": (axis + 1) % 3})
        yield "program id swapped", f"axis {axis} to {(axis + 1) % 3}", (changed,)
    if op.name == "tt.get_num_programs":
        one = replace(op, name="arith.constant", attrs={"value": 1})
        yield "program count pinned", "one program", (one,)


def bases(op: Op, context: Context) -> Iterator[Change]:
    """Swap a base, or leave an offset out."""
    pointers = {n: kind for n, kind in context.program.args if isinstance(kind.elem, PtrType)}
    for at, name in enumerate(op.operands):
        for other, kind in pointers.items():
            if name in pointers and other != name and kind == pointers[name]:
                operands = (*op.operands[:at], other, *op.operands[at + 1 :])
                yield "base swapped", f"{name} to {other}", (replace(op, operands=operands),)
    if op.name == "tt.addptr":
        pointer = op.operands[0]
        maker = context.makers.get(pointer)
        if maker is not None and op.operand_types[0] == op.result_types[0]:
            yield from _unmoved(op)
    if op.name == "tt.expand_dims":
        shape = op.result_types[0].shape
        if op.result_types[0].shape == shape[::-1]:
            flipped = replace(op, attrs={**op.attrs, "axis": 1 - int(str(op.attrs["axis"]))})
            yield "column swapped", "the other axis", (flipped,)


def _unmoved(op: Op) -> Iterator[Change]:
    """Leave an offset out of an address."""
    kind = op.operand_types[1]
    zero = f"{op.results[0]}.zero"
    ops = (
        Op("arith.constant", (zero,), (kind,), attrs={"value": 0}, line=op.line),
        replace(op, operands=(op.operands[0], zero)),
    )
    yield "offset dropped", f"without {op.operands[1]}", ops


def control(op: Op, context: Context) -> Iterator[Change]:
    """Flip a branch, or take one side always."""
    if op.name == "cf.cond_br":
        yield "branch flipped", op.name, (replace(op, successors=op.successors[::-1]),)
        for kept in op.successors:
            yield "branch fixed", f"always {kept.block}", (replace(op, successors=(kept, kept)),)
    if op.name == "scf.if":
        kind = op.operand_types[0]
        true, flipped = context.fresh(op, "true"), context.fresh(op, "flipped")
        ops = (
            Op("arith.constant", (true,), (kind,), attrs={"value": 1}, line=op.line),
            Op("arith.xori", (flipped,), (kind,), (op.operands[0], true), (kind, kind),
               line=op.line),
        )  # fmt: skip
        yield "branch flipped", op.name, (*ops, replace(op, operands=(flipped,)))
        yield "branch fixed", "always taken", (ops[0], replace(op, operands=(true,)))
