"""Where the writer of a contract test is. It is found, not imported: a child process loads it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..spec.errors import KvproofError
from .contracttest import ContractTest


def located(test: ContractTest) -> tuple[Path, str]:
    """Return the writer's file and the (dotted) name of its host function.

    Raises KvproofError: it is a kernel, or no file holds it.
    """
    writer: Any = test.writer
    if isinstance(writer, str):
        file, _, function = writer.partition("::")
        if not file or not function:
            mend = "write file.py::function"
            raise KvproofError(f"{writer!r} names no function", where="writer", mend=mend)
        return Path(os.path.abspath(Path(test.file).parent / file)), function  # noqa: PTH100 - no ..
    if hasattr(writer, "fn") and not inspect.isfunction(writer):
        raise KvproofError(
            f"{writer!r} is a kernel",
            where="writer",
            mend="name the host function that launches it",
        )
    return _found(writer)


def _found(writer: Callable[..., Any]) -> tuple[Path, str]:
    try:
        plain: Any = inspect.unwrap(writer)
        file, name = inspect.getsourcefile(plain) or "", str(plain.__qualname__)
    except (TypeError, AttributeError, ValueError):
        file, name = "", ""
    if not file or not name.replace(".", "_").isidentifier():
        raise KvproofError(
            f"{writer!r} cannot be found in a file",
            where="writer",
            mend='give a function of a module, or "file.py::function"',
        )
    return Path(file).absolute(), name
