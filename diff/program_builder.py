"""Writes a program, IR and Triton source side by side: addresses, leaves, stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from .program_types import BITS, TRITON
from .programs import Record


@dataclass(frozen=True)
class Value:
    """A value: its name, element type, whether it is a scalar, and its record."""

    name: str
    elem: str
    scalar: bool
    record: int


@dataclass
class Builder:
    """A program that is being written.

    Args:
        gpu: only ops that a GPU backend lowers.
        lanes: shape of every tensor.
        grid: programs per axis.
    """

    gpu: bool
    lanes: tuple[int, ...]
    grid: tuple[int, int, int]
    ttir: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    pool: list[Value] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    controls: tuple[int, ...] = ()
    depth: int = 0
    names: int = 0
    #: (name of the iteration number, trips) of the loop that stores; "" where nothing is stored.
    loop: tuple[str, int] | None = None

    # --- text ---------------------------------------------------------------------------

    def kind(self, elem: str, *, scalar: bool) -> str:
        """Return the type of a value of that element type."""
        return elem if scalar else f"tensor<{'x'.join(map(str, self.lanes))}x{elem}>"

    def name(self) -> str:
        """Return a name that no value has yet."""
        self.names += 1
        return f"v{self.names}"

    def emit(self, text: str, expr: str, name: str = "") -> str:
        """Write `%name = text` and `name = expr`; return the name."""
        name = name or self.name()
        self.ttir.append(f"%{name} = {text}")
        if expr:
            self.source.append("    " * (self.depth + 1) + f"{name} = {expr}")
        return name

    def line(self, text: str, expr: str = "") -> None:
        """Write a line that makes no value."""
        if text:
            self.ttir.append(text)
        if expr:
            self.source.append("    " * (self.depth + 1) + expr)

    # --- values -------------------------------------------------------------------------

    def prologue(self) -> None:
        """Make program ids, lanes and offsets: `off` for tensors, `one` for scalars."""
        for axis, letter in enumerate("xyz"):
            self.emit(f"tt.get_program_id {letter} : i32", f"tl.program_id({axis})", f"p{axis}")
        x, y, _ = self.grid
        self.scalar_constant("gy", y)
        self.scalar_constant("gx", x)
        self.scalar_constant("width", prod(self.lanes))
        self.emit("arith.muli %p2, %gy : i32", "p2 * gy", "s0")
        self.emit("arith.addi %s0, %p1 : i32", "s0 + p1", "s1")
        self.emit("arith.muli %s1, %gx : i32", "s1 * gx", "s2")
        self.emit("arith.addi %s2, %p0 : i32", "s2 + p0", "one")
        self.emit("arith.muli %one, %width : i32", "one * width", "s3")
        whole = self.kind("i32", scalar=False)
        sizes = self.lanes
        for axis, size in enumerate(sizes):
            self.emit(
                f"tt.make_range {{end = {size} : i32, start = 0 : i32}} : tensor<{size}xi32>",
                f"tl.arange(0, {size})",
                f"r{axis}",
            )
        lane = "r0"
        if len(sizes) == 2:
            m, n = sizes
            self.emit(
                f"tt.expand_dims %r0 {{axis = 1 : i32}} : tensor<{m}xi32> -> tensor<{m}x1xi32>",
                "r0[:, None]",
                "e0",
            )
            self.emit(
                f"tt.expand_dims %r1 {{axis = 0 : i32}} : tensor<{n}xi32> -> tensor<1x{n}xi32>",
                "r1[None, :]",
                "e1",
            )
            self.emit(
                f"arith.constant dense<{n}> : tensor<{m}x1xi32>",
                f"tl.full([{m}, 1], {n}, tl.int32)",
                "row",
            )
            self.emit(f"arith.muli %e0, %row : tensor<{m}x1xi32>", "e0 * row", "e2")
            for name, of in (("b0", f"{m}x1"), ("b1", f"1x{n}")):
                old = "e2" if name == "b0" else "e1"
                self.emit(
                    f"tt.broadcast %{old} : tensor<{of}xi32> -> {whole}",
                    f"tl.broadcast_to({old}, {m}, {n})",
                    name,
                )
            lane = self.emit(f"arith.addi %b0, %b1 : {whole}", "b0 + b1", "lane")
        self.emit(
            f"tt.splat %s3 : i32 -> {whole}", f"tl.full({list(sizes)}, 0, tl.int32) + s3", "s4"
        )
        self.emit(f"arith.addi %s4, %{lane} : {whole}", f"s4 + {lane}", "off")

    def scalar_constant(self, name: str, value: int) -> str:
        """Make an i32 constant."""
        return self.emit(f"arith.constant {value} : i32", f"tl.full((), {value}, tl.int32)", name)

    def constant(self, elem: str, bits: int, *, scalar: bool) -> str:
        """Make a constant from its bit pattern."""
        w = BITS[elem]
        text = f"0x{bits:0{w // 4}X}"
        shape = [] if scalar else list(self.lanes)
        if elem.startswith("i"):
            value = bits - (1 << w) if bits >> (w - 1) else bits
            text, expr = str(value), f"tl.full({shape}, {value}, {TRITON[elem]})"
        else:
            value = bits - (1 << w) if bits >> (w - 1) else bits
            expr = f"tl.full({shape}, {value}, tl.int{w}).to({TRITON[elem]}, bitcast=True)"
        kind = self.kind(elem, scalar=scalar)
        return self.emit(f"arith.constant {text if scalar else f'dense<{text}>'} : {kind}", expr)

    def address(self, base: str, elem: str, first: int, *, scalar: bool) -> str:
        """Return pointers to this program's part of a run of elements that starts at `first`."""
        kind = self.kind("i32", scalar=scalar)
        offset = self.emit(
            f"arith.addi %{'one' if scalar else 'off'}, "
            f"%{self.constant('i32', first, scalar=scalar)} : {kind}",
            f"{'one' if scalar else 'off'} + {first}",
        )
        return self.pointer(base, elem, offset, kind, scalar=scalar)

    def pointer(self, base: str, elem: str, offset: str, kind: str, *, scalar: bool) -> str:
        """Add an offset to an argument."""
        pointers = self.kind(f"!tt.ptr<{elem}>", scalar=scalar)
        start = base
        if not scalar:
            start = self.emit(f"tt.splat %{base} : !tt.ptr<{elem}> -> {pointers}", "")
        return self.emit(
            f"tt.addptr %{start}, %{offset} : {pointers}, {kind}", f"{base} + {offset}"
        )

    def note(
        self,
        value: str,
        elem: str,
        rule: tuple[str, str],
        operands: Sequence[Value],
        *,
        scalar: bool,
        exact: bool = True,
    ) -> Value:
        """Record a value and store it."""
        first, trips = -1, 1
        if self.loop is None or self.loop[0]:
            trips = self.loop[1] if self.loop else 1
            first = self._store(value, elem, trips, scalar=scalar)
        made = Record(
            rule[0],
            rule[1],
            elem,
            tuple(item.record for item in operands),
            self.controls,
            scalar,
            first,
            trips,
            exact,
        )
        self.records.append(made)
        return Value(value, elem, scalar, len(self.records) - 1)

    def _store(self, value: str, elem: str, trips: int, *, scalar: bool) -> int:
        w = max(BITS[elem], 8)
        held = f"i{w}"
        kind, old = (self.kind(e, scalar=scalar) for e in (held, elem))
        if elem == "i1":
            value = self.emit(f"arith.extui %{value} : {old} to {kind}", f"{value}.to(tl.int8)")
        elif elem != held:
            value = self.emit(
                f"tt.bitcast %{value} : {old} -> {kind}",
                f"{value}.to({TRITON[held]}, bitcast=True)",
            )
        base = f"o{w}"
        count = prod(self.grid) * (1 if scalar else prod(self.lanes))
        first = self.outputs.get(base, 0)
        self.outputs[base] = first + count * trips
        places = self.kind("i32", scalar=scalar)
        if trips > 1 and self.loop:
            step = self.scalar_constant(self.name(), count)
            moved = self.emit(
                f"arith.muli %{self.loop[0]}, %{step} : i32", f"{self.loop[0]} * {step}"
            )
            if not scalar:
                whole = self.emit(f"tt.splat %{moved} : i32 -> {places}", "")
                self.line("", f"{whole} = off * 0 + {moved}")
                moved = whole
            start = "one" if scalar else "off"
            at = self.emit(f"arith.addi %{start}, %{moved} : {places}", f"{start} + {moved}")
            at = self.emit(
                f"arith.addi %{at}, %{self.constant('i32', first, scalar=scalar)} : {places}",
                f"{at} + {first}",
            )
            pointer = self.pointer(base, held, at, places, scalar=scalar)
        else:
            pointer = self.address(base, held, first, scalar=scalar)
        pointers = self.kind(f"!tt.ptr<{held}>", scalar=scalar)
        self.line(f"tt.store %{pointer}, %{value} : {pointers}", f"tl.store({pointer}, {value})")
        return first

    def pick(self, elem: str, number: int, *, scalar: bool) -> Value:
        """Return a value of that type: a known one, the newest first, or a new leaf."""
        from .program_leaves import leaf

        known = [v for v in reversed(self.pool) if v.elem == elem and v.scalar == scalar][:5]
        if number < len(known):
            return known[number]
        made = leaf(self, elem, number - len(known), scalar=scalar)
        self.pool.append(made)
        return made
