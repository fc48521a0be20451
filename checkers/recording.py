"""Record what a host function launches, in place of launching it.

Inside `Recorder` a Triton launch binds its arguments with Triton's own binder, so that defaults,
integer widths and the specialisation of 1 and None are the compiler's and not a copy of its rules.
Alignment is left out on purpose: no pointer or integer is promised to be a multiple of 16, so the
IR that follows is for every alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, cast

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, create_function_from_signature

from ..spec.errors import KvproofError
from ..spec.launch import ArgInfo
from .loading import one_line
from .stubs import Stub
from .tensors import KnownTensors, short_name

Path = tuple[int, ...]


@dataclass(frozen=True)
class Recorded:
    """One launch before it is compiled.

    Args:
        function: Triton's JITFunction.
        grid: evaluated grid, three extents.
        args: the arguments in signature order, tuples flattened ("strides.0").
        signature: Triton's signature types by parameter name.
        constexprs: compile-time values by position in the signature.
        options: launch options that the host gave (num_warps, launch_pdl, ...).
        config: text of the autotuner's configuration.
    """

    function: Any
    grid: tuple[int, int, int]
    args: tuple[ArgInfo, ...]
    signature: Mapping[str, Any]
    constexprs: Mapping[Path, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    config: str = ""


class NoKernel:
    """What a recorded launch returns: falsy, and an error for whoever asks the kernel for more."""

    def __bool__(self) -> bool:
        """Return False."""
        return False

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError: nothing was compiled for a device."""
        raise AttributeError(f"a recorded launch has no {name!r}: nothing ran")


