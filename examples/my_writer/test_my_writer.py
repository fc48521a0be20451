"""The contract of `my_writer.py`: run `pytest examples/my_writer`, or `-k W6` for one clause."""

from __future__ import annotations

from kvproof.cli.plugin import contract_test


@contract_test(
    "my_writer.py::write_rows",
    "mla-row-norope",
    dims={"NOPE": 512, "BUFFER_STRIDE": 576},
    dtypes=("bf16", "f32"),
)
def test_rows() -> None:
    """Every row is stored at its slot, and padding rows leave no trace."""
