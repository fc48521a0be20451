"""Jobs for a user's own file, and for the writers that come with kvproof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..spec.builtin import builtin
from ..spec.call import ScalarArg
from ..spec.contract import WriterContract
from ..spec.errors import ContractError, KvproofError
from ..spec.job import Job, ModuleSource
from ..spec.recipe import Binding
from .grid import instances
from .request import BUNDLED, Request
from .signature import Signature, find_function, functions, read_tree

#: Contract symbols that a function may take as a parameter.
_SYMBOLS = ("WORLD", "RANK")
_BUNDLED_FILE = Path(__file__).resolve().parent.parent / "examples" / "zero_rope.py"
_BUNDLED_FUNCTIONS = ("write_rows", "write_rows_without_skip")
_BUNDLED_CONTRACT = "mla-row-norope"


def bundled_jobs(request: Request) -> list[Job]:
    """Return the jobs of the bundled examples: a right writer, then a faulty one.

    Raises KvproofError when the request asks for symbolic dimensions.
    """
    _no_symbols(request)
    contract = builtin(_BUNDLED_CONTRACT)
    jobs: list[Job] = []
    for function in _BUNDLED_FUNCTIONS:
        jobs += _jobs(BUNDLED, str(_BUNDLED_FILE), function, contract, Bound(contract), ())
    return jobs


def user_jobs(request: Request) -> list[Job]:
    """Return the jobs of "path/to/file.py::function", one per configuration of the contract.

    Raises KvproofError: the file, function or contract is unknown, the contract names an argument
    that the function does not have, or the function needs one that the contract does not name.
    """
    file, _, function = request.target.partition("::")
    tree = read_tree(Path(file), file)
    if not function:
        hosts = [name for name, found in functions(tree).items() if not found.kernel]
        example = f"{file}::{hosts[0]}" if hosts else f"{file}::function"
        raise KvproofError(
            "no function named", where=f"target {request.target!r}", mend=f"write {example}"
        )
    signature = find_function(tree, function, file)
    if not request.contract:
        from ..spec.builtin import CONTRACTS

        raise KvproofError(
            "no contract",
            where=f"target {request.target!r}",
            mend=f"add --contract with one of {', '.join(CONTRACTS)}",
        )
    _no_symbols(request)
    contract = builtin(request.contract)
    bound = read_bindings(contract, request.bind)
    if signature is not None:
        compare(contract, bound, signature, f"{file}:{signature.line}")
    return _jobs(request.target, file, function, contract, bound, request.stubs)


@dataclass(frozen=True)
class Bound:
    """What `--bind` said.

    Args:
        contract: the contract whose arguments are bound.
        pairs: (contract argument or symbol, parameter).
    """

    contract: WriterContract
    pairs: tuple[tuple[str, str], ...] = ()

    def parameters(self) -> dict[str, str]:
        """Return the parameter of each contract argument, and of each symbol that is passed."""
        names = {arg: arg for arg in self.contract.arguments()}
        return {**names, **dict(self.pairs)}

    def binding(self, world: int, rank: int) -> Binding:
        """Return the binding for one rank."""
        given = dict(self.pairs)
        values = {"WORLD": world, "RANK": rank}
        names = {arg: name for arg, name in given.items() if arg not in values}
        extra = tuple(ScalarArg(given[key], values[key]) for key in values if key in given)
        return Binding(names=names, extra=extra)


def read_bindings(contract: WriterContract, pairs: Sequence[str]) -> Bound:
    """Read "ARG=PARAMETER" pairs.

    Raises ContractError: no such pair, an argument that the contract does not name, one that is
    bound twice, or a sharded contract whose rank nothing tells the function.
    """
    sharded = contract.owner.owned is not None
    known = (*contract.arguments(), *(_SYMBOLS if sharded else ()))
    found: dict[str, str] = {}
    for pair in pairs:
        arg, equals, parameter = (part.strip() for part in pair.partition("="))
        if not (arg and equals and parameter):
            raise ContractError(
                "not a pair", where=f"--bind {pair}", mend=f"write it as {known[0]}=parameter"
            )
        if arg not in known:
            raise ContractError(
                f"contract {contract.name} names no argument {arg!r}",
                where=f"--bind {pair}",
                mend=f"it names {', '.join(known)}",
            )
        if arg in found or parameter in found.values():
            twice = arg if arg in found else parameter
            raise ContractError(f"{twice} is bound twice", where=f"--bind {pair}")
        found[arg] = parameter
    missing = [symbol for symbol in _SYMBOLS if sharded and symbol not in found]
    if missing:
        raise ContractError(
            f"nothing tells the function its {'world size' if missing[0] == 'WORLD' else 'rank'}",
            where=f"contract {contract.name}",
            mend=f"add --bind {missing[0]}=PARAMETER",
        )
    return Bound(contract, tuple(found.items()))


def compare(contract: WriterContract, bound: Bound, signature: Signature, where: str) -> None:
    """Refuse a contract that names what the function does not take, or leaves out what it needs.

    Args:
        contract: the contract.
        bound: which parameter takes each of its arguments.
        signature: the function.
        where: file and line of its `def`, for the error.

    Raises:
        ContractError: the first parameter that does not fit.
    """
    parameters = bound.parameters()
    for arg, name in parameters.items():
        if name in signature.positional:
            raise ContractError(
                f"parameter {name!r} of {signature.name} is positional only",
                where=where,
                mend="kvproof passes arguments by keyword: remove the `/`",
            )
        if name not in signature.keywords and not signature.takes_any:
            free = [key for key in signature.keywords if key not in parameters.values()]
            mend = f"say which one it is: --bind {arg}={'|'.join(free)}"
            raise ContractError(
                f"contract {contract.name} names argument {arg!r}, but {signature.name} has no "
                f"parameter {name!r}",
                where=where,
                mend=mend if free else "choose a contract without it; `kvproof list` names them",
            )
    needed = [key for key in signature.required if key not in parameters.values()]
    if needed or signature.positional:
        raise ContractError(
            f"{signature.name} needs {(needed or signature.positional)[0]!r}, of which contract "
            f"{contract.name} says nothing",
            where=where,
            mend="give it a default, or wrap the function",
        )


def _jobs(
    target: str,
    file: str,
    function: str,
    contract: WriterContract,
    bound: Bound,
    stubs: tuple[str, ...],
) -> list[Job]:
    source = ModuleSource(file=file, stubs=stubs)
    return [
        Job(
            target=target,
            writer=function,
            label=label,
            source=source,
            function=function,
            instance=instance,
            binding=bound.binding(*instance.world_rank),
        )
        for label, instance in instances(contract)
    ]


def _no_symbols(request: Request) -> None:
    if request.symbolic:
        raise KvproofError(
            "--symbolic-dims needs a catalogued writer",
            where=f"target {request.target!r}",
            mend="use it with a target such as sglang==0.5.23",
        )
