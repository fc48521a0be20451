"""Tensors for a captured call: made from a recipe on the CPU, and recognised again in a launch.

Floating-point tensors of up to a million elements get a pattern of their own, so that a copy that
the host function makes of one (`.contiguous()`, `.to(torch.int32)`) is told by its values. Larger
ones are zeros that take no memory until they are touched.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from math import prod
from typing import Any

import torch

from ..spec.call import Arg, CallRecipe, DTypeArg, ScalarArg, TensorArg
from ..spec.dtypes import DTYPES, dtype
from ..spec.errors import KvproofError

#: Tensors of more elements than this are neither filled nor compared (by bytes, for writes).
SMALL = 1 << 20

_MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


def torch_dtype(name: str) -> torch.dtype:
    """Return the torch dtype of a short name. Raises KvproofError, with the names, for another."""
    return getattr(torch, dtype(name).torch)


def short_name(of: torch.dtype) -> str:
    """Return the short name of a torch dtype, or torch's own where there is none."""
    own = str(of).removeprefix("torch.")
    return next((known.name for known in DTYPES.values() if known.torch == own), own)


def make_arguments(recipe: CallRecipe) -> dict[str, Any]:
    """Return the keyword arguments of the call. Raises KvproofError naming a bad argument."""
    return {arg.name: _make(arg, index) for index, arg in enumerate(recipe.args)}


def _make(arg: Arg, index: int) -> Any:
    if isinstance(arg, ScalarArg):
        return arg.value
    if isinstance(arg, DTypeArg):
        return torch_dtype(arg.dtype)
    return make_tensor(arg, seed=index)


def make_tensor(arg: TensorArg, *, seed: int) -> torch.Tensor:
    """Return a CPU tensor of the argument's dtype, shape, strides (elements) and values.

    The storage is as long as the strides need, at least one element even for an empty tensor
    (so that its address tells it apart). Raises KvproofError for values that do not fit.
    """
    kind = torch_dtype(arg.dtype)
    strides = arg.strides if arg.strides is not None else _contiguous(arg.shape)
    if len(strides) != len(arg.shape) or any(n < 0 for n in (*arg.shape, *strides)):
        raise KvproofError(
            f"strides {strides} do not fit shape {arg.shape}", where=f"argument {arg.name}"
        )
    count = prod(arg.shape)
    tensor = _storage(arg.extent(), kind, arg.name).as_strided(arg.shape, strides)
    if arg.values is not None:
        _fill_values(tensor, arg, count)
    elif kind.is_floating_point and arg.fill is not None:
        tensor.fill_(arg.fill)
    elif kind.is_floating_point and 0 < count <= SMALL:
        pattern = (torch.arange(count) * 31 + 17 * seed) % 251 + 1
        tensor.copy_(pattern.to(torch.float32).reshape(arg.shape))
    return tensor


def _fill_values(tensor: torch.Tensor, arg: TensorArg, count: int) -> None:
    values = arg.values or ()
    where = f"argument {arg.name}"
    if tensor.dtype.is_floating_point:
        raise KvproofError("only integer tensors take values", where=where)
    if len(values) != count:
        raise KvproofError(
            f"{len(values)} values for shape {arg.shape}", where=where, mend=f"give {count}"
        )
    if tensor.dtype != torch.bool:
        info = torch.iinfo(tensor.dtype)
        ends = (*values[:1], *values[-1:]) if isinstance(values, range) else values
        wrong = next((value for value in ends if not info.min <= value <= info.max), None)
        if wrong is not None:
            raise KvproofError(f"value {wrong} does not fit {arg.dtype}", where=where)
    if isinstance(values, range):
        made = torch.arange(values.start, values.stop, values.step, dtype=tensor.dtype)
    else:
        made = torch.tensor(values, dtype=tensor.dtype)
    tensor.copy_(made.reshape(arg.shape))


def _storage(extent: int, kind: torch.dtype, name: str) -> torch.Tensor:
    if extent <= SMALL:
        return torch.zeros(extent, dtype=kind)
    size = extent * kind.itemsize
    try:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        return torch.frombuffer(mmap.mmap(-1, size, flags=flags), dtype=kind)
    except (OSError, ValueError, OverflowError) as error:
        raise KvproofError(
            f"no address space for {size} bytes ({error})", where=f"argument {name}"
        ) from None


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class KnownTensors:
    """The recipe's tensors, to be found again behind a kernel's pointer arguments."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Remember the tensors by the address of their storage."""
        self._bases = {
            tensor.untyped_storage().data_ptr(): (name, tensor) for name, tensor in tensors.items()
        }
        self._versions = {name: version(tensor) for name, tensor in tensors.items()}
        self._bytes = {name: _copy_of_small(tensor) for name, tensor in tensors.items()}

    def find(self, tensor: torch.Tensor) -> tuple[str, int] | None:
        """Return the name of the tensor whose storage this one shares, and the bytes from it."""
        known = self._bases.get(tensor.untyped_storage().data_ptr())
        if known is None:
            return None
        name, base = known
        at = (
            tensor.storage_offset() * tensor.element_size()
            - base.storage_offset() * base.element_size()
        )
        return name, int(at)

    def address_owner(self, value: float) -> str | None:
        """Return the name of the tensor whose data pointer is that integer."""
        owners = (
            name for name, tensor in self._bases.values() if value and tensor.data_ptr() == value
        )
        return next(owners, None)

    def copied(self, tensor: torch.Tensor) -> str | None:
        """Return the one recipe tensor that this one equals element by element, in row-major order.

        None when none does, when several do, or when the tensor is empty or large.
        """
        if not 0 < tensor.numel() <= SMALL:
            return None
        flat = _comparable(tensor)
        found = [
            name
            for name, base in self._bases.values()
            if base.numel() == tensor.numel()
            and base.dtype.is_floating_point == tensor.dtype.is_floating_point
            and torch.equal(_comparable(base), flat)
        ]
        return found[0] if len(found) == 1 else None

    def names(self, values: list[object]) -> list[str]:
        """Return the names of those values that are tensors of the recipe, or views of one."""
        found = [self.find(value) for value in values if isinstance(value, torch.Tensor)]
        return [known[0] for known in found if known is not None]

    def written(self) -> list[str]:
        """Return the names of tensors that the host function has written since the start.

        torch counts its writes; those through `tensor.data` or numpy show in the bytes of small
        tensors alone.
        """
        return [
            name
            for name, tensor in self._bases.values()
            if version(tensor) != self._versions[name] or self._differs(name, tensor)
        ]

    def _differs(self, name: str, tensor: torch.Tensor) -> bool:
        before = self._bytes[name]
        return before is not None and not torch.equal(before, _bytes_of(tensor))


def version(tensor: torch.Tensor) -> int:
    """Return torch's count of the in-place writes to a tensor and its views."""
    return tensor._version  # noqa: SLF001 - torch gives no other way


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _copy_of_small(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a copy of a tensor's whole storage, or None when that would take long."""
    return _bytes_of(tensor).clone() if tensor.untyped_storage().nbytes() <= SMALL else None


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).to(torch.float64 if tensor.dtype.is_floating_point else torch.int64)
