"""A compiled kernel's own IR as plain data: types, ops, blocks, regions, functions, a program.

`kvproof.checkers.ttir_parser.parse_ttir` makes a `Program` from the text that Triton prints. The
data says what is written there and no more: no op is renamed, reordered, folded or dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..spec.errors import KvproofError

#: Bits of every float format, by its MLIR name.
FLOAT_WIDTHS: Mapping[str, int] = {
    "f64": 64,
    "f32": 32,
    "tf32": 19,
    "f16": 16,
    "bf16": 16,
    "f8E4M3": 8,
    "f8E4M3FN": 8,
    "f8E4M3FNUZ": 8,
    "f8E4M3B11FNUZ": 8,
    "f8E3M4": 8,
    "f8E5M2": 8,
    "f8E5M2FNUZ": 8,
    "f8E8M0FNU": 8,
    "f6E2M3FN": 6,
    "f6E3M2FN": 6,
    "f4E2M1FN": 4,
}


@dataclass(frozen=True, slots=True)
class IntType:
    """A signless integer of `width` bits; a bool is `IntType(1)`."""

    width: int

    def __str__(self) -> str:
        """Return the MLIR spelling, e.g. "i32"."""
        return f"i{self.width}"


@dataclass(frozen=True, slots=True)
class FloatType:
    """A float format by its MLIR name, a key of `FLOAT_WIDTHS`."""

    name: str

    def __str__(self) -> str:
        """Return the MLIR spelling, e.g. "f8E4M3FN"."""
        return self.name


@dataclass(frozen=True, slots=True)
class PtrType:
    """A pointer to one element; `space` is Triton's address space, 1 (global) unless printed."""

    pointee: IntType | FloatType | PtrType
    space: int = 1

    def __str__(self) -> str:
        """Return the MLIR spelling, e.g. "!tt.ptr<bf16>"."""
        space = "" if self.space == 1 else f", {self.space}"
        return f"!tt.ptr<{self.pointee}{space}>"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """Any other type (index, descriptors, block pointers, laid-out tensors), as its text."""

    text: str

    def __str__(self) -> str:
        """Return the type as it was printed."""
        return self.text


Elem = IntType | FloatType | PtrType | OpaqueType


