"""What a mutation sees and makes, and the mutations of single ops: masks, comparisons, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from .ttir import FloatType, IntType, Op, Program, Type

#: (kind, change, ops that stand in place of the op).
Change = tuple[str, str, tuple[Op, ...]]
Maker = Callable[[Op, "Context"], Iterator[Change]]


@dataclass(frozen=True)
class Context:
    """What a mutation may look at: the kernel's arguments and the op that makes each value."""

    program: Program
    makers: Mapping[str, Op]

    def fresh(self, op: Op, tag: str) -> str:
        """Return a name that the program does not use."""
        base = op.results[0] if op.results else op.operands[0]
        return f"{base}.{tag}"


# --- masks and accesses ---------------------------------------------------------------------


def _cut(op: Op, count: int) -> Op:
    return replace(op, operands=op.operands[:count], operand_types=op.operand_types[:count])


def accesses(op: Op, context: Context) -> Iterator[Change]:
    """Drop or widen a mask, drop a default, drop or repeat a store."""
    least = {"tt.load": 1, "tt.store": 2}.get(op.name)
    if least is None:
        return
    if len(op.operands) > least:
        yield "mask dropped", f"{op.name} without its mask", (_cut(op, least),)
    if op.name == "tt.load" and len(op.operands) == 3:
        mask = op.operand_types[1]
        name = context.fresh(op, "true")
        true = Op("arith.constant", (name,), (mask,), attrs={"value": 1}, line=op.line)
        wide = replace(op, operands=(op.operands[0], name, op.operands[2]))
        yield "load mask widened", "tt.load for every lane", (true, wide)
        yield "other dropped", "tt.load without its default", (_cut(op, 2),)
    if op.name == "tt.store":
        yield "store dropped", "no tt.store", ()
        yield "store duplicated", "tt.store twice", (op, op)
        kind = op.operand_types[0]
        step = Type(IntType(32), kind.shape)
        one, moved = context.fresh(op, "one"), context.fresh(op, "next")
        ops = (
            Op("arith.constant", (one,), (step,), attrs={"value": 1}, line=op.line),
            Op("tt.addptr", (moved,), (kind,), (op.operands[0], one), (kind, step), line=op.line),
        )
        shifted = replace(op, operands=(moved, *op.operands[1:]))
        yield "store duplicated", "tt.store to the next element too", (op, *ops, shifted)


def conjuncts(op: Op, _: Context) -> Iterator[Change]:
    """Drop one side of a conjunction."""
    if op.name not in ("arith.andi", "arith.ori") or op.result_types[0].elem != IntType(1):
        return
    for keep, dropped in ((0, 1), (1, 0)):
        same = (op.operands[keep], op.operands[keep])
        yield (
            "conjunct dropped",
            f"{op.name} without {op.operands[dropped]}",
            (replace(op, operands=same),),
        )
    other = "arith.ori" if op.name == "arith.andi" else "arith.andi"
    yield "connective changed", f"{op.name} to {other}", (replace(op, name=other),)


# --- comparisons, arithmetic, constants -----------------------------------------------------

_NEAR = {
    "slt": ("sle", "sgt", "ult", "ne"),
    "sle": ("slt", "sge", "ule"),
    "sgt": ("sge", "slt", "ugt", "ne"),
    "sge": ("sgt", "sle", "uge"),
    "ult": ("ule", "ugt", "slt"),
    "ule": ("ult", "uge"),
    "ugt": ("uge", "ult"),
    "uge": ("ugt", "ule"),
    "eq": ("ne", "sle", "sge"),
    "ne": ("eq", "slt", "sgt"),
}


def comparisons(op: Op, _: Context) -> Iterator[Change]:
    """Change a comparison to a near one."""
    if op.name != "arith.cmpi":
        return
    old = str(op.attrs["predicate"])
    for new in _NEAR.get(old, ()):
        changed = replace(op, attrs={**op.attrs, "predicate": new})
        yield "comparison changed", f"{old} to {new}", (changed,)


