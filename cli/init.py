"""`kvproof init`: a first contract test for a function of one's own, from one call of it."""

from __future__ import annotations

import ast
import importlib.util
import re
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from ..spec.errors import KvproofError
from .guessing import guesses
from .signature import Signature, find_function, functions, read_tree
from .trying import ROWS, Tried, stand_ins, try_call

EXITS = "Exit code: 0 the test was written, 2 wrong usage or input."


def init(
    target: Annotated[
        str, typer.Argument(metavar="FILE::FUNCTION", help="The host function of a writer.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The test to write. Default: beside the file."),
    ] = None,
    *,
    run: Annotated[
        bool,
        typer.Option("--run/--no-run", help="Call the function once, or read its signature only."),
    ] = True,
) -> None:
    """Write a first contract test for a function of yours, to be completed.

    The function is called once in a child process, on CPU tensors, with its launches recorded:
    the call tells which contract fits and what must stand in for packages that are not installed.
    """
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
    stubs = missing(tree)
    likely = guesses(signature.keywords, signature.name)
    tried = Tried(likely[0])
    if run:
        tried = try_call(path, signature, likely, stubs, tree)
    try:
        test.write_text(draft(signature, _from(test, path), tried, stubs), encoding="utf-8")
    except OSError as error:
        raise KvproofError(f"cannot write ({error.strerror or error})", where=str(test)) from None
    typer.echo(f"wrote {test}: complete what its comments name, then run `pytest {test}`")


def missing(tree: ast.Module) -> tuple[str, ...]:
    """Return the packages that a module imports at its top and that are not installed."""
    roots: dict[str, None] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            roots |= dict.fromkeys(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            roots[node.module.partition(".")[0]] = None
    return tuple(name for name in roots if importlib.util.find_spec(name) is None)


def draft(signature: Signature, file: str, tried: Tried, stubs: tuple[str, ...] = ()) -> str:
    """Return the text of a first test.

    Args:
        signature: the function.
        file: its file, relative to the test's.
        tried: the contract, and what a call under it showed.
        stubs: packages that stand-ins replace.
    """
    guess = tried.guess
    explain = f"`kvproof explain {guess.contract}` says what it asks"
    sizes = ", ".join(f'"{name}": {size}' for name, size in guess.sizes.items())
    lines = [
        f'"""The contract of `{signature.name}`; {explain}."""',
        "",
        "from kvproof.cli.plugin import contract_test",
        "",
        "",
        *(f"# {line}" for line in _shown(tried)),
        "@contract_test(",
        f'    "{file}::{signature.name}",',
        f'    "{guess.contract}",  # `kvproof list` names the others',
        f"    dims={{{sizes}}},  # widths of a row, in elements",
        '    dtypes=("bf16",),',
    ]
    if stubs:
        names = ", ".join(f'"{name}"' for name in stubs)
        lines.append(f"    stubs=({names},),  # not installed here")
    for path, answer in (tried.switches or {}).items():
        lines.append("    switches={  # without it no kernel is launched")
        lines += [f'        "{path}": {_text(answer)},', "    },"]
    free = [name for name in signature.keywords if name not in guess.found.values()]
    if guess.bind or guess.open:
        lines.append("    bind={")
        lines += [f'        "{arg}": "{name}",' for arg, name in guess.bind.items()]
        choice = f"one of {', '.join(free)}" if free else "no parameter is left: wrap the function"
        lines += [f'        # "{arg}": {choice}' for arg in guess.open]
        lines.append("    },")
    more = {} if guess.open else stand_ins(signature, guess)
    if more:
        lines.append("    passing={  # guessed: the contract says nothing of these")
        lines += [f'        "{name}": {_text(value)},' for name, value in more.items()]
        lines.append("    },")
    lines += [
        f"    # {name} cannot be passed by keyword: remove the `/`" for name in signature.positional
    ]
    name = re.sub(r"\W+", "_", signature.name.lower())
    lines += [
        ")",
        f"def test_{name}() -> None:",
        '    """Every row is stored at its slot, and padding rows leave no trace."""',
    ]
    return "\n".join(lines) + "\n"


def _shown(tried: Tried) -> list[str]:
    """Say what the call showed, in lines of a comment."""
    lines: list[str] = []
    for launch in tried.launches:
        grid = ", ".join(str(extent) for extent in launch.grid)
        fixed = ", ".join(
            f"{arg.name}={arg.value}" for arg in launch.args if arg.kind == "constexpr"
        )
        at = f"{launch.kernel} ({Path(launch.file).name}:{launch.line})"
        text = f"A call with {ROWS} rows launched {at} on a grid of ({grid})"
        lines += textwrap.wrap(f"{text}, {fixed}." if fixed else f"{text}.", 96)
    if not tried.error:
        return lines
    lines += textwrap.wrap(f"No kernel was launched yet: {tried.error}.", 96)
    if tried.asked:
        lines += textwrap.wrap(f"It asks {', '.join(tried.asked)}; `switches` can answer.", 96)
    return lines


def _text(value: object) -> str:
    return repr(value).replace("'", '"')


def _from(test: Path, path: Path) -> str:
    folder = test.absolute().parent.resolve()
    whole = path.absolute().resolve()
    return str(whole.relative_to(folder)) if whole.is_relative_to(folder) else str(whole)
