"""Which memories a kernel stores to: pointers followed from the arguments, through control flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .ttir import Block, Op, Program, PtrType, Region, Type


def stored_memories(program: Program, names: Mapping[str, str]) -> frozenset[str]:
    """Return the memories that a store may write.

    Args:
        program: the kernel.
        names: kernel argument (with its "%") -> name of the memory behind it.

    A pointer whose origin cannot be followed may be any of them.
    """
    everything = frozenset(names.values())
    reach: dict[str, frozenset[str]] = {arg: frozenset((name,)) for arg, name in names.items()}
    flows = list(_flows(program.body))
    changed = True
    while changed:
        changed = False
        for source, target in flows:
            new = reach.get(target, frozenset()) | reach.get(source, frozenset())
            if new != reach.get(target, frozenset()):
                reach[target] = new
                changed = True
    stored: frozenset[str] = frozenset()
    for op in program.walk():
        if op.name == "tt.store":
            stored |= reach.get(op.operands[0]) or everything
    return stored


def _is_pointer(kind: Type) -> bool:
    return isinstance(kind.elem, PtrType)


def _flows(region: Region) -> Iterator[tuple[str, str]]:
    """Yield (value, value that may be the same pointer) pairs."""
    blocks = {block.label: block for block in region.blocks}
    for block in region.blocks:
        for op in block.ops:
            yield from _of_op(op, blocks)
            for inner in op.regions:
                yield from _flows(inner)


def _of_op(op: Op, blocks: Mapping[str, Block]) -> Iterator[tuple[str, str]]:
    pointers = [n for n, kind in zip(op.results, op.result_types, strict=True) if _is_pointer(kind)]
    if op.name in ("scf.for", "scf.while", "scf.if"):
        carried = op.operands[3:] if op.name == "scf.for" else op.operands
        for inner in op.regions:
            entry = inner.blocks[0].args
            args = [name for name, _ in (entry[1:] if op.name == "scf.for" else entry)]
            yield from zip(carried, args, strict=False)
            for block in inner.blocks:
                for last in block.ops:
                    if last.name not in ("scf.yield", "scf.condition"):
                        continue
                    given = last.operands[1:] if last.name == "scf.condition" else last.operands
                    # A yield feeds the results, and the arguments of every region of a loop.
                    yield from zip(given, op.results, strict=False)
                    for other in op.regions:
                        first = other.blocks[0].args
                        names = [n for n, _ in (first[1:] if op.name == "scf.for" else first)]
                        yield from zip(given, names, strict=False)
        return
    for successor in op.successors:
        args = [name for name, _ in blocks[successor.block].args]
        yield from zip(successor.operands, args, strict=False)
    if op.name in ("tt.load", "tt.int_to_ptr") or (op.regions and pointers):
        return  # a pointer out of memory or of an unknown region: no origin, so any memory
    for name in op.operands:
        for result in pointers:
            yield name, result
