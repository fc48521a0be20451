"""The relabelling half of the z3 domain: shapes cost no terms."""

from __future__ import annotations

from .bitvectors import BitVectors, Term
from .domain import Unsupported, line_of
from .lanes import Idx, Lanes, reindex
from .ttir import Op


class Shapes:
    """Shape ops of the z3 domain."""

    algebra: BitVectors

    def splat(self, op: Op, value: Lanes) -> Lanes:
        return reindex(op, value, lambda _: ())

    def expand_dims(self, op: Op, value: Lanes, axis: int) -> Lanes:
        return reindex(op, value, lambda idx: (*idx[:axis], *idx[axis + 1 :]))

    def broadcast(self, op: Op, value: Lanes) -> Lanes:
        return reindex(
            op,
            value,
            lambda idx: tuple(
                0 if size == 1 else i for size, i in zip(value.shape, idx, strict=True)
            ),
        )

    def transpose(self, op: Op, value: Lanes, order: tuple[int, ...]) -> Lanes:
        return reindex(op, value, lambda idx: tuple(idx[order.index(d)] for d in range(len(idx))))

    def reshape(self, op: Op, value: Lanes) -> Lanes:
        shape = op.result_types[0].shape
        if op.attrs.get("allow_reorder") and shape != value.shape:
            raise Unsupported(op.name, line_of(op), "the order of elements is left open")
        squeezed = [size for size in shape if size != 1]
        if squeezed == [size for size in value.shape if size != 1]:

            def squeeze(idx: Idx) -> Idx:
                rest = iter(i for i, size in zip(idx, shape, strict=True) if size != 1)
                return tuple(0 if size == 1 else next(rest) for size in value.shape)

            return reindex(op, value, squeeze)

        def relabel(idx: Idx) -> Idx:
            flat: Term = 0
            for size, i in zip(shape, idx, strict=True):
                flat = self.algebra.add(self.algebra.mul(flat, size, 32), i, 32)
            out: list[Term] = []
            for size in reversed(value.shape):
                out.append(self.algebra.divide("remui", flat, size, 32))
                flat = self.algebra.divide("divui", flat, size, 32)
            return tuple(reversed(out))

        return reindex(op, value, relabel)
