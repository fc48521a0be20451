"""What a host function launched, as plain data: kernel, grid, arguments and IR text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ArgInfo:
    """One argument of a launched kernel.

    Args:
        name: parameter name in the kernel's signature.
        kind: "pointer", "scalar" or "constexpr".
        type: the compiler's signature type, e.g. "*bf16", "i32", "constexpr".
        value: a scalar or constexpr, a stride in elements or a count of rows as the kernel takes
            it; None for a pointer.
        tensor: for a pointer, the name of the recipe's tensor whose storage it points into.
        byte_offset: the pointer minus that tensor's own data pointer, in bytes.
        shape: elements along each dimension of the tensor that was passed (a view may differ from
            the recipe's).
        strides: its strides in elements.
    """

    name: str
    kind: str
    type: str
    value: int | float | bool | str | None = None
    tensor: str | None = None
    byte_offset: int = 0
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launch:
    """One kernel launch, recorded instead of executed.

    Args:
        kernel: name of the kernel function.
        file: source file of the kernel, as it is to be shown.
        line: line of the kernel's `def`.
        grid: evaluated grid, programs along its three axes.
        args: every argument in the order of the kernel's signature.
        options: launch options (num_warps, num_stages, ...).
        config: text of the autotuner's configuration; empty without an autotuner.
        ttir: text of the compiled IR.
        ttir_hash: sha256 of that text with its source locations removed.
        triton: version of the compiler.
    """

    kernel: str
    file: str
    line: int
    grid: tuple[int, int, int]
    args: tuple[ArgInfo, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    config: str = ""
    ttir: str = ""
    ttir_hash: str = ""
    triton: str = ""

    def arg(self, name: str) -> ArgInfo:
        """Return the argument of that name. Raises KeyError when there is none."""
        for arg in self.args:
            if arg.name == name:
                return arg
        raise KeyError(name)


@dataclass(frozen=True)
class Capture:
    """Everything that one call of a host function did.

    Args:
        launches: the launches, in order; an autotuned kernel gives one per configuration.
        error: the one-line text of an exception that the host function raised, or None.
        notes: what else a reader must know, e.g. a device path that was not taken.
    """

    launches: tuple[Launch, ...]
    error: str | None = None
    notes: tuple[str, ...] = ()