_SIBLINGS = {
    "arith.addi": ("arith.subi",),
    "arith.subi": ("arith.addi",),
    "arith.muli": ("arith.addi",),
    "arith.divsi": ("arith.remsi", "arith.divui"),
    "arith.remsi": ("arith.divsi", "arith.remui"),
    "arith.divui": ("arith.remui",),
    "arith.remui": ("arith.divui",),
    "arith.extsi": ("arith.extui",),
    "arith.extui": ("arith.extsi",),
    "arith.minsi": ("arith.maxsi",),
    "arith.maxsi": ("arith.minsi",),
    "arith.shli": ("arith.shrsi",),
    "arith.addf": ("arith.subf",),
    "arith.mulf": ("arith.addf",),
    "arith.maxnumf": ("arith.minnumf",),
    "arith.minnumf": ("arith.maxnumf",),
}


def arithmetic(op: Op, _: Context) -> Iterator[Change]:
    """Change an operation to its sibling, swap or drop operands."""
    for name in _SIBLINGS.get(op.name, ()):
        if op.result_types[0].elem == IntType(1):
            continue
        yield "operation changed", f"{op.name} to {name}", (replace(op, name=name),)
    if op.name in ("arith.subi", "arith.divsi", "arith.remsi", "arith.divui", "arith.remui"):
        swapped = replace(op, operands=(op.operands[1], op.operands[0]))
        yield "operands swapped", op.name, (swapped,)
    if op.name in ("arith.addi", "arith.muli") and isinstance(op.result_types[0].elem, IntType):
        for keep in (0, 1):
            # x + y as y + 0 would need a constant; x - x + y says the same with what is there.
            if op.operands[0] == op.operands[1] or op.result_types[0].elem.width == 1:
                continue
            kept = op.operands[keep]
            alias = replace(op, name="arith.ori", operands=(kept, kept))
            yield "operand dropped", f"{op.name} without {op.operands[1 - keep]}", (alias,)
    if op.name == "arith.select":
        condition, a, b = op.operands
        yield "choice swapped", "arith.select", (replace(op, operands=(condition, b, a)),)
        for kept in (a, b):
            if a != b:
                yield (
                    "choice fixed",
                    f"always {kept}",
                    (replace(op, operands=(condition, kept, kept)),),
                )


def constants(op: Op, _: Context) -> Iterator[Change]:
    """Add or subtract one."""
    if op.name == "tt.make_range":
        start, end = int(str(op.attrs["start"])), int(str(op.attrs["end"]))
        for by in (1, -1):
            attrs = {**op.attrs, "start": start + by, "end": end + by}
            yield "lanes shifted", f"make_range by {by}", (replace(op, attrs=attrs),)
        return
    if op.name != "arith.constant":
        return
    elem, value = op.result_types[0].elem, int(str(op.attrs["value"]))
    if not isinstance(elem, IntType):
        if isinstance(elem, FloatType):
            changed = replace(op, attrs={**op.attrs, "value": value ^ 1})
            yield "constant changed", f"last bit of 0x{value:X}", (changed,)
        return
    steps = (1,) if elem.width == 1 else (1, -1)
    for by in steps:
        new = 1 - value if elem.width == 1 else value + by
        if elem.width == 1 or -(1 << (elem.width - 1)) <= new < 1 << (elem.width - 1):
            changed = replace(op, attrs={**op.attrs, "value": new})
            yield "constant off by one", f"{value} to {new}", (changed,)


def scalars(op: Op, context: Context) -> Iterator[Change]:
    """Add one to a runtime argument (a stride, a row count) where it is used."""
    names = {name for name, kind in context.program.args if isinstance(kind.elem, IntType)}
    for at, (name, kind) in enumerate(zip(op.operands, op.operand_types, strict=True)):
        if name not in names or not isinstance(kind.elem, IntType) or kind.elem.width == 1:
            continue
        one, more = context.fresh(op, "one"), context.fresh(op, f"{name[1:]}.more")
        extra = (
            Op("arith.constant", (one,), (kind,), attrs={"value": 1}, line=op.line),
            Op("arith.addi", (more,), (kind,), (name, one), (kind, kind), line=op.line),
        )
        operands = (*op.operands[:at], more, *op.operands[at + 1 :])
        yield "stride off by one", f"{name} plus 1", (*extra, replace(op, operands=operands))
