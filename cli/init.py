"""`kvproof init`: a first contract test for a function of one's own, read from its signature."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Annotated

import typer

from ..spec.errors import KvproofError
from .signature import Signature, find_function, functions, read_tree

EXITS = "Exit code: 0 the test was written, 2 wrong usage or input."

#: Words of a parameter's name that tell what it is, the most telling first.
_WORDS = {
    "cache_k_rope": ("rope", "pe", "rotary"),
    "cache_k_nope": ("nope", "latent", "c", "rows", "src", "source"),
    "loc": ("loc", "slot", "slots", "locs", "mapping", "indices", "index"),
    "kv_buffer": ("buffer", "cache", "pool", "dst"),
    "WORLD": ("world",),
    "RANK": ("rank",),
}
_ROPE = ', "ROPE": 64'


def init(
    target: Annotated[
        str, typer.Argument(metavar="FILE::FUNCTION", help="The host function of a writer.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The test to write. Default: beside the file."),
    ] = None,
) -> None:
    """Write a first contract test for a function of yours, to be completed."""
    file, _, function = target.partition("::")
    path = Path(file)
    tree = read_tree(path, file)
    if not function:
        hosts = [name for name, found in functions(tree).items() if not found.kernel]
        mend = f"write {file}::{hosts[0] if hosts else 'function'}"
        raise KvproofError("no function named", where=f"target {target!r}", mend=mend)
    signature = find_function(tree, function, file)
    if signature is None:
        raise KvproofError(
            f"{function!r} is made elsewhere", where=file, mend="name the file that defines it"
        )
    test = out or path.with_name(f"test_{path.stem}_contract.py")
    if test.exists():
        raise KvproofError("the file is there already", where=str(test), mend="name another --out")
    try:
        test.write_text(draft(signature, _from(test, path), missing(tree)), encoding="utf-8")
    except OSError as error:
        raise KvproofError(f"cannot write ({error.strerror or error})", where=str(test)) from None
    typer.echo(f"wrote {test}: complete what its comments name, then run `pytest {test}`")


def guess(parameters: tuple[str, ...]) -> dict[str, str]:
    """Return the parameter that takes each contract argument, as far as names tell."""
    found: dict[str, str] = {}
    for arg, words in _WORDS.items():
        free = [name for name in parameters if name not in found.values()]
        if arg in free:
            found[arg] = arg
            continue
        for word in words:
            near = [name for name in free if word in re.split(r"[_\d]+", name.lower())]
            if near:
                found[arg] = near[0]
                break
    return found


def missing(tree: ast.Module) -> tuple[str, ...]:
    """Return the packages that a module imports at its top and that are not installed."""
    roots: dict[str, None] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            roots |= dict.fromkeys(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            roots[node.module.partition(".")[0]] = None
    return tuple(name for name in roots if importlib.util.find_spec(name) is None)


def draft(signature: Signature, file: str, stubs: tuple[str, ...] = ()) -> str:
    """Return the text of a first test.

    Args:
        signature: the function.
        file: its file, relative to the test's.
        stubs: packages that stand-ins replace.
    """
    found = guess(signature.keywords)
    rope, sharded = "cache_k_rope" in found, {"WORLD", "RANK"} <= found.keys()
    if not sharded:
        found = {arg: name for arg, name in found.items() if arg not in {"WORLD", "RANK"}}
    contract = "mla-row" + ("" if rope else "-norope") + ("-sharded" if sharded else "")
    needed = ["kv_buffer", "loc", "cache_k_nope", *(["cache_k_rope"] if rope else [])]
    explain = f"`kvproof explain {contract}` says what it asks"
    lines = [
        f'"""The contract of `{signature.name}`; {explain}."""',
        "",
        "from kvproof.cli.plugin import contract_test",
        "",
        "",
        "@contract_test(",
        f'    "{file}::{signature.name}",',
        f'    "{contract}",  # `kvproof list` names the others',
        f'    dims={{"NOPE": 512{_ROPE if rope else ""}}},  # widths of a row',
        '    dtypes=("bf16",),',
    ]
    if stubs:
        names = ", ".join(f'"{name}"' for name in stubs)
        lines.append(f"    stubs=({names},),  # not installed here")
    bound = [f'"{arg}": "{name}"' for arg, name in found.items() if arg != name]
    open_ = [arg for arg in needed if arg not in found]
    free = [name for name in signature.keywords if name not in found.values()]
    if bound or open_:
        lines.append("    bind={")
        lines += [f"        {pair}," for pair in bound]
        choice = f"one of {', '.join(free)}" if free else "no parameter is left: wrap the function"
        lines += [f'        # "{arg}": {choice}' for arg in open_]
        lines.append("    },")
    lines += [
        f"    # {name} is required, and the contract says nothing of it: give it a default"
        for name in (*signature.positional, *signature.required)
        if name not in found.values() and not (open_ and name in free)
    ]
    name = re.sub(r"\W+", "_", signature.name.lower())
    lines += [
        ")",
        f"def test_{name}() -> None:",
        '    """Every row is stored at its slot, and padding rows leave no trace."""',
    ]
    return "\n".join(lines) + "\n"


def _from(test: Path, path: Path) -> str:
    folder = test.absolute().parent.resolve()
    whole = path.absolute().resolve()
    return str(whole.relative_to(folder)) if whole.is_relative_to(folder) else str(whole)
