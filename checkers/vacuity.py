"""No empty proofs: the assumptions can be met, and some lane stores an accepted row."""

from __future__ import annotations

from .bitvectors import term
from .domain import Unsupported
from .groups import Kernel
from .obligation import slot_givens
from .problem import Problem
from .promises import accepted
from .solving import Solving


def covered(kernels: list[Kernel], solving: Solving) -> str | None:
    """Return None when some lane of some launch stores an accepted row, else why none does."""
    reason = "no store writes the cache"
    for kernel in kernels:
        problem = kernel.ideal
        try:
            found = _covered(problem, solving)
        except Unsupported:
            return None
        if found is None:
            return None
        reason = found
    return reason


def _covered(problem: Problem, solving: Solving) -> str | None:
    reason = "no store writes the cache"
    for hit in problem.hits():
        if hit.arg not in problem.instance.contract.caches():
            continue
        wanted = [*problem.bounds, hit.active]
        if hit.row is not None:
            env = problem.row_env(hit.row)
            wanted += [accepted(problem, env), *slot_givens(problem, [hit.row]).values()]
        answer = solving.solve([term(made, 1) for made in wanted if made is not True])
        if answer.status == "sat":
            return None
        reason = (
            "no lane can store an accepted row under the assumptions"
            if answer.status == "unsat"
            else f"whether any lane stores is unknown: {answer.reason}"
        )
    return reason
