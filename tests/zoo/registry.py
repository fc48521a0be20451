"""The zoo's pairs, collected from the headers of its files, and the jobs that check them.

A zoo file imports nothing but torch and Triton, so that any checker can run it. Its header `ZOO`
is a tuple of literals: one dict for each pair, with the fields of `Pair`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kvproof.spec.call import Arg, ScalarArg
from kvproof.spec.contract import Instance, Range
from kvproof.spec.job import Job, ModuleSource
from kvproof.spec.recipe import Binding

from tests.zoo.contracts import ZOO_CONTRACTS

HERE = Path(__file__).parent
_NOT_ZOO = {"registry.py", "contracts.py", "table.py"}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A right writer, and the same writer with one fault.

    Args:
        corpus: ids of the public reports that the fault is taken from.
        right, wrong: names of the two host functions.
        contract: name of the contract that both are held to.
        dims: its dimensions, in elements; WORLD and RANK where they are not 1 and 0.
        expected: the invariants that the fault breaks.
        why: the fault in one line.
        file: the file's name.
        dtype: of caches and sources, or a mapping from argument to dtype.
        slots: dtype of the slot table.
        pool: most places; the widest that the slot dtype can name when 0.
        extra: further integer arguments of both host functions.
    """

    corpus: str
    right: str
    wrong: str
    contract: str
    dims: Mapping[str, int]
    expected: frozenset[str]
    why: str
    file: str
    dtype: str | Mapping[str, str] = "f32"
    slots: str = "i64"
    pool: int = 0
    extra: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The pair's name in reports."""
        return f"{self.corpus}:{self.wrong}"

    def job(self, function: str) -> Job:
        """Return the job that checks one of the two."""
        contract = ZOO_CONTRACTS[self.contract]
        dims = {"WORLD": 1, "RANK": 0, **self.dims}
        dtypes = dict.fromkeys(contract.arguments(), "f32")
        if isinstance(self.dtype, str):
            dtypes = dict.fromkeys(dtypes, self.dtype)
        else:
            dtypes.update(self.dtype)
        dtypes[contract.slots.arg] = self.slots
        most = self.pool or ((1 << 31) - 1 if self.slots == "i32" else 1 << 40)
        extra: list[Arg] = [ScalarArg(name, value) for name, value in self.extra.items()]
        return Job(
            target=f"zoo/{self.file}",
            writer=function,
            label=self.corpus,
            source=ModuleSource(file=str(HERE / self.file)),
            function=function,
            instance=Instance(
                contract=contract,
                dtypes=dtypes,
                dims=dims,
                pool=Range(1, most // dims["WORLD"]),
                rows=Range(0, 1 << 18),
            ),
            binding=Binding(extra=tuple(extra)),
        )


def _header(path: Path) -> list[Pair]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ZOO":
            return [
                Pair(**{**item, "expected": frozenset(item["expected"])}, file=path.name)
                for item in ast.literal_eval(node.value)
            ]
    raise ValueError(f"{path.name} has no header ZOO")


def pairs() -> list[Pair]:
    """Return every pair, by file."""
    files = sorted(path for path in HERE.glob("*.py") if path.name not in _NOT_ZOO)
    return [pair for path in files for pair in _header(path)]
