"""The child's end: read requests, load modules, capture calls. Started by `Child`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ..spec.call import CallRecipe, Switches
from ..spec.errors import KvproofError
from .child import DEFAULT_TARGET
from .loading import Loaded, ModuleSource, load_module, one_line

if TYPE_CHECKING:
    from .compiling import Compiler


class Session:
    """Everything loaded and compiled so far, and one method for each request.

    A module is loaded once for each set of switches, so that values which it reads while it is
    imported follow the switches too. Programs are compiled once whatever module they come from.
    """

    def __init__(self) -> None:
        """Start empty; torch and triton are imported by the first request that needs them."""
        self._loaded: dict[str, Loaded] = {}
        self._compilers: dict[tuple[str, Path], Compiler] = {}

    def hello(self, paths: list[str]) -> str:
        """Add the parent's import path after the child's own, and return the Python version."""
        sys.path.extend(path for path in paths if path not in sys.path)
        return sys.version.split()[0]

    def load(self, source: dict[str, Any], switches: Switches) -> list[str]:
        """Load a module; return the names of the public functions that it defines itself."""
        loaded = self._load(source, switches)
        name = loaded.module.__name__
        found = [
            key
            for key, value in vars(loaded.module).items()
            if getattr(value, "__module__", "") == name
        ]
        return [
            key
            for key in found
            if not key.startswith("_") and callable(getattr(loaded.module, key))
        ]

    def capture(
        self,
        source: dict[str, Any],
        function: str,
        recipe: list[dict[str, Any]],
        switches: Switches,
        lift: dict[str, str],
        target: str,
    ) -> dict[str, Any]:
        """Capture one call; return the Capture as plain data."""
        from .capture import capture

        loaded = self._load(source, switches)
        compiler = self._compiler(target, loaded)
        return asdict(capture(loaded, function, CallRecipe.from_json(recipe), compiler, lift=lift))

    def _load(self, source: dict[str, Any], switches: Switches) -> Loaded:
        from .targets import named_target, parse_target

        key = json.dumps([source, switches], sort_keys=True)
        if key not in self._loaded:
            fields: dict[str, Any] = {
                name: tuple(cast(list[str], value)) if isinstance(value, list) else value
                for name, value in source.items()
            }
            with named_target(parse_target(DEFAULT_TARGET)):
                self._loaded[key] = load_module(ModuleSource(**fields), switches)
        return self._loaded[key]

    def _compiler(self, target: str, loaded: Loaded) -> Compiler:
        from .compiling import Compiler
        from .targets import parse_target

        key = (target, loaded.shown_root)
        if key not in self._compilers:
            self._compilers[key] = Compiler(parse_target(target), shown=loaded.shown)
        return self._compilers[key]


def answer(session: Session, line: str) -> dict[str, Any]:
    """Return the answer to one request line: {"value": ...} or {"error": {what, where, mend}}."""
    request = json.loads(line)
    method: Callable[..., Any] = getattr(session, request.pop("op"))
    try:
        return {"value": method(**request)}
    except KvproofError as error:
        return {"error": {"what": error.what, "where": error.where, "mend": error.mend}}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an engine may raise anything
        return {"error": {"what": one_line(error), "where": "", "mend": ""}}


def end_with(parent: int) -> None:
    """End this process when the parent is gone, even in the middle of a hanging call."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer requests until there are no more."""
    session = Session()
    for line in requests:
        answers.write(json.dumps(answer(session, line)) + "\n")
        answers.flush()


def main() -> None:
    """Take the pipes out of engine code's reach and serve."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    answers = os.fdopen(int(os.environ.pop("KVPROOF_ANSWERS")), "w", encoding="utf-8")
    os.set_inheritable(answers.fileno(), False)
    if not getattr(sys.flags, "safe_path", False):
        # -m puts the working folder first, where its files hide installed packages.
        sys.path.append(sys.path.pop(0))
    serve(requests, answers)


if __name__ == "__main__":
    main()
