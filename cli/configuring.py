"""From a contract test to its jobs, each with the id that its tests carry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..engines.jobs import MOST_PLACES, MOST_ROWS
from ..spec.builtin import CONTRACTS, builtin
from ..spec.contract import Instance, Range, WriterContract
from ..spec.dtypes import dtype
from ..spec.errors import ContractError, KvproofError
from ..spec.invariants import PROVED_BY_CHECK
from ..spec.job import Job, ModuleSource
from ..spec.rules import Cast
from .checking import wanted
from .contracttest import ContractTest
from .grid import instances
from .locating import located
from .passing import passed, with_passed
from .signature import find_function, read_tree
from .user import compare, read_bindings


def configurations(test: ContractTest) -> list[tuple[str, Job]]:
    """Return the jobs of a contract test, each with its id: "bf16-i64".

    Raises KvproofError: the contract does not fit the function, or an argument does not fit.
    """
    try:
        contract = _contract(test.contract)
        path, function = located(test)
        signature = find_function(read_tree(path, path.name), function, path.name)
        pairs = [f"{arg}={name}" for arg, name in _mapping(test.bind, "bind").items()]
        bound = read_bindings(contract, pairs)
        passing = passed(_mapping(test.passing, "passing"), bound, signature)
        if signature is not None:
            taken = replace(
                signature, required=tuple(n for n in signature.required if n not in passing)
            )
            compare(contract, bound, taken, f"{path.name}:{signature.line}")
    except KvproofError as problem:
        mend = re.sub(r"--bind (\w+)=(\S+)", r'bind={"\1": "\2"}', problem.mend)
        where = re.sub(r"--bind (\w+)=(\S*)", r'bind={"\1": "\2"}', problem.where)
        mend = mend.replace("give it a default,", "give it a default, pass it with passing={...},")
        raise KvproofError(problem.what, where=where, mend=mend) from None
    source = ModuleSource(file=str(path), stubs=_names(test.stubs, "stubs"))
    switches = _mapping(test.switches, "switches")
    for key, value in switches.items():
        if not isinstance(value, tuple) or len(value) != 2:
            where = f"switches[{key!r}]"
            raise KvproofError(f"{value!r} is no pair", where=where, mend='write ("value", ...)')
    found = list(_instances(test, contract))
    return [
        (
            name,
            Job(
                target=f"{path.name}::{function}",
                writer=function,
                label=label,
                source=source,
                function=function,
                instance=instance,
                binding=with_passed(bound.binding(*instance.world_rank), passing),
                switches=switches,
            ),
        )
        for name, (label, instance) in zip(
            _ids([one for _, one in found], contract), found, strict=True
        )
    ]


def invariants_of(test: ContractTest, job: Job) -> tuple[str, ...]:
    """Return the invariants that are asked of one job. Raises KvproofError: an unknown one."""
    try:
        asked = wanted(_names(test.invariants, "invariants"))
    except KvproofError as problem:
        raise KvproofError(problem.what, where="invariants", mend=problem.mend) from None
    silent = {"W12"} if job.instance.world_rank[0] == 1 else set[str]()
    if not job.instance.contract.skip:
        silent.add("W6")
    return tuple(
        name for name in PROVED_BY_CHECK if name not in silent and (asked is None or name in asked)
    )


def reasons(test: ContractTest, names: Sequence[str]) -> dict[str, str]:
    """Return the reason of each test that is known to fail.

    Args:
        test: the contract test.
        names: the ids of its tests: "W6-bf16-i64".

    Raises KvproofError: a key that names no test, or a reason that says nothing.
    """
    found: dict[str, str] = {}
    for key, reason in _mapping(test.known, "known").items():
        mine = [name for name in names if name == key or name.startswith(f"{key}-")]
        if not mine:
            mend = f"use an invariant or one of {', '.join(names[:3])}"
            raise KvproofError("no test of that id", where=f"known[{key!r}]", mend=mend)
        if not str(reason).strip():
            mend = "say why, with a link to the report"
            raise KvproofError("no reason", where=f"known[{key!r}]", mend=mend)
        found |= dict.fromkeys(mine, str(reason))
    return found


def _contract(given: object) -> WriterContract:
    if isinstance(given, str):
        return builtin(given)
    if isinstance(given, WriterContract):
        return given
    raise ContractError(
        f"{given!r} is no contract",
        where="contract",
        mend=f"give a WriterContract or one of {', '.join(CONTRACTS)}",
    )


def _instances(test: ContractTest, contract: WriterContract) -> Iterator[tuple[str, Instance]]:
    slots = _names(test.slots, "slots") or contract.slots.dtypes
    for name in slots:
        if name not in contract.slots.dtypes:
            mend = f"use {' or '.join(contract.slots.dtypes)}"
            what = f"contract {contract.name} has no slots of {name!r}"
            raise ContractError(what, where="slots", mend=mend)
    given = _several(test.dtypes, (str, Mapping), "dtypes")
    ranks = _several(test.ranks, (tuple,), "ranks")
    if not test.dims and CONTRACTS.get(contract.name) is contract:
        found = [
            (label, one)
            for label, one in instances(contract)
            if one.dtypes[contract.slots.arg] in slots
            and (not given or one.config["dtype"] in given)
            and (not ranks or one.world_rank in ranks)
        ]
        if not found:
            known = dict.fromkeys(str(one.config["dtype"]) for _, one in instances(contract))
            raise ContractError(
                f"the grid of contract {contract.name} has no such configuration",
                where="dtypes" if given else "ranks",
                mend=f"add dims={{...}}, or use dtypes {', '.join(known)}",
            )
        yield from found
        return
    sharded = contract.owner.owned is not None
    for dims in _several(test.dims, (Mapping,), "dims") or ({},):
        numbers = _dims(contract, dims)
        for item in given or ("bf16",):
            for slot in slots:
                for pair in ranks or (((1, 0), (2, 1)) if sharded else ((1, 0),)):
                    yield _instance(contract, numbers, item, slot, pair)


def _dims(contract: WriterContract, given: Mapping[str, int]) -> dict[str, int]:
    """Return every dimension; a stride that can be told is packed where none is given."""
    known = {dim.name: dim for dim in contract.dims}
    for name, value in _mapping(given, "dims").items():
        if name not in known:
            mend = f"contract {contract.name} has {', '.join(known)}"
            raise ContractError(f"unknown dimension {name!r}", where="dims", mend=mend)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ContractError(f"{value!r} is no number", where=f"dims[{name!r}]")
    found = contract.packed(given)
    for name, dim in known.items():
        if name not in found:
            raise ContractError(
                f"dimension {name} ({dim.meaning}) has no value",
                where="dims",
                mend=f'add dims={{"{name}": ...}}',
            )
    return found


def _instance(
    contract: WriterContract,
    dims: Mapping[str, int],
    given: str | Mapping[str, str],
    slots: str,
    ranks: tuple[int, int],
) -> tuple[str, Instance]:
    if isinstance(given, str):
        dtype(given)
        dtypes = dict.fromkeys(contract.arguments(), given)
        if isinstance(contract.encode, Cast):
            dtypes |= dict.fromkeys(contract.caches(), contract.encode.target)
    else:
        dtypes = {name: str(value) for name, value in _mapping(given, "dtypes").items()}
        for name in dtypes:
            if name not in contract.arguments():
                mend = f"contract {contract.name} names {', '.join(contract.arguments())}"
                raise ContractError(f"unknown argument {name!r}", where="dtypes", mend=mend)
    dtypes[contract.slots.arg] = slots
    if len(ranks) != 2 or not all(isinstance(number, int) for number in ranks) or ranks[0] < 1:
        raise ContractError(f"{ranks!r} is no (world size, rank)", where="ranks")
    world, rank = ranks
    source = dtypes.get(contract.segments[0].source, "")
    label = ", ".join([source, *(f"{name} {value}" for name, value in dims.items())])
    label += f", {slots} slots" + (f", rank {rank} of {world}" if world > 1 else "")
    return label, Instance(
        contract=contract,
        dtypes=dtypes,
        dims={**dims, "WORLD": world, "RANK": rank},
        pool=Range(1, MOST_PLACES[slots] // world),
        rows=Range(0, MOST_ROWS),
        config={
            "dtype": source,
            "loc_dtype": slots,
            "nope": dims.get("NOPE"),
            "rope": dims.get("ROPE"),
            "world": world,
            "rank": rank,
        },
    )


def _ids(found: Sequence[Instance], contract: WriterContract) -> list[str]:
    """Return short ids: the dtypes, then whatever tells two of the same dtypes apart."""
    ids = [_base(one, contract) for one in found]
    for dim in contract.dims:
        repeated = {name for name in ids if ids.count(name) > 1}
        if not repeated:
            break
        varied = {
            name
            for name in repeated
            if len({one.dims[dim.name] for one, own in zip(found, ids, strict=True) if own == name})
            > 1
        }
        ids = [
            f"{name}-{dim.name}{one.dims[dim.name]}" if name in varied else name
            for name, one in zip(ids, found, strict=True)
        ]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise ContractError(f"configuration {twice} is there twice", where="dims, dtypes or slots")
    return ids


def _base(one: Instance, contract: WriterContract) -> str:
    args = [*(part.source for part in contract.segments), *contract.caches(), contract.slots.arg]
    parts = list(dict.fromkeys(one.dtypes[arg] for arg in args))
    if one.config.get("gap"):
        parts.append(f"gap{one.config['gap']}")
    world, rank = one.world_rank
    if world > 1:
        parts.append(f"rank{rank}of{world}")
    return "-".join(parts)


def _names(given: object, argument: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (tuple, list, set, frozenset)):
        raise KvproofError(f"{given!r} is no list of names", where=argument)
    return tuple(str(name) for name in names)


def _several(given: Any, kinds: tuple[type, ...], argument: str) -> tuple[Any, ...]:
    """Return one item, or several, as a tuple of items of those kinds."""
    items = (given,) if kinds != (tuple,) and isinstance(given, kinds) else given
    if not isinstance(items, (tuple, list)) or not all(isinstance(one, kinds) for one in items):
        names = " or ".join({Mapping: "mapping"}.get(kind, kind.__name__) for kind in kinds)
        raise KvproofError(f"{given!r} is no {names}, nor a list of such", where=argument)
    return tuple(items)


def _mapping(given: Any, argument: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise KvproofError(f"{given!r} is no mapping", where=argument, mend="write it as {...}")
    return {str(key): value for key, value in given.items()}
