"""Reads a list of small numbers as a program: ops with guarded operands, choices and loops."""

from __future__ import annotations

import random
from collections.abc import Sequence

from .program_builder import Builder, Value
from .program_rules import rules
from .program_types import BITS, Rule
from .programs import Program, Step, fill

#: Steps that are no op: a choice, a loop that carries a value, a loop that stores.
_CONTROL = ("if", "carry", "loop")
_NAMES = {gpu: (*_CONTROL, *rules(gpu=gpu)) for gpu in (False, True)}
#: How many kinds of step there are, without and with `gpu`.
KINDS = {gpu: len(names) for gpu, names in _NAMES.items()}
#: Choices and loops inside each other.
_DEPTH = 2
_CARRIED = ("i32", "i64", "i8", "f32", "i16", "bf16")


def build(
    steps: Sequence[Step],
    *,
    lanes: tuple[int, ...],
    grid: tuple[int, int, int],
    seed: int,
    gpu: bool = False,
) -> Program:
    """Return the program that the numbers stand for; every list stands for one.

    Args:
        steps: (kind, variant, three picks) each; a choice or loop takes the steps that follow.
        lanes: shape of every tensor.
        grid: programs per axis.
        seed: seed of the inputs' contents.
        gpu: only ops that a GPU backend lowers.
    """
    writer = Builder(gpu, lanes, grid)
    writer.prologue()
    _block(writer, list(steps))
    inputs = sorted(writer.inputs)
    outputs = sorted(writer.outputs)
    args = [f"%{name}: !tt.ptr<{name[2:]}>" for name in inputs]
    args += [f"%{name}: !tt.ptr<i{name[1:]}>" for name in outputs]
    body = "\n".join(f"    {line}" for line in writer.ttir)
    ttir = (
        f"module {{\n  tt.func public @kernel({', '.join(args)}) "
        f"attributes {{noinline = false}} {{\n{body}\n    tt.return\n  }}\n}}\n"
    )
    names = ", ".join((*inputs, *outputs))
    source = f"@triton.jit\ndef kernel({names}):\n" + "\n".join(writer.source) + "\n"
    contents = random.Random(seed)  # noqa: S311 - test data
    return Program(
        ttir=ttir,
        source=source,
        grid=grid,
        lanes=lanes,
        records=tuple(writer.records),
        inputs={
            name: (name[2:], fill(name[2:], writer.inputs[name], contents).hex()) for name in inputs
        },
        outputs={name: (f"i{name[1:]}", writer.outputs[name]) for name in outputs},
        steps=tuple(steps),
        seed=seed,
        gpu=gpu,
    )


def _block(writer: Builder, steps: list[Step]) -> None:
    while steps:
        step = steps.pop(0)
        name = _NAMES[writer.gpu][step[0] % KINDS[writer.gpu]]
        if name in _CONTROL:
            if writer.depth >= _DEPTH or (name != "if" and writer.loop is not None):
                continue
            taken = [steps.pop(0) for _ in range(min(len(steps), step[4] % 3 + 1))]
            {"if": _choice, "carry": _carry, "loop": _loop}[name](writer, step, taken, steps)
            continue
        choice = rules(gpu=writer.gpu)[name]
        _apply(writer, choice[step[1] % len(choice)], step[2:], scalar=step[1] >= 208)


def _apply(writer: Builder, rule: Rule, picks: Sequence[int], *, scalar: bool) -> None:
    values = [
        writer.pick(elem, number, scalar=scalar)
        for elem, number in zip(rule.ins, picks, strict=False)
    ]
    values = _guard(writer, rule, values, scalar=scalar)
    names = [value.name for value in values]
    text = rule.ttir.format(
        *(f"%{name}" for name in names),
        t=writer.kind(rule.out, scalar=scalar),
        a=writer.kind(rule.ins[0], scalar=scalar),
    )
    made = writer.emit(text, rule.source.format(*names))
    writer.pool.append(
        writer.note(
            made, rule.out, (rule.name, rule.label), values, scalar=scalar, exact=rule.exact
        )
    )


# --- operands inside the domain of an op ----------------------------------------------------


