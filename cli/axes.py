"""Which configurations a finding appears in, in as few words as are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .layout import joined

_WORDS = {"loc_dtype": "slot dtype", "cache_dtype": "cache dtype"}


def seen_in(
    found: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> str:
    """Return where a finding was seen: "every configuration", "4 of 8 configurations: dtype f32".

    Args:
        found: the configurations it was seen in.
        asked: all that were checked for it.
        labels: a phrase for each of `found`, listed where no choice of values names them exactly.
    """
    if len(found) == len(asked):
        return "every configuration" if len(asked) > 1 else "the one configuration"
    count = f"{len(found)} of {len(asked)} configurations"
    for values in _candidates(found, asked):
        chosen = [one for one in asked if all(one.get(key) in values[key] for key in values)]
        if len(chosen) == len(found):
            parts = [f"{_WORDS.get(key, key)} {_or(values[key])}" for key in values]
            return f"{count}: {', '.join(parts)}"
    return f"{count}: {joined(labels, most=3, comma='; ')}"


def _candidates(
    found: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]
) -> list[dict[str, list[Any]]]:
    """Return choices of values that hold all of `found`: of each key alone, then of all keys."""
    keys = list(dict.fromkeys(key for one in asked for key in one))
    values = {key: _values(found, key) for key in keys}
    telling = {key: have for key, have in values.items() if len(have) < len(_values(asked, key))}
    return [*({key: have} for key, have in telling.items()), telling]


def _values(configs: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    return list(dict.fromkeys(one.get(key) for one in configs))


def _or(values: Sequence[Any]) -> str:
    return " or ".join("none" if value is None else str(value) for value in values)
