"""Jobs over the test suite's own writers."""

from __future__ import annotations

from pathlib import Path

from kvproof.spec.builtin import builtin
from kvproof.spec.contract import Instance, Range
from kvproof.spec.job import Job, ModuleSource
from kvproof.spec.rules import Compare

WRITERS = Path(__file__).parent / "fixtures" / "writers"


def job(
    function: str,
    contract: str = "mla-row-norope",
    *,
    file: str = "styles.py",
    dtype: str = "f32",
    slots: str = "i64",
    nope: int | Range = 40,
    rope: int | Range = 12,
    world: int = 1,
    rank: int = 0,
    pool: int | None = None,
    lift: dict[str, str] | None = None,
    sizes: tuple[dict[str, int], ...] = (),
    where: tuple[Compare, ...] = (),
    **strides: int | Range,
) -> Job:
    """Return the job of an own writer: a packed cache, sources of a wider pitch."""
    made = builtin(contract)
    with_rope = any(segment.name == "rope" for segment in made.segments)
    dims: dict[str, int | Range] = {"NOPE": nope, "WORLD": world, "RANK": rank}
    total = nope if isinstance(nope, int) else 40
    if with_rope:
        dims["ROPE"] = rope
        total += rope if isinstance(rope, int) else 12
        dims["ROPE_STRIDE"] = strides.get("ROPE_STRIDE", 20)
    dims["BUFFER_STRIDE"] = strides.get("BUFFER_STRIDE", total)
    dims["NOPE_STRIDE"] = strides.get("NOPE_STRIDE", total + 24)
    most = (1 << 31) - 1 if slots == "i32" else 1 << 40
    return Job(
        target=file,
        writer=function,
        label=f"{dtype}, {slots}",
        source=ModuleSource(file=str(WRITERS / file)),
        function=function,
        instance=Instance(
            contract=made,
            dtypes={
                "kv_buffer": dtype,
                "cache_k_nope": dtype,
                "cache_k_rope": dtype,
                "loc": slots,
            },
            dims=dims,
            pool=Range(1, (pool or most) // world),
            rows=Range(0, 1 << 18),
            where=where,
        ),
        lift=lift or {},
        sizes=sizes,
    )
