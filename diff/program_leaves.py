"""Values that a random program starts from: memory, constants, indices, spread scalars."""

from __future__ import annotations

from math import prod

from .program_builder import Builder, Value
from .programs import edges


def leaf(writer: Builder, elem: str, pick: int, *, scalar: bool) -> Value:
    """Make a value from memory, a constant, an index or a scalar."""
    if elem == "i1":
        byte = leaf(writer, "i8", pick, scalar=scalar)
        kind = writer.kind("i8", scalar=scalar)
        name = writer.emit(
            f"arith.trunci %{byte.name} : {kind} to {writer.kind('i1', scalar=scalar)}",
            f"(({byte.name} & 1) != 0)",
        )
        return writer.note(
            name, elem, ("arith.trunci", "arith.trunci i8 to i1"), (byte,), scalar=scalar
        )
    if pick == 1 and elem == "i32":
        name = "one" if scalar else "off"
        return writer.note(name, elem, ("index", "index"), (), scalar=scalar)
    if pick == 2:
        bits = edges(elem)[writer.names % len(edges(elem))]
        name = writer.constant(elem, bits, scalar=scalar)
        return writer.note(
            name, elem, ("arith.constant", f"arith.constant {elem}"), (), scalar=scalar
        )
    if pick in (3, 4) and not scalar:
        return _spread(writer, elem, pick)
    count = prod(writer.grid) * (1 if scalar else prod(writer.lanes))
    base = f"x_{elem}"
    first = writer.inputs.get(base, 0)
    writer.inputs[base] = first + count
    pointer = writer.address(base, elem, first, scalar=scalar)
    pointers = writer.kind(f"!tt.ptr<{elem}>", scalar=scalar)
    operands: tuple[Value, ...] = ()
    more, words = "", ""
    if pick == 5:
        mask = leaf(writer, "i1", 0, scalar=scalar)
        other = leaf(writer, elem, 2, scalar=scalar)
        operands = (mask, other)
        more, words = (
            f", %{mask.name}, %{other.name}",
            f", mask={mask.name}, other={other.name}",
        )
    name = writer.emit(f"tt.load %{pointer}{more} : {pointers}", f"tl.load({pointer}{words})")
    label = f"tt.load {elem}" + (" with a mask" if operands else "")
    return writer.note(name, elem, ("tt.load", label), operands, scalar=scalar)


def _spread(writer: Builder, elem: str, pick: int) -> Value:
    """Splat a scalar, or broadcast a row of a two-dimensional tensor."""
    scalar = leaf(writer, elem, 0, scalar=True)
    whole = writer.kind(elem, scalar=False)
    if pick == 3 or len(writer.lanes) == 1:
        name = writer.emit(f"tt.splat %{scalar.name} : {elem} -> {whole}", "")
        writer.line(
            "", f"{name} = tl.broadcast_to({scalar.name}, {', '.join(map(str, writer.lanes))})"
        )
        return writer.note(name, elem, ("tt.splat", f"tt.splat {elem}"), (scalar,), scalar=False)
    m, n = writer.lanes
    row, col = f"tensor<{n}x{elem}>", f"tensor<1x{n}x{elem}>"
    base = f"x_{elem}"
    first = writer.inputs.get(base, 0)
    writer.inputs[base] = first + n
    at = writer.emit(
        f"arith.constant dense<{first}> : tensor<{n}xi32>", f"tl.full([{n}], {first}, tl.int32)"
    )
    at = writer.emit(f"arith.addi %r1, %{at} : tensor<{n}xi32>", f"r1 + {at}")
    pointers = f"tensor<{n}x!tt.ptr<{elem}>>"
    start = writer.emit(f"tt.splat %{base} : !tt.ptr<{elem}> -> {pointers}", "")
    pointer = writer.emit(
        f"tt.addptr %{start}, %{at} : {pointers}, tensor<{n}xi32>", f"{base} + {at}"
    )
    name = writer.emit(f"tt.load %{pointer} : {pointers}", f"tl.load({pointer})")
    name = writer.emit(
        f"tt.expand_dims %{name} {{axis = 0 : i32}} : {row} -> {col}", f"{name}[None, :]"
    )
    name = writer.emit(
        f"tt.broadcast %{name} : {col} -> {whole}", f"tl.broadcast_to({name}, {m}, {n})"
    )
    return writer.note(name, elem, ("tt.broadcast", f"tt.broadcast {elem}"), (), scalar=False)
