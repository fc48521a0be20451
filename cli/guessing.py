"""Which contract a function's parameters look like, and which of them is which argument."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..spec.builtin import CONTRACTS, builtin

#: Words of a parameter's name that tell what it is, the most telling first.
_WORDS = {
    "rope": ("rope", "pe", "rotary"),
    "nope": ("nope", "latent", "c", "rows", "src", "source"),
    "slots": ("loc", "slot", "slots", "locs", "mapping", "indices", "index"),
    "cache": ("buffer", "cache", "pool", "dst", "kv"),
    "world": ("world",),
    "rank": ("rank",),
}
_K, _V = frozenset({"k", "key", "keys"}), frozenset({"v", "value", "values"})
_STORE = frozenset({"cache", "buffer", "pool"})
#: Words of a parameter that has to do with K or V and is neither.
_ASIDE = frozenset({"scale", "scales", "stride", "dim", "size", "dtype", "rope", "pe", "nope"})
#: Words that a writer of pages has in its parameters.
_PAGED = frozenset({"mapping", "block", "blocks", "page", "pages"})

_LATENT = {"nope": "cache_k_nope", "cache": "kv_buffer", "slots": "loc"}
_RANKS = {"world": "WORLD", "rank": "RANK"}
_ROPE = {"rope": "cache_k_rope"}
#: Argument of each contract by what it is.
_ROLES: Mapping[str, Mapping[str, str]] = {
    "mla-row": {**_LATENT, **_ROPE},
    "mla-row-norope": _LATENT,
    "mla-row-sharded": {**_LATENT, **_ROPE, **_RANKS},
    "mla-row-norope-sharded": {**_LATENT, **_RANKS},
    "mla-paged": {"nope": "kv_c", "rope": "k_pe", "cache": "kv_cache", "slots": "slot_mapping"},
    "kv-rows": {"k": "k", "v": "v", "k_cache": "k_cache", "v_cache": "v_cache", "slots": "loc"},
    "kv-packed": {"k": "k", "v": "v", "cache": "kv_cache", "slots": "loc"},
    "paged-nhd": {
        "k": "key",
        "v": "value",
        "k_cache": "key_cache",
        "v_cache": "value_cache",
        "slots": "slot_mapping",
    },
}
#: Widths that a first test asks for.
_SIZES = {"NOPE": 512, "ROPE": 64, "PAGE": 16, "HEADS": 8, "HEAD_DIM": 128, "K_DIM": 128}


@dataclass(frozen=True)
class Guess:
    """A contract that a function may keep.

    Args:
        contract: name of a built-in contract.
        found: parameter of each of the contract's arguments that a name tells.
        open: arguments that no name tells.
        sizes: widths and counts, by the contract's symbols.
    """

    contract: str
    found: Mapping[str, str]
    open: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def bind(self) -> dict[str, str]:
        """Argument -> parameter, where the two differ."""
        return {arg: name for arg, name in self.found.items() if arg != name}


def guesses(parameters: Sequence[str], name: str = "") -> list[Guess]:
    """Return the contracts that a function looks like, the likeliest first.

    Args:
        parameters: names that can be passed by keyword, in the order of the function.
        name: the function's.
    """
    roles = _roles(parameters)
    found = list(_likely(roles, parameters))
    if any("fp8" in word.lower() for word in (name, *parameters)):
        found = [cast for one in found if (cast := f"{one}-fp8") in CONTRACTS] + found
    return [_guess(contract, roles, parameters) for contract in found]


def _likely(roles: Mapping[str, str], parameters: Sequence[str]) -> Iterator[str]:
    paged = any(_PAGED & _split(name) for name in parameters)
    if {"k_cache", "v_cache"} <= roles.keys():
        yield from ("paged-nhd", "kv-rows") if paged else ("kv-rows", "paged-nhd")
        return
    if {"k", "v", "cache"} <= roles.keys():
        yield "kv-packed"
        return
    rope, sharded = "rope" in roles, _RANKS.keys() <= roles.keys()
    plain = "mla-row" + ("" if rope else "-norope") + ("-sharded" if sharded else "")
    if not rope or sharded:
        yield plain
    else:
        yield from ("mla-paged", plain) if paged else (plain, "mla-paged")


def _guess(contract: str, roles: Mapping[str, str], parameters: Sequence[str]) -> Guess:
    args = _ROLES[contract.removesuffix("-fp8")]
    found = {arg: arg for arg in args.values() if arg in parameters}
    for role, arg in args.items():
        if arg not in found and role in roles and roles[role] not in found.values():
            found[arg] = roles[role]
    dims = [dim.name for dim in builtin(contract).dims]
    sizes = {"V_DIM": _SIZES["K_DIM"], **_SIZES}
    return Guess(
        contract,
        {arg: found[arg] for arg in args.values() if arg in found},
        tuple(arg for arg in args.values() if arg not in found),
        {name: sizes[name] for name in dims if name in sizes},
    )


def _roles(parameters: Sequence[str]) -> dict[str, str]:
    """Return the parameter that names tell for each role."""
    found: dict[str, str] = {}
    for role, letters in (("k", _K), ("v", _V)):
        for name in parameters:
            words = _split(name)
            if words & letters and not words & _ASIDE:
                found.setdefault(f"{role}_cache" if words & _STORE else role, name)
    for role, telling in _WORDS.items():
        free = [name for name in parameters if name not in found.values()]
        near = (name for word in telling for name in free if word in _split(name))
        name = next(near, None)
        if name is not None:
            found[role] = name
    return found


def _split(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[_\d]+", name.lower()))
