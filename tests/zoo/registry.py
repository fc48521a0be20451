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
_NOT_ZOO = {"registry.py", "contracts.py", "corpus.py", "runs.py", "table.py"}

#: What decides a pair.
PROOF, RUNS = "proof", "runs"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A right writer, and the same writer with one fault.

    Args:
        corpus: id of the public report that the fault is taken from.
        right, wrong: names of the two host functions.
        contract: name of the contract that both are held to.
        dims: its dimensions, in elements; WORLD and RANK where they are not 1 and 0.
        expected: the invariants that the fault breaks; "raised" where legal slots raise.
        why: the fault in one line.
        file: the file's name.
        decided: "proof", or "runs" for what no proof can take: host code without a kernel, and
            kernels outside the prover's language.
        dtype: of caches and sources, or a mapping from argument to dtype.
        slots: dtype of the slot table.
        pool: most places; the widest that the slot dtype can name when 0.
        rows: most rows of a call.
        inputs: runs only: slot tables that show the fault, in a pool of the most places.
        cases: runs only: how many cases are drawn besides, in each of two ways.
        extra: further integer arguments of both host functions.
        surplus: runs only: rows that sources have after the last one of the slot table.
        middle: runs only: stride of a dimension of size 1 that tensors get in their middle; no
            such dimension when 0.
    """

    corpus: str
    right: str
    wrong: str
    contract: str
    dims: Mapping[str, int]
    expected: frozenset[str]
    why: str
    file: str
    decided: str = PROOF
    dtype: str | Mapping[str, str] = "f32"
    slots: str = "i64"
    pool: int = 0
    rows: int = 1 << 18
    inputs: tuple[tuple[int, ...], ...] = ()
    cases: int = 60
    extra: Mapping[str, int] = field(default_factory=dict)
    surplus: int = 0
    middle: int = 0

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
                rows=Range(0, self.rows),
            ),
            binding=Binding(extra=tuple(extra), middle=(1,) if self.middle else ()),
        )


def _header(path: Path) -> list[Pair]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ZOO":
            return [
                Pair(**{**item, "expected": frozenset(item["expected"])}, file=path.name)
                for item in ast.literal_eval(node.value)
            ]
    raise ValueError(f"{path.name} has no header ZOO")


def pairs(decided: str = "") -> list[Pair]:
    """Return every pair, by file; only those that `decided` decides when it is given."""
    files = sorted(path for path in HERE.glob("*.py") if path.name not in _NOT_ZOO)
    found = [pair for path in files for pair in _header(path)]
    return [pair for pair in found if decided in ("", pair.decided)]
