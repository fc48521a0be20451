"""Load one module file of an engine, or of a user, without importing the package around it.

Must be importable without torch: the parent process names what to load with `ModuleSource`.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ..spec.call import Switches
from ..spec.errors import KvproofError
from ..spec.job import ModuleSource
from .stubs import Stub, StubSpace


@dataclass(frozen=True)
class Loaded:
    """A loaded module and the stubs that belong to it; use it inside `with loaded.space:`."""

    source: ModuleSource
    module: ModuleType
    space: StubSpace
    shown_root: Path = field(default_factory=Path.cwd)

    def shown(self, file: str) -> str:
        """Return a file name as reports show it: relative to the root, or to the working folder."""
        path = Path(file)
        return str(path.relative_to(self.shown_root)) if self.shown_root in path.parents else file

    def function(self, name: str) -> Callable[..., Any]:
        """Return the callable of that (possibly dotted) name.

        Raises KvproofError with the nearest names of the module, or when it is not callable.
        """
        found: Any = self.module
        for part in name.split("."):
            names = [known for known in dir(found) if callable(getattr(found, known, None))]
            found = getattr(found, part, None)
            if found is None:
                near = difflib.get_close_matches(part, names, n=3, cutoff=0.5)
                mend = (
                    f"nearest: {', '.join(near)}"
                    if near
                    else "it defines nothing of a similar name"
                )
                raise KvproofError(
                    f"no function {name!r}", where=self.shown(str(self.source.path)), mend=mend
                )
        if not callable(found) or isinstance(found, Stub):
            what = "imported from a stubbed module" if isinstance(found, Stub) else "not callable"
            raise KvproofError(f"{name!r} is {what}", where=self.shown(str(self.source.path)))
        return found


def load_module(source: ModuleSource, switches: Switches | None = None) -> Loaded:
    """Run the one file that `source` names, with stubs and switches in force, and return it.

    Raises KvproofError when the file or a real module is missing, has a syntax error, or raises.
    """
    path = source.path
    where = source.file
    _parse(path, where)
    engine = bool(source.root)
    real = _real_files(source)
    roots = set(source.stubs)
    if engine:
        roots.add(source.module.partition(".")[0])
    for file in real.values():
        roots.update(_missing_imports(_parse(file, str(file))))
    space = StubSpace(roots, switches=switches, real=real, folder=None if engine else path.parent)
    shown_root = Path(source.root).absolute() if engine else Path.cwd()
    if not engine and shown_root not in path.parents:
        shown_root = path.parent
    with space:
        module = _execute(path, source.module, where)
    return Loaded(source, module, space, shown_root)


def _parse(path: Path, where: str) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        reason = error.strerror or str(error)
        raise KvproofError(
            f"cannot read the file ({reason})", where=where, mend="check the path"
        ) from None
    except SyntaxError as error:
        raise KvproofError(f"syntax error: {error.msg}", where=f"{where}:{error.lineno}") from None
    except ValueError as error:
        raise KvproofError(f"not Python source ({error})", where=where) from None


def _real_files(source: ModuleSource) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for name in source.real:
        base = Path(source.root).absolute().joinpath(*name.split("."))
        found = next(
            (p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None
        )
        if found is None:
            raise KvproofError(
                f"no module {name} to load", where=source.root, mend="check the real modules"
            )
        files[name] = found
    if source.root:
        files[source.module] = source.path
    return files


def _missing_imports(tree: ast.Module) -> Iterator[str]:
    """Yield root packages imported outside any `try` that are not installed."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            nodes.extend(ast.iter_child_nodes(node) if not isinstance(node, ast.Try) else ())
            continue
        yield from (
            root for root in (name.partition(".")[0] for name in names) if not _installed(root)
        )


def _installed(root: str) -> bool:
    try:
        return root in sys.modules or importlib.util.find_spec(root) is not None
    except (ImportError, ValueError):
        return False


def _execute(path: Path, name: str, where: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise KvproofError("not a Python file", where=where, mend="name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    parent = name.rpartition(".")[0]
    try:
        if parent:
            importlib.import_module(parent)
        before = sys.modules.get(name)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            if before is not None:
                sys.modules[name] = before
    except KvproofError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise KvproofError(
            f"importing it fails: {one_line(error)}",
            where=f"{where}:{line_in(error, path)}",
            mend="stub the package it needs, or give the value it reads with a switch",
        ) from error
    return module


def one_line(error: BaseException) -> str:
    """Return an exception as one line of 400 characters at most: its type and its message."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]}" if text else type(error).__name__


def line_in(error: BaseException, path: Path) -> int:
    """Return the deepest line of that file in the exception's traceback, 0 when there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else 0
