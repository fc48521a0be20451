"""From catalogue entries to jobs: which combinations of a writer's axes are checked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from ..spec.builtin import builtin
from ..spec.call import DTypeArg, ScalarArg, TensorArg
from ..spec.contract import Instance, Range
from ..spec.expr import Const, Expr, Sym
from ..spec.job import Job, ModuleSource
from ..spec.recipe import Binding
from ..spec.rules import Compare
from .catalogue import Configuration, Row, Writer, files, writers
from .fetch import fetch
from .target import parse_target

#: Rows of one call; far above any prefill chunk.
MOST_ROWS = 1 << 18
#: Places of a pool, by slot dtype: every slot the type can hold, and a thousand times that.
MOST_PLACES = {"i32": (1 << 31) - 1, "i64": 1 << 40}
#: Sources are views of a wider projection: their row strides exceed their widths.
_NOPE_EXTRA, _ROPE_EXTRA = 1536, 64

#: Bounds of symbolic dimensions: the widths that one block size serves, and strides.
BLOCKS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
MOST_STRIDE = 1 << 16


def engine_jobs(target: str, *, console: Any = None, symbolic: bool = False) -> list[Job]:
    """Fetch an engine's files and return its jobs.

    Args:
        target: "engine==version".
        console: rich console for the progress bar of the download.
        symbolic: leave widths, strides and rows as ranges instead of listing configurations.

    Raises:
        KvproofError: unknown engine or version, or the files cannot be had.
    """
    parsed = parse_target(target)
    wanted = files(parsed.engine, parsed.version)
    fetched = fetch(parsed.engine, parsed.version, wanted, console=console)
    name = f"{parsed.engine}=={parsed.version}"
    jobs: list[Job] = []
    for writer in writers(parsed.engine, parsed.version):
        if writer.launches != "triton":
            continue
        if symbolic:
            jobs += symbolic_jobs(name, fetched.root, writer)
        else:
            jobs += [make_job(name, fetched.root, writer, chosen) for chosen in selection(writer)]
    return jobs


def selection(writer: Writer) -> Iterator[Configuration]:
    """Yield the combinations that are checked: rows with slot dtypes, shards, platforms.

    Every value of every axis appears. Each row meets the first slot dtype, the first two rows meet
    every slot dtype; a shard meets the first row with the first slot dtype; a platform meets the
    first and the last shard.
    """
    axes = writer.axes
    chosen: dict[tuple[int, int, int, int], None] = {}
    for row, slot in product(range(len(axes.rows)), range(len(axes.slots))):
        if slot == 0 or row < 2:
            chosen[row, slot, 0, 0] = None
    for shard in range(len(axes.shards)):
        chosen[0, 0, shard, 0] = None
    if len(axes.shards) > 1:
        chosen[0, len(axes.slots) - 1, 1, 0] = None
    for platform in range(1, len(axes.platforms)):
        for shard in {0, len(axes.shards) - 1}:
            chosen[0, 0, shard, platform] = None
    for row, slot, shard, platform in chosen:
        yield Configuration(
            axes.rows[row], axes.slots[slot], axes.shards[shard], axes.platforms[platform]
        )


def dimensions(writer: Writer, row: Row) -> dict[str, int | Range]:
    """Return the contract's dimensions for a row: a packed cache, sources of a wider pitch."""
    dims: dict[str, int | Range] = {
        "NOPE": row.nope,
        "BUFFER_STRIDE": row.width,
        "NOPE_STRIDE": row.width + _NOPE_EXTRA,
    }
    if _has_rope(writer):
        dims["ROPE"] = row.rope or 0
        dims["ROPE_STRIDE"] = row.width + _ROPE_EXTRA
    return dims


def _has_rope(writer: Writer) -> bool:
    return any(segment.name == "rope" for segment in builtin(writer.contract).segments)


def binding(writer: Writer, row: Row, rows: int = 0) -> Binding:
    """Return how the writer's parameters map to its contract's arguments."""
    names = writer.parameters
    extra: list[ScalarArg | DTypeArg | TensorArg] = []
    if names.cast is not None and row.cast is not None:
        extra.append(DTypeArg(names.cast, row.cast))
    if not _has_rope(writer):
        if row.rope is None:
            extra.append(ScalarArg(names.rope, None))
        else:
            extra.append(TensorArg(names.rope, row.source, (rows, *names.middle, 0)))
    return Binding(
        names={
            "kv_buffer": names.cache,
            "loc": names.slots,
            "cache_k_nope": names.nope,
            "cache_k_rope": names.rope,
        },
        middle=names.middle,
        extra=tuple(extra),
        passed={"kv_buffer": row.cache},
    )


