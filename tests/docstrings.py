"""What a docstring must say, read from the syntax tree: nothing is imported.

A fault is one line, "file:line name: what is missing".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Words that say what a number counts or stands for.
UNITS = (
    "element", "byte", "bit", "second", "row", "column", "place", "slot", "page", "head", "token",
    "rank", "world", "stride", "width", "count", "number of", "line", "seed", "pattern",
    "exponent", "process", "program", "question", "case",
)  # fmt: skip
_TENSOR = re.compile(r"\b(Tensor|Array|ndarray)\b")
#: A plain number, or a tuple of them; a mapping of numbers is told by its keys.
_NUMBER = re.compile(r"^(tuple\[)?(int|float)\b")
_SHAPE = re.compile(r"\[[^\]]*\]|\bshape\b|\bflat\b|dimension")
_DTYPE = re.compile(
    r"dtype|\b[iu]?(int|float)(8|16|32|64)\b|\b(bf|f|i|u)(8|16|32|64)\b|bytes|patterns|\bbool",
    re.IGNORECASE,
)


#: What a docstring names that comes from elsewhere: engines, standards, published methods.
_ELSEWHERE = re.compile(
    r"\b(SGLang|vLLM|LightLLM|LMDeploy|aiter|IEEE|OCP|Murmur\w*|bug reports|paper)\b"
)


@dataclass(frozen=True)
class Named:
    """A public name of a module with what its docstring is judged by."""

    file: str
    name: str
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None = None

    @property
    def text(self) -> str:
        """Its docstring, empty where it has none."""
        return ast.get_docstring(self.node) or ""

    def fault(self, what: str) -> str:
        """Return the fault as one line."""
        return f"{self.file}:{getattr(self.node, 'lineno', 1)} {self.name}: {what}"


def public(path: Path, root: Path) -> Iterator[Named]:
    """Yield a module and its public classes, functions and methods, without nested functions."""
    file = str(path.relative_to(root))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield Named(file, path.stem, tree)
    yield from _inside(file, "", tree.body, None)


def _inside(
    file: str, prefix: str, body: list[ast.stmt], owner: ast.ClassDef | None
) -> Iterator[Named]:
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from _inside(file, prefix, [*node.body, *node.orelse], owner)
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if node.name.startswith("_"):
            continue
        yield Named(file, prefix + node.name, node, owner)
        if isinstance(node, ast.ClassDef):
            yield from _inside(file, f"{prefix}{node.name}.", node.body, node)


def missing(one: Named) -> Iterator[str]:
    """Yield the fault of a name without a docstring."""
    if not one.text.strip():
        yield one.fault("no docstring")


def errors_of(paths: list[Path]) -> frozenset[str]:
    """Return the names of KvproofError and of every class made from it in these files."""
    bases: dict[str, set[str]] = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    found = {"KvproofError"}
    while True:
        more = {name for name, of in bases.items() if of & found} - found
        if not more:
            return frozenset(found)
        found |= more


def unsaid_errors(one: Named, errors: frozenset[str]) -> Iterator[str]:
    """Yield an error that a body raises itself, and that no "Raises" of its docstring names.

    KvproofError may stand for what is made from it. What a class raises when it is made, the
    class's own docstring may say.
    """
    nodes: list[tuple[ast.AST, str]] = [(one.node, one.text)]
    if isinstance(one.node, ast.Module) or is_command(one):
        return
    if isinstance(one.node, ast.ClassDef):
        nodes = [
            (item, one.text + "\n" + (ast.get_docstring(item) or ""))
            for item in one.node.body
            if isinstance(item, ast.FunctionDef) and item.name in ("__init__", "__post_init__")
        ]
    for node, text in nodes:
        said = re.split(r"\bRaises?\b", text, maxsplit=1)[-1] if "Raise" in text else ""
        for name in sorted(_raised(node) & errors):
            if not re.search(rf"\b({name}|KvproofError)\b", said):
                yield one.fault(f"raises {name}, and no Raises names it")


def is_command(one: Named) -> bool:
    """Tell whether a function is a command, whose docstring is the help that a user reads."""
    return any("typer." in annotation for _, annotation in _parameters(one))


def _raised(node: ast.AST) -> set[str]:
    """Return the names of what a body raises, nested functions and caught errors left out."""
    found: set[str] = set()
    todo = list(ast.iter_child_nodes(node))
    while todo:
        inner = todo.pop()
        if isinstance(inner, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(inner, ast.Raise) and isinstance(inner.exc, ast.Call):
            found.add(ast.unparse(inner.exc.func).rpartition(".")[2])
        todo += ast.iter_child_nodes(inner)
    return found


def entries(text: str) -> dict[str, str]:
    """Return the text of each name under "Args:"; names that share an entry share its text."""
    found: dict[str, str] = {}
    section = re.search(r"^Args:\n((?:(?:[ \t].*)?(?:\n|$))*)", text, re.MULTILINE)
    for block in re.split(r"^ {4}(?=\S)", section.group(1), flags=re.MULTILINE) if section else ():
        whole = " ".join(block.split())
        names, colon, said = whole.partition(":")
        if colon and re.fullmatch(r"[\w*, ]+", names):
            found |= {name.strip(" *"): said.strip() for name in names.split(",")}
        # "legal: in the pool. skip: a rule drops it" names a second one in passing.
        for name, more in re.findall(r"\. ([a-z]\w*): ([^.]*)", whole):
            found.setdefault(name, more)
    return found


def unsaid_arguments(one: Named, beside: Mapping[str, str]) -> Iterator[str]:
    """Yield parameters and fields that no docstring tells the shape and dtype, or the unit, of.

    Args:
        one: the name.
        beside: the docstrings of its module by name: "Arguments as for `write`" refers to one.

    A number whose own name says what it counts (`rows`, `seconds`) needs no more.
    """
    said = entries(one.text)
    other = re.search(r"[Aa]rguments as (?:for )?`(\w+)`", one.text)
    if other:
        said = {**entries(beside.get(other.group(1), "")), **said}
    for name, annotation in _parameters(one):
        text = said.get(name, "")
        if not text and re.search(rf"`{name}\b[^`]*`", one.text):
            text = one.text
        if _TENSOR.search(annotation) and not (_SHAPE.search(text) and _DTYPE.search(text)):
            yield one.fault(f"{name} is a tensor: say its shape and dtype under Args")
        counted = any(word in f"{name} {text}".lower() for word in UNITS)
        if _NUMBER.match(annotation) and not counted:
            yield one.fault(f"{name} is a number: say under Args what it counts, or its unit")
        if isinstance(one.node, ast.ClassDef) and not text:
            yield one.fault(f"field {name} is not under Args")


def stale_arguments(one: Named) -> Iterator[str]:
    """Yield what stands under Args and is no parameter or field."""
    known = {name for name, _ in _parameters(one)}
    if isinstance(one.node, ast.Module) or (isinstance(one.node, ast.ClassDef) and not known):
        return
    nodes = [one.node, *one.node.body] if isinstance(one.node, ast.ClassDef) else [one.node]
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and (node is one.node or node.name == "__init__"):
            args = node.args
            known |= {arg.arg for arg in (args.vararg, args.kwarg) if arg is not None}
            known |= {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    for name in entries(one.text):
        if name not in known:
            yield one.fault(f"{name} is under Args, and there is no such parameter or field")


def unsaid_sources(one: Named) -> Iterator[str]:
    """Yield what a docstring takes from elsewhere without a line that begins with "Source:"."""
    before, source, _ = one.text.partition("Source:")
    named = _ELSEWHERE.search(before if source else one.text)
    if named and not source:
        yield one.fault(f"names {named.group()} without a Source:")


def _parameters(one: Named) -> Iterator[tuple[str, str]]:
    if isinstance(one.node, ast.ClassDef):
        marks = [ast.unparse(mark) for mark in one.node.decorator_list]
        for item in one.node.body:
            plain = isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            if plain and any("dataclass" in mark for mark in marks):
                assert isinstance(item, ast.AnnAssign)
                assert isinstance(item.target, ast.Name)
                if not item.target.id.startswith("_"):
                    yield item.target.id, ast.unparse(item.annotation)
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                yield from _arguments(item)
    elif isinstance(one.node, ast.FunctionDef):
        yield from _arguments(one.node)


def _arguments(node: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if arg.arg not in ("self", "cls") and arg.annotation is not None:
            yield arg.arg, ast.unparse(arg.annotation)
