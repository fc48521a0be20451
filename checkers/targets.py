"""The GPU that kernels are compiled for, without one being there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from ..spec.errors import KvproofError


def parse_target(text: str) -> GPUTarget:
    """Return Triton's target for "cuda:90" or "hip:gfx942". Raises KvproofError for another."""
    backend, _, arch = text.partition(":")
    if backend == "cuda" and arch.isdigit():
        return GPUTarget("cuda", int(arch), 32)
    if backend == "hip" and arch.startswith("gfx"):
        return GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32)
    raise KvproofError(f"unknown target {text!r}", mend='write "cuda:90" or "hip:gfx942"')


class NamedTargetDriver:
    """Triton's view of the machine during a capture: the named target, device 0, CPU tensors."""

    def __init__(self, target: GPUTarget) -> None:
        """Answer for `target`."""
        self._target = target

    def get_current_target(self) -> GPUTarget:
        """Return the named target."""
        return self._target

    def get_current_device(self) -> int:
        """Return 0."""
        return 0

    def get_current_stream(self, _device: int = 0) -> int:
        """Return 0."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Return the CPU, where the recipe's tensors are."""
        return torch.device("cpu")

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError: nothing else is known of a device that is not there."""
        raise AttributeError(
            f"the capture has no device to ask for {name!r} - give the value with a switch"
        )


@contextmanager
def named_target(target: GPUTarget) -> Generator[None]:
    """Make Triton see `target` as the active one inside the block."""
    before = driver._active  # noqa: SLF001 - `active` would look for a device
    driver.set_active(NamedTargetDriver(target))
    try:
        yield
    finally:
        driver._active = before  # noqa: SLF001
