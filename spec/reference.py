"""The naive reference: one row at a time, one element at a time, from the contract alone.

It shares no code with a kernel, a runner or the prover. Memory is a mapping from element offset
to bit pattern, so a pool of any size costs only what is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .case import Case
from .contract import Instance
from .dtypes import DType, cast_bits, cast_table, dtype
from .rules import Cast, Compare, SkipRule

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def holds(compare: Compare, env: dict[str, int]) -> bool:
    """Tell whether a comparison holds for plain ints."""
    return _COMPARE[compare.op](compare.left.evaluate(env), compare.right.evaluate(env))


@dataclass(frozen=True)
class Expected:
    """One element that the contract says is stored.

    Args:
        bits: the pattern stored.
        segment: name of the segment.
        row, slot, column: where it comes from.
    """

    bits: int
    segment: str
    row: int
    slot: int
    column: int


def row_env(instance: Instance, case: Case, row: int) -> dict[str, int]:
    """Return the values of all symbols for one row of a case, `place` included."""
    env = {**case.dims, "POOL": case.pool, "ROWS": case.rows, "row": row}
    env["slot"] = case.slots[row]
    env["place"] = instance.contract.owner.place.evaluate(env)
    return env


def skipped(rules: tuple[SkipRule, ...], env: dict[str, int]) -> SkipRule | None:
    """Return the first skip rule that drops the row, or None."""
    for rule in rules:
        if holds(rule.condition, env):
            return rule
    return None


def accepted(instance: Instance, case: Case, row: int) -> bool:
    """Tell whether a row must be stored on this rank: legal, not skipped, owned."""
    env = row_env(instance, case, row)
    if not 0 <= env["slot"] < case.pool * case.dims["WORLD"]:
        return False
    if skipped(instance.contract.skip, env) is not None:
        return False
    owned = instance.contract.owner.owned
    return owned is None or holds(owned, env)


def encode_bits(instance: Instance, source: DType, bits: int) -> int:
    """Return the bits that the contract stores for one source element."""
    encode = instance.contract.encode
    if not isinstance(encode, Cast):
        return bits
    if source.bits <= 16:
        return cast_table(source.name, encode.target, saturate=encode.saturate)[bits]
    return cast_bits(source, dtype(encode.target), bits, saturate=encode.saturate)


def expected_stores(
    instance: Instance, case: Case, element: Callable[[str, int], int]
) -> dict[tuple[str, int], Expected]:
    """Return every element that must be stored, keyed (cache argument, element offset).

    Args:
        instance: the contract in its configuration.
        case: the concrete call.
        element: returns the bit pattern of a source argument at an element offset.

    Rows are taken in order, so the last of two equal slots wins.
    """
    stores: dict[tuple[str, int], Expected] = {}
    for row in range(case.rows):
        if not accepted(instance, case, row):
            continue
        env = row_env(instance, case, row)
        for segment in instance.contract.segments:
            source = dtype(instance.dtypes[segment.source])
            for column in range(segment.width.evaluate(env)):
                here = {**env, "col": column}
                bits = element(segment.source, segment.begin.evaluate(here))
                stores[segment.into, segment.at.evaluate(here)] = Expected(
                    encode_bits(instance, source, bits),
                    segment.name,
                    row,
                    env["slot"],
                    column,
                )
    return stores
