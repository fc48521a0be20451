"""How to call a host function, as plain data that crosses a process border.

A recipe holds no tensor and imports no torch: the child process that loads the engine builds the
tensors from it. Strides and offsets count elements, never bytes, as in torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, cast


@dataclass(frozen=True)
class TensorArg:
    """A tensor argument of the host function.

    Args:
        name: keyword name of the argument.
        dtype: short dtype name (see `kvproof.spec.dtypes`), e.g. "bf16", "u8", "i64".
        shape: elements along each dimension of the view that is passed.
        strides: strides in elements; None means contiguous.
        values: contents in row-major order, integer tensors only; None means zeros. A range
            stands for a table too long to write out.
        fill: the one value of all elements, floating-point tensors only; None means a pattern.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    values: tuple[int, ...] | range | None = None
    fill: float | None = None

    def extent(self) -> int:
        """Return the elements from the first to the last, both counted; 1 for an empty tensor."""
        strides = self.strides
        if strides is None:
            return max(prod(self.shape), 1)
        reach = sum((size - 1) * step for size, step in zip(self.shape, strides, strict=True))
        return 1 + (reach if all(self.shape) else 0)


@dataclass(frozen=True)
class ScalarArg:
    """A scalar, text or None as an argument of the host function, passed as it is.

    Args:
        name: keyword name of the argument.
        value: what is passed, in whatever unit the function takes: a count of ranks, a seed.
    """

    name: str
    value: int | float | bool | str | None


@dataclass(frozen=True)
class DTypeArg:
    """An argument that takes a torch dtype, named by its short name.

    Args:
        name: keyword name of the argument.
        dtype: short dtype name (see `kvproof.spec.dtypes`).
    """

    name: str
    dtype: str


Arg = TensorArg | ScalarArg | DTypeArg

#: A value that stands in for one that the engine reads from its platform. The first item says
#: how it is installed: "value" (the attribute is the value), "call" (a callable returning it),
#: "object" (a namespace with the given attributes), "call-object" (a callable returning one).
Switch = tuple[str, Any]

#: Dotted path of an attribute of a stubbed (or real) module, and what stands in for it.
Switches = Mapping[str, Switch]


@dataclass(frozen=True)
class CallRecipe:
    """All arguments of one call of a host function, passed by keyword.

    Args:
        args: the arguments, in any order; what the function defaults is left out.
    """

    args: tuple[Arg, ...]

    def tensors(self) -> dict[str, TensorArg]:
        """Return the tensor arguments by name."""
        return {arg.name: arg for arg in self.args if isinstance(arg, TensorArg)}

    def to_json(self) -> list[dict[str, Any]]:
        """Return a JSON-able form; `from_json` reads it back."""
        return [{"kind": type(arg).__name__, **_plain(arg)} for arg in self.args]

    @staticmethod
    def from_json(data: list[dict[str, Any]]) -> CallRecipe:
        """Rebuild a recipe from `to_json`'s form. Raises KeyError on an unknown kind."""
        kinds: dict[str, type[TensorArg | ScalarArg | DTypeArg]] = {
            "TensorArg": TensorArg,
            "ScalarArg": ScalarArg,
            "DTypeArg": DTypeArg,
        }
        args: list[Arg] = []
        for item in data:
            fields: dict[str, Any] = {
                key: _tuple_or_range(value) for key, value in item.items() if key != "kind"
            }
            args.append(kinds[item["kind"]](**fields))
        return CallRecipe(tuple(args))


def _plain(arg: Arg) -> dict[str, Any]:
    made = asdict(arg)
    values = made.get("values")
    if isinstance(values, range):
        made["values"] = {"range": [values.start, values.stop, values.step]}
    return made


def _tuple_or_range(value: Any) -> Any:
    if isinstance(value, dict):
        return range(*cast(dict[str, list[int]], value)["range"])
    return tuple(cast(list[int], value)) if isinstance(value, list) else value
