"""Telling a value from another place (W9) from a wrong encoding of the right one (W10)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..spec.dtypes import DType, decode
from .arena import Arena

#: Elements of the sources that are searched at most, and wrong elements that are looked at.
_MOST, _LOOKED = 1 << 20, 64


def misplaced(
    arena: Arena,
    cache: str,
    places: list[tuple[str, int, int]],
    pairs: list[tuple[int, int]],
) -> bool:
    """Tell whether the wrong elements are encodings of other elements.

    Args:
        arena: the memory of the trial.
        cache: the cache that holds them.
        places: (segment, row, column) of each wrong element.
        pairs: (stored, expected) bits of each.

    They are when most of them are found in the sources at one and the same distance from where
    they should have come from. A stored value that equals the expected one as a number, or is a
    NaN for a NaN, is an encoding, whatever else holds the same bits.
    """
    fmt = arena.regions[cache].form.fmt
    chosen = range(0, len(pairs), -(-len(pairs) // _LOOKED))
    if all(_same_value(fmt, *pairs[k]) for k in chosen):
        return False
    order: dict[tuple[str, int, int], int] = {}
    bits: list[int] = []
    for segment in arena.form.instance.contract.segments:
        width, rows = arena.form.widths[segment.name], arena.trial.case.rows
        if segment.into != cache or not width or rows * width > _MOST:
            continue
        offsets = arena.form.origins(segment, np.arange(rows))
        made = arena.encoded(segment.source, offsets).reshape(-1).tolist()
        for k, value in enumerate(made):
            order[segment.name, k // width, k % width] = len(bits)
            bits.append(int(value))
    where: dict[int, list[int]] = {}
    for k, value in enumerate(bits):
        where.setdefault(value, []).append(k)
    votes: Counter[int] = Counter()
    for k in chosen:
        own = order.get(places[k])
        if own is not None:
            votes.update(at - own for at in where.get(pairs[k][0], ()) if at != own)
    best = max(votes.values(), default=0)
    # One byte is found somewhere by chance: a single one says nothing.
    enough = 1 if fmt.bits >= 16 else 2
    return best >= max(enough, len(chosen) * 0.4)


def _same_value(fmt: DType, a: int, b: int) -> bool:
    if fmt.kind != "float":
        return False
    if fmt.is_nan(a) or fmt.is_nan(b):
        return fmt.is_nan(a) and fmt.is_nan(b)
    sign = 1 << (fmt.bits - 1)
    one, two = decode(fmt, a & ~sign), decode(fmt, b & ~sign)
    return one == two