class Recorder:
    """Record launches inside a `with` block; nothing is launched there.

    Args:
        known: the recipe's tensors, to recognise pointers.
        target: target whose rules bind the arguments.

    `launches` holds the launches in order, an autotuned kernel's once per configuration that its
    own pruning keeps. `notes` says what a reader must know. Not for two threads at once.
    """

    def __init__(self, known: KnownTensors, target: GPUTarget) -> None:
        """Prepare; Triton is patched on entry only."""
        self.launches: list[Recorded] = []
        self.notes: list[str] = []
        self._known = known
        self._backend: Any = make_backend(target)
        self._configs: list[str] = []
        self._saved: list[tuple[type, Any]] = []

    def __enter__(self) -> Recorder:
        """Replace the launch methods of Triton's classes."""

        def run(function: Any, *args: Any, grid: Any, warmup: Any, **kwargs: Any) -> NoKernel:
            if warmup:
                self.note(f"{function.__name__} was warmed up, which launches nothing")
                return NoKernel()
            return self._launch(function, args, grid, kwargs)

        def tune(tuner: Any, *args: Any, **kwargs: Any) -> NoKernel:
            return self._tune(tuner, args, kwargs)

        for owner, method in ((JITFunction, run), (Autotuner, tune)):
            self._saved.append((owner, vars(owner)["run"]))
            cast(Any, owner).run = method
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the launch methods back."""
        while self._saved:
            owner, method = self._saved.pop()
            cast(Any, owner).run = method

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)

    def _launch(
        self, function: Any, args: Sequence[Any], grid: Any, kwargs: dict[str, Any]
    ) -> NoKernel:
        name = function.__name__
        stub = next(_stubs((*args, *kwargs.values())), None)
        if stub is not None:
            mend = "give it a value with a switch"
            raise KvproofError(f"{stub!r} is passed to kernel {name}", mend=mend)
        binder = create_function_from_signature(function.signature, function.params, self._backend)
        bound, specialization, options = binder(*args, **kwargs)
        pairs = zip(function.params, specialization, strict=True)
        signature = {param.name: item[0] for param, item in pairs}
        values = list(bound.values())
        constexprs = {
            path: _at(values, path) for path, kind in _leaves(signature) if kind == "constexpr"
        }
        infos = [
            self._describe(name, param, kind, _at(values, path))
            for param, path, kind in _named(signature)
        ]
        self.launches.append(
            Recorded(
                function=function,
                grid=_grid(name, grid(bound) if callable(grid) else grid),
                args=tuple(infos),
                signature=signature,
                constexprs=constexprs,
                options=dict(options),
                config=", ".join(self._configs),
            )
        )
        return NoKernel()

    def _describe(self, kernel: str, name: str, kind: str, value: Any) -> ArgInfo:
        if kind == "constexpr":
            return ArgInfo(name, "constexpr", kind, constexpr_value(value))
        if not kind.startswith("*"):
            if hasattr(value, "data_ptr") or not isinstance(value, (bool, int, float)):
                mend = "only pointers, numbers and constants can be proved about"
                raise KvproofError(f"argument {name} of {kernel} is of type {kind}", mend=mend)
            owner = self._known.address_owner(value)
            if owner is not None:
                self.note(
                    f"argument {name} of {kernel} is the address of {owner}, passed as an integer"
                )
            return ArgInfo(name, "scalar", kind, value)
        tensor = getattr(value, "base", value)  # triton.reinterpret wraps the tensor in `base`
        if not isinstance(tensor, torch.Tensor):
            raise KvproofError(
                f"argument {name} of {kernel} is a pointer of type {type(value).__name__}"
            )
        found = self._known.find(tensor)
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        owner, at = found if found is not None else (self._temporary(kernel, name, tensor), 0)
        return ArgInfo(name, "pointer", kind, None, owner, at, shape, strides)

    def _temporary(self, kernel: str, name: str, tensor: torch.Tensor) -> str | None:
        form = f"{short_name(tensor.dtype)}, {tuple(tensor.shape)}"
        what = f"argument {name} of {kernel} is a temporary ({form})"
        original = self._known.copied(tensor)
        if original is None:
            self.note(f"{what} that the host function made, not a tensor of the recipe")
            return None
        self.note(f"{what} that held the values of {original} at this launch")
        return f"~{original}"

    def _tune(self, tuner: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> NoKernel:
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        try:
            for config in self._kept_configs(tuner, kwargs):
                self._run_config(tuner, config, args, kwargs)
        finally:
            tuner.nargs = None
        return NoKernel()

    def _kept_configs(self, tuner: Any, kwargs: dict[str, Any]) -> list[Any]:
        if len(tuner.configs) == 1:  # Triton does not prune a single one either
            return list(tuner.configs)
        name = tuner.base_fn.__name__
        for what, names in (("zeroes", tuner.reset_to_zero), ("restores", tuner.restore_value)):
            if names:
                self.note(f"the autotuner of {name} {what} {', '.join(names)} while it tunes")
        if not tuner.early_config_prune:
            return list(tuner.configs)
        try:
            kept = list(tuner.early_config_prune(tuner.configs, tuner.nargs, **kwargs))
        except Exception as error:  # noqa: BLE001 - the engine's code; without a device it may fail
            self.note(f"pruning of {name} failed ({one_line(error)}): every configuration is taken")
            return list(tuner.configs)
        if not kept:
            raise KvproofError(f"the pruning of {name} keeps no configuration")
        return kept

    def _run_config(
        self, tuner: Any, config: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> None:
        settings: dict[str, Any] = config.all_kwargs()
        clash = kwargs.keys() & config.kwargs.keys()
        if clash:
            name = tuner.base_fn.__name__
            raise KvproofError(
                f"{name} is launched with {', '.join(clash)}, which its autotuner sets"
            )
        everything = {**tuner.nargs, **kwargs, **settings}
        self._hook(config.pre_hook, everything)
        if tuner.user_defined_pre_hook:
            self._hook(tuner.pre_hook, everything)
        tuner.best_config = config
        self._configs.append(", ".join(f"{key}={value}" for key, value in settings.items()))
        try:
            tuner.fn.run(*args, **kwargs, **settings)
        finally:
            self._configs.pop()

    def _hook(
        self, hook: Callable[[dict[str, Any]], Any] | None, everything: dict[str, Any]
    ) -> None:
        if hook is None:
            return
        try:
            hook(everything)
        except Exception as error:  # noqa: BLE001 - the engine's code; without a device it may fail
            self.note(f"an autotuner hook failed ({one_line(error)})")


def constexpr_value(value: Any) -> int | float | bool | str | None:
    """Return a compile-time value as plain data: numbers, text and None as they are.

    Torch dtypes become short names, nested kernels "module:name", anything else its repr.
    """
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.dtype):
        return short_name(value)
    if isinstance(value, JITFunction):
        return f"{value.__module__}:{value.__name__}"
    return str(value)


def _stubs(values: Sequence[Any]) -> Iterator[Stub]:
    for value in values:
        if isinstance(value, Stub):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _stubs(cast(Sequence[Any], value))


def _grid(kernel: str, grid: Any) -> tuple[int, int, int]:
    extents = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    try:
        numbers = [int(extent) for extent in extents]
    except (TypeError, ValueError):
        numbers = []
    if not 1 <= len(numbers) <= 3 or any(number < 0 for number in numbers):
        raise KvproofError(
            f"the grid of {kernel} is {grid!r}", mend="a grid has one to three extents >= 0"
        )
    return cast(tuple[int, int, int], (*numbers, 1, 1)[:3])


def _leaves(signature: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    return ((path, kind) for _, path, kind in _named(signature))


def _named(signature: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    for index, (name, kind) in enumerate(signature.items()):
        yield from _flatten(name, (index,), kind)


def _flatten(name: str, path: Path, kind: Any) -> Iterator[tuple[str, Path, str]]:
    if isinstance(kind, tuple):
        for index, item in enumerate(cast(tuple[Any, ...], kind)):
            yield from _flatten(f"{name}.{index}", (*path, index), item)
    else:
        yield name, path, kind


def _at(values: Any, path: Path) -> Any:
    for index in path:
        values = values[index]
    return values
