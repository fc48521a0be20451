"""The configurations in which a user's own writer is checked, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..engines.jobs import MOST_PLACES, MOST_ROWS
from ..spec.contract import Instance, Range, WriterContract
from ..spec.rules import Cast


@dataclass(frozen=True)
class Shape:
    """Widths and formats of one latent row.

    Args:
        nope: columns without rotary embedding.
        rope: columns with it; None where the contract has no such part.
        source: dtype of the sources.
        cache: dtype of the cache.
        gap: elements between one row and the next, in cache and sources.
    """

    nope: int
    rope: int | None
    source: str
    cache: str
    gap: int = 0


_ROPE = (
    Shape(512, 64, "bf16", "bf16"),
    Shape(512, 64, "bf16", "bf16", gap=64),
    Shape(512, 64, "f32", "f32"),
    Shape(528, 128, "u8", "u8"),
)
_BARE = (
    Shape(512, None, "bf16", "bf16"),
    Shape(512, None, "bf16", "bf16", gap=64),
    Shape(512, None, "f32", "f32"),
    Shape(528, None, "u8", "u8"),
)
_CAST = (
    Shape(512, 64, "bf16", "f8e4m3fn"),
    Shape(512, 64, "f16", "f8e4m3fn"),
    Shape(512, 64, "bf16", "f8e4m3fn", gap=64),
)
_SCALES = (Shape(32, 4, "u8", "u8"), Shape(32, 4, "f32", "f32"), Shape(32, 4, "f32", "f32", gap=4))

_WHOLE = ((1, 0),)
_RANKS = ((1, 0), (2, 0), (2, 1), (3, 2))


def shapes(contract: WriterContract) -> tuple[Shape, ...]:
    """Return the rows in which a built-in contract is checked."""
    if contract.name == "mla-scale":
        return _SCALES
    if isinstance(contract.encode, Cast):
        return _CAST
    return _ROPE if "ROPE" in {dim.name for dim in contract.dims} else _BARE


def instances(contract: WriterContract) -> Iterator[tuple[str, Instance]]:
    """Yield every configuration of a built-in contract with its label, the commonest first."""
    worlds = _RANKS if contract.owner.owned is not None else _WHOLE
    for shape in shapes(contract):
        for slots in reversed(contract.slots.dtypes):
            for world, rank in worlds:
                yield (
                    _label(shape, slots, world, rank),
                    _instance(contract, shape, slots, world, rank),
                )


def _instance(
    contract: WriterContract, shape: Shape, slots: str, world: int, rank: int
) -> Instance:
    rope = shape.rope or 0
    sizes = {
        "BUFFER_STRIDE": shape.nope + rope + shape.gap,
        "NOPE": shape.nope,
        "NOPE_STRIDE": shape.nope + shape.gap,
        "ROPE": rope,
        "ROPE_STRIDE": rope + shape.gap,
    }
    dims: dict[str, int | Range] = {dim.name: sizes[dim.name] for dim in contract.dims}
    dtypes = dict.fromkeys(contract.arguments(), shape.source)
    dtypes |= dict.fromkeys(contract.caches(), shape.cache)
    dtypes[contract.slots.arg] = slots
    config: dict[str, int | str | None] = {
        "dtype": shape.source,
        "loc_dtype": slots,
        "nope": shape.nope,
        "rope": shape.rope,
        "world": world,
        "rank": rank,
    }
    if shape.cache != shape.source:
        config["cache_dtype"] = shape.cache
    if shape.gap:
        config["gap"] = shape.gap
    return Instance(
        contract=contract,
        dtypes=dtypes,
        dims={**dims, "WORLD": world, "RANK": rank},
        pool=Range(1, MOST_PLACES[slots] // world),
        rows=Range(0, MOST_ROWS),
        config=config,
    )


def _label(shape: Shape, slots: str, world: int, rank: int) -> str:
    parts = [f"nope {shape.nope} {shape.source}"]
    parts.append("no rope" if shape.rope is None else f"rope {shape.rope}")
    if shape.cache != shape.source:
        parts.append(f"{shape.cache} cache")
    if shape.gap:
        parts.append(f"gap {shape.gap}")
    parts.append(f"{slots} slots")
    if world > 1:
        parts.append(f"rank {rank} of {world}")
    return ", ".join(parts)