def make_job(
    target: str,
    root: Path,
    writer: Writer,
    chosen: Configuration,
    dims: dict[str, int | Range] | None = None,
    **more: Any,
) -> Job:
    """Return the job of one combination."""
    row, shard = chosen.row, chosen.shard
    source = row.source
    instance = Instance(
        contract=builtin(writer.contract),
        dtypes={
            "kv_buffer": row.cast or row.cache,
            "cache_k_nope": source,
            "cache_k_rope": source,
            "loc": chosen.slots,
        },
        dims={
            **(dims or dimensions(writer, row)),
            "WORLD": shard.world,
            "RANK": shard.rank,
        },
        pool=Range(1, MOST_PLACES[chosen.slots] // shard.world),
        rows=Range(0, MOST_ROWS),
        where=more.pop("where", ()),
        config={
            "dtype": source if row.cast is None else f"{source} to {row.cast}",
            "loc_dtype": chosen.slots,
            "nope": row.nope,
            "rope": row.rope,
            "world": shard.world,
            "rank": shard.rank,
        }
        if dims is None
        else more.pop("config"),
    )
    module = writer.module
    return Job(
        target=target,
        writer=writer.name,
        label=more.pop("label", chosen.label),
        source=ModuleSource(
            file=module.file, root=str(root), name=module.module, stubs=module.stub_roots
        ),
        function=writer.callable,
        instance=instance,
        binding=binding(writer, row),
        switches={name: (kind[0], kind[1]) for name, kind in chosen.switches.items()},
        platform=chosen.platform.name,
        unproved=tuple(
            f"{path.name} ({path.kind}, {path.callable}): taken on {path.when}"
            for path in writer.unproved
        ),
        notes=(writer.note,) if writer.note else (),
        **more,
    )


def symbolic_jobs(target: str, root: Path, writer: Writer) -> Iterator[Job]:
    """Yield jobs that leave every dimension a range, one per block size that the writer chooses.

    A kernel's block size must be a number, so each job covers the widths that one block serves;
    together they cover all widths up to the largest.
    """
    chosen = Configuration(
        writer.axes.rows[0], writer.axes.slots[0], writer.axes.shards[0], writer.axes.platforms[0]
    )
    for high in BLOCKS:
        yield _band(target, root, writer, chosen, high // 2, high)


def _widths(low: int, high: int, *, rope: bool) -> list[tuple[int, int]]:
    """Return three (nope, rope) of rows of low + 1 to high elements, all different."""
    if not rope:
        return [(width, 0) for width in (high, high - 1, low + 1)]
    first = max(1, high // 3)
    return [(high - first, first), (high - first - 1, max(1, first - 1)), (low, 1)]


def _band(
    target: str, root: Path, writer: Writer, chosen: Configuration, low: int, high: int
) -> Job:
    rope = _has_rope(writer)
    dims: dict[str, int | Range] = {
        "NOPE": Range(1, high),
        "BUFFER_STRIDE": Range(1, MOST_STRIDE),
        "NOPE_STRIDE": Range(1, MOST_STRIDE),
    }
    width: Expr = Sym("NOPE")
    if rope:
        dims["ROPE"] = Range(1, high)
        dims["ROPE_STRIDE"] = Range(1, MOST_STRIDE)
        width = width + Sym("ROPE")
    # Samples with numbers of their own for each dimension, so that a scalar tells which it is.
    sizes: list[dict[str, int]] = []
    for step, (nope, rotary) in enumerate(_widths(low, high, rope=rope)):
        size = {
            "NOPE": nope,
            "BUFFER_STRIDE": 3 * high + 11 + 13 * step,
            "NOPE_STRIDE": 5 * high + 17 + 29 * step,
        }
        if rope:
            size["ROPE"] = rotary
            size["ROPE_STRIDE"] = 7 * high + 23 + 41 * step
        sizes.append(size)
    lift = dict.fromkeys(
        ("buffer_stride", "nope_stride", "rope_stride", "nope_dim", "rope_dim"), "i32"
    )
    config: dict[str, int | str | None] = {
        "dtype": chosen.row.source,
        "loc_dtype": chosen.slots,
        "nope": f"1..{high}",
        "rope": f"1..{high}" if rope else None,
        "world": chosen.shard.world,
        "rank": chosen.shard.rank,
        "row": f"{low + 1}..{high}",
    }
    return make_job(
        target,
        root,
        writer,
        chosen,
        dims,
        config=config,
        label=f"all rows of {low + 1} to {high} elements, all strides",
        lift=lift,
        sizes=tuple(sizes),
        where=(Compare(">", width, Const(low)), Compare("<=", width, Const(high))),
    )
