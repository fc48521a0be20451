"""Functions of a Python file and their parameters, read from its text: nothing is imported."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..spec.errors import KvproofError


@dataclass(frozen=True)
class Signature:
    """A function as its `def` states it.

    Args:
        name: its (possibly dotted) name.
        line: line of the `def`.
        keywords: parameters that can be passed by keyword.
        required: those of them without a default.
        positional: parameters that cannot be passed by keyword.
        takes_any: whether it has `**kwargs`.
        kernel: whether a Triton decorator stands above it.
        annotations: the text of each parameter's annotation, where it has one.
    """

    name: str
    line: int
    keywords: tuple[str, ...]
    required: tuple[str, ...]
    positional: tuple[str, ...]
    takes_any: bool
    kernel: bool
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)


def read_tree(path: Path, where: str) -> ast.Module:
    """Return a file's syntax tree. Raises KvproofError: unreadable, or no Python."""
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        raise KvproofError(
            f"cannot read the file ({error.strerror or error})", where=where, mend="check the path"
        ) from None
    except SyntaxError as error:
        raise KvproofError(f"syntax error: {error.msg}", where=f"{where}:{error.lineno}") from None
    except ValueError as error:
        raise KvproofError(f"not Python source ({error})", where=where) from None


def functions(tree: ast.Module) -> dict[str, Signature]:
    """Return the functions of a module by dotted name, methods and those under `if` included."""
    found: dict[str, Signature] = {}
    todo: list[tuple[str, ast.stmt]] = [("", node) for node in reversed(tree.body)]
    while todo:
        prefix, node = todo.pop()
        if isinstance(node, ast.FunctionDef):
            found[prefix + node.name] = _signature(prefix + node.name, node)
        elif isinstance(node, ast.ClassDef):
            todo += [(f"{prefix}{node.name}.", inner) for inner in reversed(node.body)]
        elif isinstance(node, (ast.If, ast.Try)):
            bodies = [*node.body, *node.orelse]
            if isinstance(node, ast.Try):
                bodies += [inner for handler in node.handlers for inner in handler.body]
            todo += [(prefix, inner) for inner in reversed(bodies)]
    return found


def find_function(tree: ast.Module, name: str, where: str) -> Signature | None:
    """Return a host function; None when the module assigns or imports the name from elsewhere.

    Raises KvproofError: the module has no such name, or it is a kernel.
    """
    known = functions(tree)
    found = known.get(name)
    if found is None:
        if name.partition(".")[0] in _bound(tree):
            return None
        hosts = [key for key, value in known.items() if not value.kernel]
        near = difflib.get_close_matches(name, hosts, n=3, cutoff=0.5) or hosts[:6]
        mend = f"it has {', '.join(near)}" if near else "it defines no function"
        raise KvproofError(f"no function {name!r}", where=where, mend=mend)
    if found.kernel:
        raise KvproofError(
            f"{name!r} is a kernel",
            where=f"{where}:{found.line}",
            mend="name the host function that launches it",
        )
    return found


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _signature(name: str, node: ast.FunctionDef) -> Signature:
    args = node.args
    plain = [arg.arg for arg in args.args]
    without = plain[: len(plain) - len(args.defaults)] if args.defaults else plain
    keyword_only = [arg.arg for arg in args.kwonlyargs]
    needed = [
        arg for arg, default in zip(keyword_only, args.kw_defaults, strict=True) if default is None
    ]
    marks = [ast.unparse(mark).partition("(")[0] for mark in node.decorator_list]
    return Signature(
        name=name,
        line=node.lineno,
        keywords=(*plain, *keyword_only),
        required=(*without, *needed),
        positional=tuple(arg.arg for arg in args.posonlyargs),
        takes_any=args.kwarg is not None,
        kernel=any(
            mark in ("jit", "autotune", "heuristics") or mark.startswith("triton.")
            for mark in marks
        ),
        annotations={
            arg.arg: ast.unparse(arg.annotation)
            for arg in (*args.args, *args.kwonlyargs)
            if arg.annotation is not None
        },
    )
