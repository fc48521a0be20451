"""An arena's storages as torch tensors on a device, and the host function's arguments in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..checkers.tensors import torch_dtype
from ..spec.call import DTypeArg, ScalarArg, TensorArg
from ..spec.errors import KvproofError
from .arena import Arena, Region
from .classify import Memory
from .form import Array


class DeviceMemory:
    """A copy of an arena's storages on a device.

    Args:
        arena: the memory.
        device: "cpu", "cuda" or a torch device.
        start: bytes to begin with; the arena's own when None.

    Raises KvproofError for an arena with a sparse cache.
    """

    def __init__(
        self,
        arena: Arena,
        device: str | torch.device = "cpu",
        start: Mapping[str, Array] | None = None,
    ) -> None:
        if arena.sparse:
            raise KvproofError(f"the cache {arena.sparse[0]} is too large to be held")
        self.arena, self.device = arena, torch.device(device)
        self.storages = {
            name: torch.from_numpy(data.copy()).to(self.device)
            for name, data in (arena.before if start is None else start).items()
        }

    def arguments(self) -> dict[str, Any]:
        """Return the host function's keyword arguments: views of the storages, and the rest."""
        form = self.arena.form
        made: dict[str, Any] = {
            region.form.keyword: view_of(self.storages[region.storage], region)
            for region in self.arena.regions.values()
        }
        return {**made, **extra_arguments(form.extra, self.device)}

    def agrees(self) -> bool:
        """Tell whether every byte of every storage is as the contract says; on the device."""
        return all(
            torch.equal(data, torch.from_numpy(self.arena.after[name]).to(self.device))
            for name, data in self.storages.items()
        )

    def read(self) -> Memory:
        """Return what the storages hold."""
        return Memory({name: data.cpu().numpy() for name, data in self.storages.items()})


def view_of(storage: torch.Tensor, region: Region, start: int = 0) -> torch.Tensor:
    """Return a region's tensor, as the host function takes it, in a storage of bytes.

    Args:
        storage: the bytes, uint8.
        region: the tensor.
        start: byte of the arena's storage in `storage`.
    """
    typed = storage.view(torch_dtype(region.form.passed.name))
    size = region.form.passed.size
    return typed.as_strided(region.shape, region.strides, (start + region.start) // size)


def extra_arguments(
    extra: tuple[TensorArg | ScalarArg | DTypeArg, ...], device: torch.device
) -> dict[str, Any]:
    """Return the arguments that the contract does not speak of; tensors are zeros."""
    made: dict[str, Any] = {}
    for arg in extra:
        if isinstance(arg, ScalarArg):
            made[arg.name] = arg.value
        elif isinstance(arg, DTypeArg):
            made[arg.name] = torch_dtype(arg.dtype)
        else:
            made[arg.name] = torch.zeros(arg.shape, dtype=torch_dtype(arg.dtype), device=device)
    return made
