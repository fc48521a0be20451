"""One call of a function under a guessed contract, captured: what a first test can say of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checkers.child import Child
from ..spec.errors import KvproofError
from ..spec.launch import Launch
from ..spec.recipe import recipe
from .configuring import configurations
from .contracttest import contract_test
from .guessing import Guess
from .passing import Passed
from .signature import Signature

#: Rows of the call that is captured; no power of two, so that it is told from block sizes.
ROWS = 5
_SECONDS = 60.0
#: Answers of stand-ins that are changed, one at a time, until a kernel is launched.
_MOST_ANSWERS = 12
_PLAIN: tuple[tuple[str, Passed], ...] = (
    ("dtype", ("dtype", "f8e4m3fn")),
    ("str", "auto"),
    ("bool", False),
    ("float", 1.0),
    ("int", 1),
)


@dataclass(frozen=True)
class Tried:
    """What one call showed.

    Args:
        guess: the contract that it was called under.
        launches: the kernels that it launched, none where it failed.
        switches: answers of stand-ins without which it launched none.
        asked: what it asks of packages that stand-ins replace, as dotted paths.
        error: why no kernel was launched, in one line; empty otherwise.
    """

    guess: Guess
    launches: tuple[Launch, ...] = ()
    switches: Mapping[str, tuple[str, Any]] | None = None
    asked: tuple[str, ...] = ()
    error: str = ""


def try_call(
    path: Path,
    signature: Signature,
    likely: Sequence[Guess],
    stubs: tuple[str, ...],
    tree: ast.Module,
) -> Tried:
    """Call a function under each contract that it may keep, until one launches a kernel.

    Args:
        path: its file.
        signature: the function.
        likely: the contracts, the likeliest first; one with an open argument is not tried.
        stubs: packages that stand-ins replace.
        tree: the file's syntax tree.

    Where nothing is launched, each thing that the file asks of a stand-in is answered with True
    in turn. The call runs in a child process, on CPU tensors, with launches recorded.
    """
    asked = dict(list(questions(tree, stubs).items())[:_MOST_ANSWERS])
    first: Tried | None = None
    with Child(timeout=_SECONDS) as child:
        for guess in likely:
            answers: list[Mapping[str, tuple[str, Any]]] = [{}]
            answers += [{name: (form, True)} for name, form in asked.items()]
            for switches in answers if not guess.open else ():
                launches, error, given = _answered(child, path, signature, guess, stubs, switches)
                if launches:
                    return Tried(guess, launches, given)
                first = first or Tried(guess, asked=tuple(asked), error=error)
    return first or Tried(likely[0], error="arguments are open")


def _answered(
    child: Child,
    path: Path,
    signature: Signature,
    guess: Guess,
    stubs: tuple[str, ...],
    switches: Mapping[str, tuple[str, Any]],
) -> tuple[tuple[Launch, ...], str, Mapping[str, tuple[str, Any]]]:
    """Call the function; a stand-in that would reach the kernel is answered with False there."""
    given = dict(switches)
    while True:
        launches, error = _call(child, path, signature, guess, stubs, given)
        passed = re.search(r"<stub ([\w.]+)(\(\))?> is passed to kernel", error)
        if passed is None or passed.group(1) in given:
            return launches, error, given
        given[passed.group(1)] = ("call" if passed.group(2) else "value", False)


def _call(
    child: Child,
    path: Path,
    signature: Signature,
    guess: Guess,
    stubs: tuple[str, ...],
    switches: Mapping[str, tuple[str, Any]],
) -> tuple[tuple[Launch, ...], str]:
    asked = contract_test(
        f"{path.absolute()}::{signature.name}",
        guess.contract,
        dims=guess.sizes,
        dtypes="bf16",
        slots="i64",
        bind=guess.bind,
        passing=stand_ins(signature, guess),
        stubs=stubs,
        switches=switches,
    )
    try:
        _, job = configurations(asked)[0]
        world, rank = job.instance.world_rank
        slots = [(index + 3) * world + rank for index in range(ROWS)]
        call = recipe(job.instance, job.binding, pool=8 * ROWS + 1, slots=slots)
        capture = child.capture(job.source, signature.name, call, switches=job.switches)
    except KvproofError as problem:
        return (), str(problem)
    if capture.error:
        return (), capture.error
    why = "; ".join(("it launches no Triton kernel", *capture.notes))
    return capture.launches, "" if capture.launches else why


def stand_ins(signature: Signature, guess: Guess) -> dict[str, Passed]:
    """Return what is passed to required parameters that no argument of the contract takes.

    What the annotation names: "auto" for text, e4m3fn for a dtype, a plain number; else None.
    """
    given = guess.found.values()
    return {
        name: next(
            (value for word, value in _PLAIN if word in signature.annotations.get(name, "")), None
        )
        for name in signature.required
        if name not in given
    }


def questions(tree: ast.Module, roots: Sequence[str]) -> dict[str, str]:
    """Return what a module's conditions ask of some packages: dotted path -> form of a switch.

    Args:
        tree: the module.
        roots: names of the packages.

    `if platform.has_cuda():` asks "engine.platform.has_cuda", with the form "call".
    """
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or whole] = whole
    theirs = {name: at for name, at in names.items() if at.partition(".")[0] in roots}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.IfExp, ast.Assert, ast.While)):
            found |= {at: form for at, form in _chains(node.test, theirs) if at not in found}
    return found


def _chains(node: ast.expr, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    called = {id(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    inside = {id(inner.value) for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    for inner in ast.walk(node):
        if id(inner) in inside or not isinstance(inner, (ast.Attribute, ast.Name)):
            continue
        parts: list[str] = []
        at: ast.expr = inner
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id in names:
            path = ".".join((names[at.id], *reversed(parts)))
            yield path, "call" if id(inner) in called else "value"
