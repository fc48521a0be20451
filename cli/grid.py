"""The configurations in which a user's own writer is checked, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..engines.jobs import MOST_PLACES, MOST_ROWS
from ..spec.contract import Instance, Range, WriterContract


@dataclass(frozen=True)
class Shape:
    """Widths and formats of one row.

    Args:
        widths: counts and widths by the contract's symbols; strides are packed but for the gap.
        source: dtype of the sources.
        cache: dtype of the cache.
        gap: elements between one row and the next, in cache and sources.
    """

    widths: Mapping[str, int]
    source: str
    cache: str
    gap: int = 0


_LATENT = {"NOPE": 512, "ROPE": 64}
_BYTES = {"NOPE": 528, "ROPE": 128}
_SCALE = {"NOPE": 32, "ROPE": 4}
_HEADS = {"HEADS": 8, "K_DIM": 128, "V_DIM": 128}
#: As many elements of K as of V would hide a writer that takes one for the other.
_UNEQUAL = {"HEADS": 4, "K_DIM": 192, "V_DIM": 128}
_PACKED = {"HEADS": 8, "HEAD_DIM": 128}
_PAGES = {"PAGE": 16, "HEADS": 8, "HEAD_DIM": 128}

_ROWS = (
    Shape(_LATENT, "bf16", "bf16"),
    Shape(_LATENT, "bf16", "bf16", gap=64),
    Shape(_LATENT, "f32", "f32"),
    Shape(_BYTES, "u8", "u8"),
)
_CAST = (
    Shape(_LATENT, "bf16", "f8e4m3fn"),
    Shape(_LATENT, "f16", "f8e4m3fn"),
    Shape(_LATENT, "bf16", "f8e4m3fn", gap=64),
)
_SHAPES: Mapping[str, tuple[Shape, ...]] = {
    "mla-row-fp8": _CAST,
    "mla-scale": (
        Shape(_SCALE, "u8", "u8"),
        Shape(_SCALE, "f32", "f32"),
        Shape(_SCALE, "f32", "f32", gap=4),
    ),
    "mla-paged": (
        Shape({"PAGE": 64, **_LATENT}, "bf16", "bf16"),
        Shape({"PAGE": 64, **_LATENT}, "bf16", "bf16", gap=64),
    ),
    "kv-rows": (
        Shape(_HEADS, "bf16", "bf16"),
        Shape(_UNEQUAL, "bf16", "bf16", gap=64),
        Shape(_HEADS, "f32", "f32"),
    ),
    "kv-packed": (Shape(_PACKED, "bf16", "bf16"), Shape(_PACKED, "bf16", "bf16", gap=64)),
    "paged-nhd": (Shape(_PAGES, "bf16", "bf16"), Shape(_PAGES, "bf16", "bf16", gap=64)),
    "paged-nhd-fp8": (Shape(_PAGES, "bf16", "f8e4m3fn"), Shape(_PAGES, "f16", "f8e4m3fn", gap=64)),
}

_WHOLE = ((1, 0),)
_RANKS = ((1, 0), (2, 0), (2, 1), (3, 2))


def shapes(contract: WriterContract) -> tuple[Shape, ...]:
    """Return the rows in which a built-in contract is checked."""
    return _SHAPES.get(contract.name, _ROWS)


def instances(contract: WriterContract) -> Iterator[tuple[str, Instance]]:
    """Yield every configuration of a built-in contract with its label, the commonest first."""
    worlds = _RANKS if contract.owner.owned is not None else _WHOLE
    for shape in shapes(contract):
        for slots in reversed(contract.slots.dtypes):
            for world, rank in worlds:
                yield (
                    _label(contract, shape, slots, world, rank),
                    _instance(contract, shape, slots, world, rank),
                )


def _instance(
    contract: WriterContract, shape: Shape, slots: str, world: int, rank: int
) -> Instance:
    names = [dim.name for dim in contract.dims]
    widths = {name: value for name, value in shape.widths.items() if name in names}
    dims: dict[str, int | Range] = {**contract.packed(widths, gap=shape.gap)}
    dtypes = dict.fromkeys(contract.arguments(), shape.source)
    dtypes |= dict.fromkeys(contract.caches(), shape.cache)
    dtypes[contract.slots.arg] = slots
    config: dict[str, int | str | None] = {"dtype": shape.source, "loc_dtype": slots}
    if "NOPE" in names:
        config |= {"nope": widths["NOPE"], "rope": widths.get("ROPE")}
    config |= {name.lower(): value for name, value in widths.items()}
    config |= {"world": world, "rank": rank}
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


def _label(contract: WriterContract, shape: Shape, slots: str, world: int, rank: int) -> str:
    names = [dim.name for dim in contract.dims if dim.name in shape.widths]
    widths = {name: shape.widths[name] for name in names}
    if "NOPE" in widths:
        parts = [f"nope {widths.pop('NOPE')} {shape.source}"]
        parts.append(f"rope {widths.pop('ROPE')}" if "ROPE" in widths else "no rope")
    else:
        parts = [shape.source]
    parts += [f"{name.lower().replace('_', ' ')} {value}" for name, value in widths.items()]
    if shape.cache != shape.source:
        parts.append(f"{shape.cache} cache")
    if shape.gap:
        parts.append(f"gap {shape.gap}")
    parts.append(f"{slots} slots")
    if world > 1:
        parts.append(f"rank {rank} of {world}")
    return ", ".join(parts)
