"""The contract of every writer here: `pytest examples/contracts`, or `-k "paged and W6"`.

A writer that is wrong on purpose is marked with what it breaks: that test is an expected failure,
and fails on the day that the writer is mended.
"""

from __future__ import annotations

from kvproof.cli.plugin import contract_test
from kvproof.spec.builtin import paged_hnd

LATENT = {"NOPE": 512, "ROPE": 64}
SCALES = {"NOPE": 32, "ROPE": 4}
HEADS = {"HEADS": 8, "HEAD_DIM": 128}
PAGES = {"PAGE": 16, **HEADS}
RANKS = {"WORLD": "world", "RANK": "rank"}


def broken(*invariants: str, why: str) -> dict[str, str]:
    """Return what is known of a faulty writer: its proofs, and its runs where they are asked."""
    return dict.fromkeys((*invariants, "runs"), why)


test_latent = contract_test("latent.py::write_latent", "mla-row", dims=LATENT)
test_latent_without_rope = contract_test(
    "latent.py::write_latent", "mla-row-norope", dims={"NOPE": 512}
)
test_latent_to_fp8 = contract_test("latent.py::write_latent", "mla-row-fp8", dims=LATENT)
test_latent_sharded = contract_test(
    "latent.py::write_latent", "mla-row-sharded", dims=LATENT, ranks=((2, 1),), bind=RANKS
)
test_latent_sharded_without_rope = contract_test(
    "latent.py::write_latent",
    "mla-row-norope-sharded",
    dims={"NOPE": 512},
    ranks=((2, 0), (2, 1)),
    bind=RANKS,
)
test_latent_on_every_rank = contract_test(
    "latent.py::write_latent_on_every_rank",
    "mla-row-norope-sharded",
    dims={"NOPE": 512},
    ranks=((2, 1),),
    bind=RANKS,
    known=broken("W1", "W12", why="rows of another rank are stored"),
)
test_scales = contract_test("latent.py::write_latent", "mla-scale", dims=SCALES, dtypes="f32")
test_scales_by_sum = contract_test(
    "latent.py::write_scales_by_sum",
    "mla-scale",
    dims=SCALES,
    dtypes="f32",
    known=broken("W10", why="-0.0 + 0.0 is 0.0"),
)
test_latent_pages = contract_test(
    "pages.py::write_latent_pages", "mla-paged", dims={"PAGE": 64, **LATENT}
)

test_kv = contract_test(
    "rows.py::write_kv", "kv-rows", dims={"HEADS": 8, "K_DIM": 128, "V_DIM": 64}
)
test_kv_guarding_k = contract_test(
    "rows.py::write_kv_guarding_k",
    "kv-rows",
    dims={"HEADS": 8, "K_DIM": 128, "V_DIM": 64},
    known=broken("W1", "W6", why="V of padding rows is stored"),
)
test_pair = contract_test("rows.py::write_pair", "kv-packed", dims=HEADS)
test_pair_overlapping = contract_test(
    "rows.py::write_pair_overlapping",
    "kv-packed",
    dims=HEADS,
    known=broken("W2", "W9", "W13", why="V begins one head too early"),
)

test_paged = contract_test("pages.py::write_pages", "paged-nhd", dims=PAGES)
test_paged_to_fp8 = contract_test("pages.py::write_pages", "paged-nhd-fp8", dims=PAGES)
test_paged_but_minus_one = contract_test(
    "pages.py::write_pages_but_minus_one",
    "paged-nhd",
    dims=PAGES,
    known=broken("W1", "W6", why="slot -2 is taken for a real one"),
)
test_paged_heads_first = contract_test(
    "pages.py::write_heads_first", paged_hnd(heads=2), dims={"PAGE": 16, "HEAD_DIM": 128}
)
test_blocks = contract_test("pages.py::write_blocks", "paged-nhd", dims=PAGES)
test_blocks_of_heads_apart = contract_test(
    "pages.py::write_blocks",
    paged_hnd(heads=3, as_nhd=True),
    dims={"PAGE": 16, "HEAD_DIM": 96},
)
test_paged_heads_in_one_run = contract_test(
    "pages.py::write_heads_in_one_run",
    paged_hnd(heads=2),
    dims={"PAGE": 16, "HEAD_DIM": 128},
    known=broken("W1", "W2", why="a token's heads are stored as one run"),
)
