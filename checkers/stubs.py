"""Stand-ins for engine modules, so that one file of an engine imports without the engine.

A stub answers every question with "no": it is falsy, its attributes and results are stubs, it
iterates as empty. Only the named root packages are stubbed; everything else imports as usual, so
that an optional import of torch, triton or the standard library keeps its real answer. Must be
importable without torch: the parent process reads this module too.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from ..spec.call import Switches
from .switches import RealPatches, switch_value

#: What a stubbed module gives for the names under which engines hand Triton on.
RE_EXPORTED = {"triton": "triton", "tl": "triton.language"}


class StubBase:
    """Base that a class on a stub gets (`class Mine(stub): ...`); its missing parts are stubs."""

    _stub_space: StubSpace
    _stub_path = "stub base"

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        """Accept whatever the real base would have taken."""

    def __init_subclass__(cls, **_kwargs: object) -> None:
        """Accept the class keywords of the real base."""

    def __getattr__(self, name: str) -> object:
        """Return a stub for a member of the base. Raises AttributeError for dunder names."""
        if _is_dunder(name):
            raise AttributeError(name)
        return self._stub_space.value(f"{self._stub_path}.{name}")


class Stub:
    """A falsy object at a dotted path; see the module's text for what it answers.

    Called with one callable and nothing else it returns that callable, so that it works as a
    decorator. Used as an integer it raises TypeError with the path and the mend: a silent 0 would
    change what is proved.
    """

    def __init__(self, space: StubSpace, path: str) -> None:
        """Make the stub at `path` of `space`."""
        self._stub_space = space
        self._stub_path = path

    def __getattr__(self, name: str) -> object:
        """Return the switch or stub at `path.name`. Raises AttributeError for dunder names."""
        if _is_dunder(name):
            raise AttributeError(name)
        return self._stub_space.value(f"{self._stub_path}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Return a lone callable argument unchanged, else the switch or stub at `path()`."""
        if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Stub):
            return args[0]
        self._stub_space.note_call(self._stub_path, args, kwargs)
        return self._stub_space.value(f"{self._stub_path}()")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """Stand in as a base class, once however many stubs are listed."""
        first = next(base for base in bases if isinstance(base, Stub))
        if first is not self:
            return ()
        named = {"_stub_space": self._stub_space, "_stub_path": self._stub_path}
        return (type("StubBase", (StubBase,), named),)

    def _answer_stub(self, *_args: object) -> Stub:
        return self

    def _answer_no(self, _other: object = None) -> bool:
        return False

    def _refuse_number(self, *_args: object) -> Any:
        raise TypeError(
            f"{self._stub_path} is a stub and was used as a number - give it a value with a switch"
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _answer_no
    __instancecheck__ = __subclasscheck__ = _answer_no
    __getitem__ = __or__ = __ror__ = __and__ = __rand__ = __neg__ = __invert__ = _answer_stub
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _answer_stub
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _answer_stub
    __enter__ = _answer_stub
    __int__ = __index__ = __float__ = _refuse_number

    def __exit__(self, *_exc: object) -> None:
        """Let exceptions pass."""

    def __iter__(self) -> Iterator[object]:
        """Iterate as empty."""
        return iter(())

    def __len__(self) -> int:
        """Return 0."""
        return 0

    def __setitem__(self, _key: object, _value: object) -> None:
        """Forget the item."""

    def __repr__(self) -> str:
        """Return the path, marked as a stub."""
        return f"<stub {self._stub_path}>"

    def __format__(self, _spec: str) -> str:
        """Format as its repr, whatever the format asks for."""
        return repr(self)


class StubModule(ModuleType):
    """A stubbed module: every attribute is a switch's value or a stub."""

    def __init__(self, space: StubSpace, name: str) -> None:
        """Make the module; it counts as a package so that anything imports below it."""
        super().__init__(name)
        self._stub_space = space
        self.__path__ = []

    def __bool__(self) -> bool:
        """Return False, so that `if vendor_library:` takes the path without it."""
        return False

    def __getattr__(self, name: str) -> object:
        """Return the real submodule, switch or stub of that name.

        Engines hand Triton on from a module of their own (`from engine.utils import tl, triton`):
        these names give the real modules.
        """
        if _is_dunder(name):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}"
        if path in self._stub_space.real:
            return importlib.import_module(path)
        if name in RE_EXPORTED and not self._stub_space.switched(path):
            return importlib.import_module(RE_EXPORTED[name])
        return self._stub_space.value(path)


