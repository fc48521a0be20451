"""A launch as a function of the call: grid and scalars fitted over several captured calls.

A captured call is one sample. The grid and every scalar argument are explained by an expression
of the contract's dimensions and ROWS that agrees with all samples; an expression is only accepted
when every sample gives it, and the verdicts name it as an approximation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..spec.contract import Instance
from ..spec.errors import KvproofError
from ..spec.expr import Const, Expr, Sym, cdiv
from ..spec.launch import Launch

#: Signature type of an integer argument.
_WIDTH = re.compile(r"([iu])(\d+)")

#: Block sizes that a grid may divide by.
_BLOCKS = (*tuple(1 << power for power in range(1, 15)), 3, 5, 6, 7, 9, 10, 12, 24, 48, 96)


@dataclass(frozen=True)
class Sample:
    """One captured call: the values of all symbols, and the launch that it made."""

    env: Mapping[str, int]
    launch: Launch


@dataclass(frozen=True)
class Family:
    """A launch for every call of a configuration.

    Args:
        launch: one of the captured launches; its IR is that of all of them.
        grid: extents as expressions.
        scalars: every runtime scalar argument as an expression, or its constant float.
        samples: the row counts that were captured.
    """

    launch: Launch
    grid: tuple[Expr, Expr, Expr]
    scalars: Mapping[str, Expr | float]
    samples: tuple[int, ...]

    def narrow(self, instance: Instance) -> dict[str, tuple[Expr, int]]:
        """Return the integer arguments that a legal call may not fit: expression and its limit.

        Triton compiles an argument of 2**31 or more as 64 bits, which is other IR.

        Args:
            instance: the contract in its configuration; its largest call decides.
        """
        sizes = {**instance.dims, "POOL": instance.pool, "ROWS": instance.rows}
        most = {name: size if isinstance(size, int) else size.most for name, size in sizes.items()}
        found: dict[str, tuple[Expr, int]] = {}
        for arg in self.launch.args:
            value = self.scalars.get(arg.name)
            width = _WIDTH.fullmatch(arg.type)
            if isinstance(value, Expr) and width is not None and width[2] != "1":
                limit = 1 << (int(width[2]) - (width[1] == "i"))
                if value.evaluate(most) >= limit:
                    found[arg.name] = value, limit
        return found

    def grid_at(self, env: Mapping[str, int]) -> tuple[int, int, int]:
        """Return the grid for concrete symbols."""
        x, y, z = (int(extent.evaluate(env)) for extent in self.grid)
        return x, y, z


def explain(
    values: Sequence[tuple[Mapping[str, int], int]],
    symbols: Sequence[str],
    blocks: Sequence[int] = (),
) -> Expr | None:
    """Return the simplest expression that gives every observed value, or None.

    Args:
        values: (symbols, observed value) of each sample.
        symbols: names that an expression may use.
        blocks: the launch's own integer constants, tried as divisors before all others.

    Tried in this order, each kind only where none before fits: a constant, a symbol or a sum of
    two; these divided by one of the blocks, rounded up; a multiple; a shift by a constant; and a
    division by any common block size.

    Raises:
        KvproofError: two expressions of one kind agree on all samples, which would leave it to
            chance which one is proved.
    """
    plain: list[Expr] = [Sym(name) for name in symbols]
    plain += [Sym(a) + Sym(b) for a, b in combinations(symbols, 2)]
    env, value = values[0]
    kinds: list[list[Expr]] = [
        [Const(value), *plain],
        [cdiv(expr, block) for expr in plain for block in blocks if block > 1],
        [_scaled(expr, env, value) for expr in plain],
        [expr + (value - expr.evaluate(env)) for expr in plain],
        [cdiv(expr, block) for expr in plain for block in _BLOCKS],
    ]
    for kind in kinds:
        found = [
            expr
            for expr in dict.fromkeys(kind)
            if all(expr.evaluate(seen) == wanted for seen, wanted in values)
        ]
        if len(found) > 1:
            raise KvproofError(
                f"{found[0]} and {found[1]} cannot be told apart by the captured calls",
                mend="capture calls with more different dimensions",
            )
        if found:
            return found[0]
    return None


def _of_call(
    values: Sequence[tuple[Mapping[str, int], int]], symbols: Sequence[str], blocks: Sequence[int]
) -> Expr | None:
    """Return what explains the values by the symbols or, where nothing does, by the pool's size."""
    found = explain(values, symbols, blocks)
    if found is None and all("POOL" in env for env, _ in values):
        found = explain(values, ["POOL"], blocks)
    return found


def _scaled(expr: Expr, env: Mapping[str, int], value: int) -> Expr:
    base = expr.evaluate(env)
    return expr * (value // base) if base and value % base == 0 else expr


def fit(samples: Sequence[Sample], symbols: Sequence[str]) -> Family:
    """Fit a family over the samples of one launch position.

    Args:
        samples: at least two, at different row counts.
        symbols: names that an expression may use; ROWS among them.

    Raises:
        KvproofError: the kernel or its IR changes with the row count, or a grid extent or scalar
            follows no known expression.
    """
    first = samples[0].launch
    where = f"{first.file}:{first.line} {first.kernel}"
    counts = tuple(sample.env["ROWS"] for sample in samples)
    for sample in samples[1:]:
        if sample.launch.kernel != first.kernel or sample.launch.ttir_hash != first.ttir_hash:
            raise KvproofError(
                f"the kernel's IR differs between row counts {counts}",
                where=where,
                mend="pass the row count as a runtime argument (do_not_specialize) to prove it",
            )
    blocks = [
        arg.value
        for arg in first.args
        if arg.kind == "constexpr" and isinstance(arg.value, int) and arg.value is not True
    ]
    grid: list[Expr] = []
    for axis in range(3):
        seen = [(sample.env, sample.launch.grid[axis]) for sample in samples]
        expr = _of_call(seen, symbols, blocks)
        if expr is None:
            raise KvproofError(
                f"grid axis {axis} is {[value for _, value in seen]} at row counts {counts}, "
                "which no known expression gives",
                where=where,
            )
        grid.append(expr)
    scalars: dict[str, Expr | float] = {}
    for position, arg in enumerate(first.args):
        if arg.kind != "scalar":
            continue
        raw = [sample.launch.args[position].value for sample in samples]
        if isinstance(raw[0], float):
            if any(value != raw[0] for value in raw):
                raise KvproofError(f"float argument {arg.name} changes with the call", where=where)
            scalars[arg.name] = raw[0]
            continue
        numbers = [
            (sample.env, int(value))
            for sample, value in zip(samples, raw, strict=True)
            if isinstance(value, int)
        ]
        expr = _of_call(numbers, symbols, blocks) if len(numbers) == len(raw) else None
        if expr is None:
            raise KvproofError(
                f"argument {arg.name} is {raw} at row counts {counts}, which no known expression "
                "gives",
                where=where,
            )
        scalars[arg.name] = expr
    return Family(first, (grid[0], grid[1], grid[2]), scalars, counts)
