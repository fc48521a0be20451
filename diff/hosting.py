"""Runners that call a host function: any callable, and an engine's own on a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from ..checkers.loading import Loaded, load_module, one_line
from ..spec.errors import KvproofError
from ..spec.job import Job
from .api import Outcome, Prepared, Trial, Writer
from .arena import Arena
from .classify import classify
from .form import Array, form_of
from .memory import DeviceMemory

#: Bytes of caches that a callable is given at most, by device type.
MOST_CACHE = {"cpu": 64 << 20, "cuda": 1 << 30}

#: What CUDA errors say after which the process can use the GPU no more.
_FATAL = ("illegal memory access", "misaligned address", "device-side assert", "launch failure")


class CallableRunner:
    """Runs any Python callable that takes the host function's keyword arguments.

    Args:
        name: the runner's name in outcomes.
        function: the callable; None where a subclass finds it per job.
        device: where the tensors live.
    """

    def __init__(self, name: str, function: Writer | None, *, device: str = "cpu") -> None:
        self.name, self.device = name, device
        self._function = function

    def close(self) -> None:
        """Nothing is held."""

    def can_run(self, prepared: Prepared, trial: Trial) -> str | None:
        """Return None, or that there is no GPU or that the caches are too large."""
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            return "torch finds no CUDA device"
        most = MOST_CACHE[self.device.partition(":")[0]]
        form = form_of(prepared)
        for arg in form.caches:
            needed = form.extent(arg, trial.case.pool)
            if needed > most:
                return f"the cache {arg} would take {needed / (1 << 30):,.1f} GiB"
        return None

    def called(self, job: Job) -> tuple[Callable[..., Any], AbstractContextManager[Any]]:
        """Return the function, and the block inside which it is called."""
        assert self._function is not None
        return self._function, nullcontext()

    def step(
        self, prepared: Prepared, arena: Arena, storages: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Call the function once from these bytes; return the bytes after it."""
        memory = DeviceMemory(arena, self.device, storages)
        function, block = self.called(prepared.job)
        with block:
            function(**memory.arguments())
        return dict(memory.read().storages)

    def run(self, prepared: Prepared, trial: Trial) -> Outcome:
        """Call the function over the trial's memory and compare every byte."""
        most = MOST_CACHE[self.device.partition(":")[0]]
        try:
            arena = Arena(prepared, trial, dense=most + (1 << 20))
            memory = DeviceMemory(arena, self.device)
            function, block = self.called(prepared.job)
        except KvproofError as problem:
            return Outcome(runner=self.name, status="failed", reason=str(problem))
        try:
            with block:
                function(**memory.arguments())
            if self.device.startswith("cuda"):
                torch.cuda.synchronize()
            if memory.agrees():
                return Outcome(runner=self.name, status="agrees")
        except Exception as problem:  # noqa: BLE001 - a writer may raise anything
            reason = one_line(problem)
            status = "crashed" if any(word in reason for word in _FATAL) else "raised"
            return Outcome(runner=self.name, status=status, reason=reason)
        found = classify(arena, memory.read())
        return Outcome(runner=self.name, status="differs", mismatches=found)


class LoadedRunner(CallableRunner):
    """Runs the job's own function, loaded from its file, with the job's switches.

    On a GPU this is the kernel as the machine's Triton compiles it ("compiled").
    """

    def __init__(self, name: str = "compiled", *, device: str = "cuda") -> None:
        super().__init__(name, None, device=device)
        self._modules: dict[str, Loaded] = {}

    def loaded(self, job: Job) -> Loaded:
        """Return the job's module, loaded once. Raises KvproofError as `load_module` does."""
        key = repr((job.source, sorted(job.switches.items(), key=str)))
        if key not in self._modules:
            self._modules[key] = load_module(job.source, dict(job.switches))
        return self._modules[key]

    def called(self, job: Job) -> tuple[Callable[..., Any], AbstractContextManager[Any]]:
        """Return the job's function, and the block of its stubs."""
        loaded = self.loaded(job)
        return loaded.function(job.function), loaded.space

    def close(self) -> None:
        """Forget the loaded modules."""
        self._modules.clear()


class HostRunner(CallableRunner):
    """Runs an engine's function out of the installed engine, with its own dispatch and no stubs."""

    def __init__(self, name: str = "host", *, device: str = "cuda") -> None:
        super().__init__(name, None, device=device)

    def can_run(self, prepared: Prepared, trial: Trial) -> str | None:
        """Return None, or that the engine is not installed, or not in this version."""
        why = super().can_run(prepared, trial)
        if why is not None:
            return why
        source = prepared.job.source
        if not source.root:
            return "a user's own file has no engine around it"
        if prepared.job.instance.world_rank[0] > 1:
            return "the engine would need its process group to know its rank"
        engine, _, wanted = prepared.job.target.partition("==")
        try:
            installed = version(engine)
        except PackageNotFoundError:
            return f"{engine} is not installed beside kvproof"
        if installed != wanted:
            return f"{engine} {installed} is installed, not {wanted}"
        return None

    def called(self, job: Job) -> tuple[Callable[..., Any], AbstractContextManager[Any]]:
        """Import the engine's module and return its function.

        Raises:
            KvproofError: the module cannot be imported.
        """
        try:
            module = importlib.import_module(job.source.module)
        except Exception as problem:
            raise KvproofError(
                f"cannot import {job.source.module}: {one_line(problem)}"
            ) from problem
        return getattr(module, job.function), nullcontext()
