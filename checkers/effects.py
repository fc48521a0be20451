"""Which ops may touch memory: what cannot be followed must spoil every promise, or none."""

from __future__ import annotations

from collections.abc import Iterator

from .optable import OPS, is_pure
from .ttir import Op


def nested(op: Op) -> Iterator[Op]:
    """Yield every op inside the regions of an op, at any depth."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                yield from nested(inner)


_CONTROL = ("scf.", "cf.", "tt.return", "tt.reduce")


def touches_memory(op: Op) -> bool:
    """Tell whether an op may load, store or have an effect that is not known."""
    if op.name in OPS or op.name in _SHAPES or op.name.startswith(_CONTROL):
        return False
    return op.name in ("tt.load", "tt.store") or not is_pure(op)


_SHAPES = frozenset(
    {
        "tt.get_program_id",
        "tt.get_num_programs",
        "tt.splat",
        "tt.broadcast",
        "tt.reshape",
        "tt.addptr",
        "tt.expand_dims",
        "tt.trans",
        "arith.constant",
        "tt.make_range",
        "tt.bitcast",
        "tt.assert",
        "tt.print",
        "gpu.barrier",
        "ttg.barrier",
        "tt.grid_dependency_wait",
        "tt.grid_dependency_launch_dependents",
    }
)
