"""A contract of one's own, field by field: docs/contracts-howto.md explains it."""

from __future__ import annotations

from kvproof.cli.plugin import contract_test
from kvproof.spec.contract import Dim, WriterContract
from kvproof.spec.expr import Sym
from kvproof.spec.rules import COL, PLACE, ROW, Exactly, Segment, Slots

SCALED_ROW = WriterContract(
    name="scaled-row",
    promise="The codes of a token in one cache and its scale in another; slot -1 is padding.",
    slots=Slots(arg="slot_mapping"),
    segments=(
        Segment(
            name="codes",
            source="codes",
            into="cache",
            width=Sym("WIDTH"),
            at=PLACE * Sym("CACHE_STRIDE") + COL,
            begin=ROW * Sym("CODES_STRIDE") + COL,
        ),
        Segment(
            name="scale",
            source="scale",
            into="scales",
            width=1,
            at=PLACE * Sym("SCALES_STRIDE") + COL,
            begin=ROW * Sym("SCALE_STRIDE") + COL,
        ),
    ),
    dims=(
        Dim("WIDTH", "codes of a row", least=1),
        Dim("CACHE_STRIDE", "elements from one place of cache on", 1, packed=Sym("WIDTH")),
        Dim("CODES_STRIDE", "elements from one row of codes on", 1, packed=Sym("WIDTH")),
        Dim("SCALES_STRIDE", "elements from one place of scales on", 1, packed=1),
        Dim("SCALE_STRIDE", "elements from one row of scale on", 1, packed=1),
    ),
    skip=(Exactly(-1),),
)

BYTES = {"codes": "u8", "cache": "u8", "scale": "f32", "scales": "f32"}

test_scaled = contract_test(
    "scaled.py::write_scaled",
    SCALED_ROW,
    dims={"WIDTH": 128, "SCALES_STRIDE": 4},
    dtypes=BYTES,
)
test_scaled_guarding_codes = contract_test(
    "scaled.py::write_scaled_guarding_codes",
    SCALED_ROW,
    dims={"WIDTH": 128, "SCALES_STRIDE": 4},
    dtypes=BYTES,
    known=dict.fromkeys(("W1", "W6", "runs"), "the scale of padding rows is stored"),
)