@dataclass(frozen=True, slots=True)
class Type:
    """The type of an SSA value: an element, and a tensor's shape (`()` for a scalar)."""

    elem: Elem
    shape: tuple[int, ...] = ()

    def width(self) -> int:
        """Return the bits of one element; 64 for a pointer.

        Raises KvproofError for an opaque type, which has no known width.
        """
        if isinstance(self.elem, IntType):
            return self.elem.width
        if isinstance(self.elem, FloatType):
            return FLOAT_WIDTHS[self.elem.name]
        if isinstance(self.elem, PtrType):
            return 64
        raise KvproofError(f"the type {self.elem} has no known width")

    def element_bytes(self) -> int:
        """Return the bytes that one element takes in memory; a bool takes one.

        Raises KvproofError for an opaque type, and for a format that does not fill whole bytes.
        """
        width = self.width()
        if width == 1:
            return 1
        if width % 8:
            raise KvproofError(f"the type {self} does not fill whole bytes")
        return width // 8

    def __str__(self) -> str:
        """Return the MLIR spelling, e.g. "tensor<4x32x!tt.ptr<bf16>>"."""
        if not self.shape:
            return str(self.elem)
        return f"tensor<{'x'.join(str(size) for size in self.shape)}x{self.elem}>"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in a kernel's source: file as recorded by the compiler, line from 1, column.

    Columns count from 0 in the text of some Triton versions and from 1 in others.
    """

    file: str
    line: int
    col: int

    def __str__(self) -> str:
        """Return "file:line", which every message shows."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Successor:
    """A branch target: the block's label (with its "^") and the values for its arguments."""

    block: str
    operands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.

    Args:
        name: full name, e.g. "arith.addi".
        results: SSA names with their "%"; `%a:2` gives ("%a#0", "%a#1").
        result_types: one type for each result.
        operands: SSA names in the order of the op's definition, optional ones left out.
        operand_types: one type for each operand, also where the text leaves it to be inferred.
        attrs: attributes, normalised for the ops that `ttir_parser` documents, else as printed.
        regions: nested regions.
        successors: branch targets; their operands are not among `operands`.
        line: the innermost location outside the triton package; None when unknown.
    """

    name: str
    results: tuple[str, ...] = ()
    result_types: tuple[Type, ...] = ()
    operands: tuple[str, ...] = ()
    operand_types: tuple[Type, ...] = ()
    attrs: Mapping[str, object] = field(default_factory=dict, hash=False)
    regions: tuple[Region, ...] = ()
    successors: tuple[Successor, ...] = ()
    line: SourceLine | None = None

    def walk(self) -> Iterator[Op]:
        """Yield this op, then every op of its regions, in the order of the text."""
        yield self
        for region in self.regions:
            yield from region.walk()


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: label with its "^" ("^bb0" where none is printed), arguments, ops."""

    label: str
    args: tuple[tuple[str, Type], ...] = ()
    ops: tuple[Op, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """Blocks in the order of the text; control enters the first."""

    blocks: tuple[Block, ...] = ()

    def walk(self) -> Iterator[Op]:
        """Yield every op, nested ones after the op that holds them."""
        for block in self.blocks:
            for op in block.ops:
                yield from op.walk()

    def in_flow(self) -> tuple[Block, ...]:
        """Return the blocks, each after every block that branches to it.

        The text's own order where that is such an order. Two early returns share one block, which
        the text puts before the second of them. Blocks in a circle come in the order in which
        they are reached; blocks that nothing reaches are left out then.
        """
        place = {block.label: at for at, block in enumerate(self.blocks)}
        targets = [
            [place[one.block] for op in block.ops for one in op.successors if one.block in place]
            for block in self.blocks
        ]
        if all(goal > at for at, goals in enumerate(targets) for goal in goals):
            return self.blocks
        left: list[int] = []
        seen = {0}
        path = [(0, iter(targets[0]))]
        while path:
            at, goals = path[-1]
            goal = next((goal for goal in goals if goal not in seen), None)
            if goal is None:
                left.append(at)
                path.pop()
            else:
                seen.add(goal)
                path.append((goal, iter(targets[goal])))
        return tuple(self.blocks[at] for at in reversed(left))


@dataclass(frozen=True, slots=True)
class Func:
    """A function that was not inlined; `name` is without its "@".

    `arg_attrs` holds the attributes of an argument under its SSA name, e.g. "tt.divisibility".
    """

    name: str
    args: tuple[tuple[str, Type], ...]
    result_types: tuple[Type, ...]
    body: Region
    arg_attrs: Mapping[str, Mapping[str, object]] = field(default_factory=dict, hash=False)
    attrs: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel and the functions that it calls.

    Args:
        kernel: name of the public function, without its "@".
        args: SSA names (with "%") and types of the kernel's arguments.
        body: the kernel's region.
        functions: the other functions by name, without "@".
        text_hash: `kvproof.checkers.ttir_parser.ttir_hash` of the text.
        arg_attrs: attributes of the kernel's arguments by SSA name, e.g. "tt.divisibility".
        attrs: attributes of the kernel function.
    """

    kernel: str
    args: tuple[tuple[str, Type], ...]
    body: Region
    functions: Mapping[str, Func] = field(default_factory=dict, hash=False)
    text_hash: str = ""
    arg_attrs: Mapping[str, Mapping[str, object]] = field(default_factory=dict, hash=False)
    attrs: Mapping[str, object] = field(default_factory=dict, hash=False)

    def walk(self) -> Iterator[Op]:
        """Yield every op of the kernel, nested ones included, then those of the functions."""
        yield from self.body.walk()
        for function in self.functions.values():
            yield from function.body.walk()