def _op(writer: Builder, name: str, values: Sequence[Value], variant: str = "") -> Value:
    """Apply an op by name to values whose first one's type chooses its rule."""
    for rule in rules()[name]:
        fits = rule.ins == tuple(value.elem for value in values)
        if fits and (not variant or f" {variant}," in rule.ttir):
            scalar = values[0].scalar
            names = [value.name for value in values]
            text = rule.ttir.format(
                *(f"%{item}" for item in names),
                t=writer.kind(rule.out, scalar=scalar),
                a=writer.kind(rule.ins[0], scalar=scalar),
            )
            made = writer.emit(text, rule.source.format(*names))
            return writer.note(made, rule.out, (rule.name, rule.label), values, scalar=scalar)
    raise KeyError(name)


def _constant(writer: Builder, elem: str, bits: int, *, scalar: bool) -> Value:
    name = writer.constant(elem, bits & ((1 << BITS[elem]) - 1), scalar=scalar)
    rule = ("arith.constant", f"arith.constant {elem}")
    return writer.note(name, elem, rule, (), scalar=scalar)


def _guard(writer: Builder, rule: Rule, values: list[Value], *, scalar: bool) -> list[Value]:
    if not rule.guard:
        return values
    elem = rule.ins[0]
    w = BITS[elem]

    def constant(bits: int, of: str = elem) -> Value:
        return _constant(writer, of, bits, scalar=scalar)

    if rule.guard == "shift":
        return [values[0], _op(writer, "arith.andi", (values[1], constant(w - 1)))]
    if rule.guard == "magnitude":
        least = _op(writer, "arith.cmpi", (values[0], constant(1 << (w - 1))), "eq")
        return [_op(writer, "arith.select", (least, constant(7), values[0]))]
    if rule.guard in ("sdiv", "udiv"):
        a, b = values
        zero = _op(writer, "arith.cmpi", (b, constant(0)), "eq")
        b = _op(writer, "arith.select", (zero, constant(3), b))
        if rule.guard == "sdiv":
            least = _op(writer, "arith.cmpi", (a, constant(1 << (w - 1))), "eq")
            minus = _op(writer, "arith.cmpi", (b, constant(-1)), "eq")
            both = _op(writer, "arith.andi", (least, minus))
            b = _op(writer, "arith.select", (both, constant(2), b))
        return [a, b]
    return [_in_range(writer, rule, values[0], scalar=scalar)]


def _in_range(writer: Builder, rule: Rule, value: Value, *, scalar: bool) -> Value:
    """Replace what does not fit the integer type by zero."""
    elem = rule.ins[0]
    bits = BITS[rule.out]
    signed = rule.guard == "to signed"
    low = _power(elem, bits - 1) | 1 << (BITS[elem] - 1) if signed else 0
    if elem == "f16" and signed and bits > 16:
        low = 0xFBFF  # the most negative number: infinity is no integer
    high = _power(elem, bits - 1 if signed else bits)

    def constant(pattern: int) -> Value:
        return _constant(writer, elem, pattern, scalar=scalar)

    above = _op(writer, "arith.cmpf", (value, constant(low)), "oge")
    below = _op(writer, "arith.cmpf", (value, constant(high)), "olt")
    fits = _op(writer, "arith.andi", (above, below))
    return _op(writer, "arith.select", (fits, value, constant(0)))


