"""What all tests share: a test marked `gpu` is skipped where torch finds no GPU."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the GPU tests, with the reason, where no GPU is found."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason=f"no GPU: torch {torch.__version__} finds no CUDA device")
    for item in marked:
        item.add_marker(skip)