class _StubLoader(Loader):
    def __init__(self, space: StubSpace) -> None:
        self.space = space

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StubModule(self.space, spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """A stub has no body."""


class StubSpace(MetaPathFinder):
    """One set of stubbed modules, in force inside a `with` block.

    Args:
        roots: names of the root packages to stub, present on disk or not.
        switches: values at dotted paths. A path below a root is served by the stubs; any other
            path must name an attribute that exists (`torch.cuda.get_device_capability`), which is
            replaced inside the block and put back after it.
        real: dotted module names under the roots that are loaded from their file all the same.
        folder: a folder put first on `sys.path` inside the block.

    `describe`, where it is set, turns the arguments of a stub call into a text for the note, ""
    for none.

    Outside the block `sys.modules` holds nothing of it, so that several spaces (other switches,
    other releases of one engine) live in one process. Raises KvproofError on entry when a switch
    names nothing that exists.
    """

    def __init__(
        self,
        roots: Iterable[str],
        *,
        switches: Switches | None = None,
        real: Mapping[str, Path] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Prepare the space; nothing is imported or replaced yet."""
        self.roots = frozenset(roots)
        self.real = dict(real or {})
        self.folder = folder
        self._inside = None if folder is None else os.path.join(folder, "")  # noqa: PTH118
        self.notes: list[str] = []
        self.describe: Callable[[Sequence[object]], str] | None = None
        self._values: dict[str, object] = {}
        self._modules: dict[str, ModuleType] = {}
        self._outside: dict[str, ModuleType] = {}
        self._others: dict[str, ModuleType] = {}
        self._depth = 0
        theirs = {path: s for path, s in (switches or {}).items() if not self.covers(path)}
        self._patches = RealPatches(theirs)
        self._switched = frozenset(switches or {})
        for path, switch in (switches or {}).items():
            if path not in theirs:
                self._values[path] = switch_value(path, switch)

    def covers(self, name: str) -> bool:
        """Tell whether the module or attribute of that dotted name is under a stubbed root."""
        return name.partition(".")[0] in self.roots

    def value(self, path: str) -> object:
        """Return the switch's value at `path`, else the stub at it (always the same one)."""
        if path not in self._values:
            self._values[path] = Stub(self, path)
        return self._values[path]

    def switched(self, path: str) -> bool:
        """Tell whether a switch stands at a path."""
        return path in self._switched

    def note_call(self, path: str, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Note that a stub was called, while `describe` is set (during a capture)."""
        if self.describe is None:
            return
        passed = self.describe([*args, *kwargs.values()])
        note = f"called stub {path}" + (f" with {passed}" if passed else ", which answers false")
        if note not in self.notes:
            self.notes.append(note)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Serve the modules under the roots; leave every other one to the usual finders."""
        if not self.covers(fullname):
            return None
        if fullname in self.real:
            return spec_from_file_location(fullname, self.real[fullname])
        return ModuleSpec(fullname, _StubLoader(self), is_package=True)

    def _take_out(self) -> dict[str, ModuleType]:
        """Take this space's modules out of `sys.modules` and return them."""
        mine: dict[str, ModuleType] = {}
        for name, module in list(sys.modules.items()):
            if self._others.get(name) is module:
                continue  # thousands of modules, asked about twice a capture
            if self._mine(name, module):
                mine[name] = module
            else:
                self._others[name] = module
        for name in mine:
            del sys.modules[name]
        return mine

    def _mine(self, name: str, module: ModuleType) -> bool:
        if self.covers(name):
            return True
        file = getattr(module, "__file__", None)
        return self._inside is not None and isinstance(file, str) and file.startswith(self._inside)

    def __enter__(self) -> StubSpace:
        """Put the stubs in force."""
        self._depth += 1
        if self._depth == 1:
            self._patches.apply()
            self._outside = self._take_out()
            sys.modules.update(self._modules)
            sys.meta_path.insert(0, self)
            if self.folder is not None:
                sys.path.insert(0, str(self.folder))
                importlib.invalidate_caches()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take them out again and put back what they hid."""
        self._depth -= 1
        if self._depth:
            return
        if self.folder is not None:
            sys.path.remove(str(self.folder))
        sys.meta_path.remove(self)
        self._modules = self._take_out()
        sys.modules.update(self._outside)
        self._patches.undo()


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