def _power(elem: str, exponent: int) -> int:
    """Return the bits of 2^exponent, or of infinity where the format does not reach it."""
    width, fraction = {"bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (11, 52)}[elem]
    bias = (1 << (width - 1)) - 1
    return min(exponent + bias, (1 << width) - 1) << fraction


# --- control --------------------------------------------------------------------------------


def _common(number: int) -> str:
    """Return an element type that a choice or loop passes on."""
    return _CARRIED[number % len(_CARRIED)]


def _choice(writer: Builder, step: Step, then: list[Step], rest: list[Step]) -> None:
    otherwise = [rest.pop(0) for _ in range(min(len(rest), step[3] % 3))]
    condition = writer.pick("i1", step[2], scalar=True)
    elem, scalar = _common(step[1]), step[1] >= 128
    kind = writer.kind(elem, scalar=scalar)
    made = writer.name()
    ops, outer = writer.controls, len(writer.pool)
    writer.line(f"%{made} = scf.if %{condition.name} -> ({kind}) {{", f"if {condition.name}:")
    writer.controls = (*ops, condition.record)
    sides: list[Value] = []
    for steps, after in ((then, "} else {"), (otherwise, "}")):
        writer.depth += 1
        _block(writer, steps)
        side = writer.pick(elem, step[4], scalar=scalar)
        writer.line(f"scf.yield %{side.name} : {kind}", f"{made} = {side.name}")
        sides.append(side)
        writer.depth -= 1
        writer.line(after, "else:" if after != "}" else "")
        del writer.pool[outer:]
    writer.controls = ops
    values = (condition, *sides)
    writer.pool.append(writer.note(made, elem, ("scf.if", f"scf.if {elem}"), values, scalar=scalar))


def _bounds(writer: Builder, step: Step) -> tuple[range, str]:
    start, by = step[2] - 3, step[3] % 3 + 1
    trips = range(start, start + by * (step[1] % 4), by)
    names = [writer.scalar_constant(writer.name(), n) for n in (trips.start, trips.stop, by)]
    return trips, f"%{names[0]} to %{names[1]} step %{names[2]}"


def _index(writer: Builder, name: str) -> None:
    """Make the induction variable known as a value."""
    writer.line("", f"{name} = tl.full((), 0, tl.int32) + {name}_")
    value = writer.note(name, "i32", ("scf.for", "scf.for index"), (), scalar=True)
    writer.pool.append(value)


def _carry(writer: Builder, step: Step, body: list[Step], _rest: list[Step]) -> None:
    trips, bounds = _bounds(writer, step)
    elem, scalar = _common(step[1] >> 2), step[1] >= 128
    kind = writer.kind(elem, scalar=scalar)
    start = writer.pick(elem, step[4], scalar=scalar)
    made, carried, index = writer.name(), writer.name(), writer.name()
    outer, loop = len(writer.pool), writer.loop
    writer.line(
        f"%{made} = scf.for %{index} = {bounds} iter_args(%{carried} = %{start.name}) -> ({kind})"
        " : i32 {",
        f"{carried} = {start.name}",
    )
    writer.line("", f"for {index}_ in range({trips.start}, {trips.stop}, {trips.step}):")
    writer.loop = ("", len(trips))
    writer.depth += 1
    _index(writer, index)
    inner = writer.note(carried, elem, ("scf.for", f"scf.for {elem}"), (start,), scalar=scalar)
    writer.pool.append(inner)
    _block(writer, body)
    last = writer.pick(elem, 0, scalar=scalar)
    writer.line(f"scf.yield %{last.name} : {kind}", f"{carried} = {last.name}")
    writer.depth -= 1
    writer.loop = loop
    del writer.pool[outer:]
    writer.line("}", f"{made} = {carried}")
    values = (start, last)
    writer.pool.append(
        writer.note(made, elem, ("scf.for", f"scf.for {elem}"), values, scalar=scalar)
    )


def _loop(writer: Builder, step: Step, body: list[Step], _rest: list[Step]) -> None:
    trips, bounds = _bounds(writer, step)
    if not len(trips):
        return
    index = writer.name()
    outer = len(writer.pool)
    writer.line(
        f"scf.for %{index} = {bounds} : i32 {{",
        f"for {index}_ in range({trips.start}, {trips.stop}, {trips.step}):",
    )
    writer.depth += 1
    start = writer.scalar_constant(writer.name(), trips.start)
    by = writer.scalar_constant(writer.name(), trips.step)
    writer.line("", f"{index} = tl.full((), 0, tl.int32) + {index}_")
    moved = writer.emit(f"arith.subi %{index}, %{start} : i32", f"{index} - {start}")
    number = writer.emit(f"arith.divsi %{moved}, %{by} : i32", f"{moved} // {by}")
    writer.loop = (number, len(trips))
    value = writer.note(index, "i32", ("scf.for", "scf.for index"), (), scalar=True)
    writer.pool.append(value)
    _block(writer, body)
    writer.loop = None
    writer.depth -= 1
    del writer.pool[outer:]
    writer.line("}")
