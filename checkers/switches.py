"""Switches: values that stand in for what an engine reads from its platform.

The forms are those of `kvproof.spec.call.Switch`, and two more for torch dtypes, which no plain
value can name: ("dtype", "f8e4m3fn") and ("call-dtype", "f8e4m3fn").
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

from ..spec.call import Switch, Switches
from ..spec.errors import KvproofError

_FORMS = ("value", "call", "object", "call-object", "dtype", "call-dtype")
_MISSING = object()


def switch_value(path: str, switch: Switch) -> object:
    """Return the object that a switch puts at its path.

    Lists (tuples that crossed a process border) become tuples; mappings inside an "object"
    become objects themselves. A "call" form accepts any arguments.
    Raises KvproofError for an unknown form, naming the path.
    """
    form, value = switch[0], switch[1]
    if form not in _FORMS:
        raise KvproofError(
            f"unknown switch form {form!r}", where=path, mend=f"use one of {', '.join(_FORMS)}"
        )
    if form.endswith("object") and not isinstance(value, Mapping):
        raise KvproofError(f"switch form {form!r} needs a mapping of attributes", where=path)
    made = _dtype(str(value)) if form.endswith("dtype") else _plain(value)
    return _returning(made) if form.startswith("call") else made


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        items = cast(Mapping[str, object], value).items()
        return SimpleNamespace(**{key: _plain(item) for key, item in items})
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item) for item in cast(list[object], value))
    return value


def _dtype(name: str) -> object:
    from .tensors import torch_dtype  # imports torch, which the parent process must not

    return torch_dtype(name)


def _returning(value: object) -> Callable[..., object]:
    def switched(*_args: object, **_kwargs: object) -> object:
        return value

    return switched


class RealPatches:
    """Switches on attributes of real modules or classes, e.g. `torch.cuda.is_available`.

    `apply` sets them, `undo` puts the old ones back. Raises KvproofError for a path whose owner
    or attribute does not exist.
    """

    def __init__(self, switches: Switches) -> None:
        """Keep the switches; nothing is looked up yet."""
        self.switches = dict(switches)
        self._undo: list[tuple[Any, str, object]] = []

    def apply(self) -> None:
        """Replace every attribute, or none when one of them cannot be."""
        try:
            for path, switch in self.switches.items():
                owner, name = _owner(path)
                old = vars(owner).get(name, _MISSING)
                setattr(owner, name, switch_value(path, switch))
                self._undo.append((owner, name, old))
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Put the old attributes back, last first."""
        while self._undo:
            owner, name, old = self._undo.pop()
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


def _owner(path: str) -> tuple[Any, str]:
    parts = path.split(".")
    mend = "check its spelling, or list its root package among the stubs"
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        try:
            for part in parts[length:-1]:
                found = getattr(found, part)
            getattr(found, parts[-1])
        except AttributeError:
            break
        return found, parts[-1]
    raise KvproofError("this switch names nothing that exists", where=path, mend=mend)
