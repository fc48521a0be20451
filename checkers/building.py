"""Building a problem: walk a kernel in the z3 domain under a contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from ..spec.contract import Instance, Range
from ..spec.errors import ContractError
from ..spec.expr import Expr
from ..spec.launch import ArgInfo
from ..spec.recipe import Binding
from .bitvectors import BitVectors, Term, is_const, term
from .family import Family
from .lanes import Pointer
from .pointers import stored_memories
from .problem import ARITHMETIC, TEMPORARY, WIDE, Problem, truth, widen
from .symbolic import SymbolicDomain, arguments
from .ttir import IntType, Program, PtrType, Type
from .walker import Walker


def build(
    instance: Instance,
    binding: Binding,
    family: Family,
    program: Program,
    algebra: BitVectors | None = None,
) -> Problem:
    """Walk a kernel in the z3 domain under a contract.

    Args:
        instance: the contract in its configuration.
        binding: names of the host function's parameters.
        family: the launch as a function of the call.
        program: its IR.
        algebra: exact widths when None; `ideal.Ideal` for numbers that do not wrap.

    Raises:
        ContractError: the contract does not fit the launch.
    """
    env: dict[str, Term] = {}
    bounds: list[Any] = []

    def symbol(name: str, value: int | Range) -> None:
        if isinstance(value, int):
            env[name] = value
            return
        made = z3.BitVec(name, WIDE)
        env[name] = made
        bounds.extend((made >= value.least, made <= value.most))

    for name, value in instance.dims.items():
        symbol(name, value)
    symbol("POOL", instance.pool)
    symbol("ROWS", instance.rows)
    for end, limit, _ in instance.row_ends() if not instance.is_concrete else ():
        a, b = end.evaluate(env, ARITHMETIC), limit.evaluate(env, ARITHMETIC)
        if not is_const(a, b):
            bounds.append(term(a, WIDE) <= term(b, WIDE))
    bounds.extend(term(truth(condition, env), 1) for condition in instance.where)
    grid = [extent.evaluate(env, ARITHMETIC) for extent in family.grid]
    for extent in grid:
        if not is_const(extent):
            bounds.extend((extent >= 0, extent < 1 << 31))
    for value, limit in family.narrow(instance).values():
        bounds.append(term(value.evaluate(env, ARITHMETIC), WIDE) < limit)
    values: dict[str, Any] = {}
    memories: dict[str, str] = {}
    for (name, kind), info in zip(program.args, _runtime(family), strict=True):
        if isinstance(kind.elem, PtrType):
            # Two arguments into one tensor share a memory, named after the first.
            size = Type(kind.elem.pointee).element_bytes()
            if info.byte_offset % size:
                raise ContractError(f"{info.name} is not aligned to its elements")
            memory = info.tensor or f"{TEMPORARY}{info.name}"
            memories[name] = memory
            values[name] = Pointer(memory, info.byte_offset // size, kind.elem.pointee)
        else:
            values[name] = _scalar(family.scalars[info.name], kind, env, algebra or BitVectors())
    domain = SymbolicDomain(grid, stored_memories(program, memories), algebra or BitVectors())
    walker = Walker(program, domain, arguments(values))
    trace = walker.run()
    for pid, extent in zip(domain.programs, grid, strict=True):
        if not is_const(pid):
            bounds.append(z3.And(pid >= 0, widen(pid) < term(extent, WIDE)))
    return Problem(instance, binding, family, program, domain, trace, env, bounds)


def _runtime(family: Family) -> list[ArgInfo]:
    return [info for info in family.launch.args if info.kind != "constexpr"]


def _scalar(value: Expr | float, kind: Type, env: Mapping[str, Term], algebra: BitVectors) -> Term:
    elem = kind.elem
    if not isinstance(value, Expr) or not isinstance(elem, IntType):
        raise ContractError("a float argument reaches the kernel; only integers are proved")
    made = value.evaluate(env, ARITHMETIC)
    if elem.width == 1:
        return bool(made)
    held = algebra.held(elem.width)
    return made if is_const(made) or held == WIDE else z3.Extract(held - 1, 0, made)
