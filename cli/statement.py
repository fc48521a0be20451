"""The text of the statement that a finding points to. Source is read, never imported."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from ..spec.job import Job


def statement_at(job: Job, place: str) -> str:
    """Return the statement at "file.py:line" on one line; empty where it cannot be read.

    Args:
        job: says below which folder the file is.
        place: a file as reports show it (relative to the engine's root, the working folder, or
            the folder of the user's file), and a line.
    """
    file, _, number = place.rpartition(":")
    if not file or not number.isdigit():
        return ""
    folders = (Path(job.source.root), Path(), job.source.path.parent)
    for folder in folders:
        text = _read(folder / file)
        if text is not None:
            return _statement(text, int(number))
    return ""


@lru_cache(maxsize=64)
def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _statement(text: str, line: int) -> str:
    """Return the innermost simple statement that spans the line, or the line itself."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    tree = _parsed(text)
    spans = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    found = max(spans, key=lambda node: node.lineno, default=None)
    if found is None or found.lineno == found.end_lineno:
        return lines[line - 1].strip()
    return ast.unparse(found)
