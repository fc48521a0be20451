"""One thing to check: a host function, its contract in one configuration, and how to call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .call import Switch
from .contract import Instance
from .recipe import Binding


@dataclass(frozen=True)
class ModuleSource:
    """Where a module is and what stands in for what it imports.

    Args:
        file: the module's file; relative to `root` when that is given.
        root: folder that holds an engine's root packages (an extracted wheel). Empty for a user's
            own file: then its folder and the usual path serve its imports and `stubs` may be empty.
        name: dotted module name; derived from `file` when empty.
        stubs: root packages to stub even where they exist on disk. With a `root`, the first
            folder of `file` is stubbed as well, and so is every package that the file itself
            imports unguarded and that is not installed.
        real: dotted names of modules under `root` that are loaded from disk all the same.
    """

    file: str
    root: str = ""
    name: str = ""
    stubs: tuple[str, ...] = ()
    real: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The absolute path of the file."""
        return (Path(self.root) / self.file).absolute()

    @property
    def module(self) -> str:
        """The dotted module name."""
        if self.name:
            return self.name
        if not self.root:
            return Path(self.file).stem
        parts = Path(self.file).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A writer in one configuration.

    Args:
        target: what the user asked for, e.g. "sglang==0.5.23" or "path/to/file.py::function".
        writer: the writer's name in reports.
        label: the configuration in one phrase; with `writer` it names the job within its target.
        source: the module.
        function: the host function's name.
        instance: the contract in this configuration.
        binding: how the function's parameters map to the contract's arguments.
        switches: stand-ins for what the engine reads from its platform.
        platform: name of that platform.
        lift: kernel parameters that are constants and are to be compiled as integers of that
            type, so that dimensions can be symbolic.
        sizes: for symbolic dimensions, concrete samples of them to capture calls at.
        unproved: paths of this writer that no proof speaks for, in words.
        notes: what a reader of the report should know.
    """

    target: str
    writer: str
    label: str
    source: ModuleSource
    function: str
    instance: Instance
    binding: Binding = field(default_factory=Binding)
    switches: Mapping[str, Switch] = field(default_factory=dict)
    platform: str = ""
    lift: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[Mapping[str, int], ...] = ()
    unproved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
