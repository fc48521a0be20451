"""Many variants of a trial in one walk of the torch domain: the unused grid axis counts them.

A variant is one program more along the third grid axis, whose pointers start at the variant's own
storages. The kernel does not see the axis: there its program id is 0 and its extent 1. One walk
over 64 variants costs little more than one over a single trial.
"""

from __future__ import annotations

from typing import Any

import torch

from ..checkers.buffers import Buffer
from ..checkers.domain import Unsupported
from ..checkers.evaluator import batch_walk
from ..checkers.planes import Pointer
from ..checkers.tensor_domain import TensorDomain
from ..checkers.tensor_memory import Memory
from ..spec.errors import KvproofError
from .api import Outcome, Prepared
from .batch import BatchMemory
from .evaluating import EvaluatorRunner, kernel_arguments
from .variants import Variants

#: The grid axis that counts variants.
_AXIS = 2


class _Burst(TensorDomain):
    """The torch domain, with a grid axis that the kernel does not see."""

    def program_id(self, axis: int) -> Any:
        """Return the program's number; 0 on the hidden axis."""
        return 0 if axis == _AXIS else super().program_id(axis)

    def num_programs(self, axis: int) -> Any:
        """Return the grid's extent; 1 on the hidden axis."""
        return 1 if axis == _AXIS else super().num_programs(axis)


class BurstRunner:
    """Runs variants on the torch domain, all in one walk; differing ones alone once more.

    Args:
        runner: runs a single trial, and keeps the parsed programs.
    """

    name = "evaluator"

    def __init__(self, runner: EvaluatorRunner | None = None) -> None:
        self.runner = runner or EvaluatorRunner()

    def can_run(self, prepared: Prepared, batch: Variants) -> str | None:
        """Return None, or why these variants must be run one by one."""
        rows = batch.trial.case.rows
        for family in prepared.families_at(rows):
            env = {**batch.trial.case.dims, "ROWS": rows, "POOL": batch.trial.case.pool}
            if family.grid_at(env)[_AXIS] != 1:
                return "the kernel uses the third grid axis"
            for info in family.launch.args:
                if info.kind == "pointer" and (info.tensor is None or info.tensor[:1] == "~"):
                    return f"{info.name} is a temporary of the host"
        return None

    def run(self, prepared: Prepared, batch: Variants) -> dict[int, Outcome]:
        """Run all variants; return the outcomes of those that are not as the contract says.

        Raises KvproofError where `can_run` gives a reason, or a cache is too large.
        """
        why = self.can_run(prepared, batch)
        if why is not None:
            raise KvproofError(why, mend="run the variants one by one")
        if batch.trial.case.rows == 0:
            first = self.runner.run(prepared, batch.at(0))
            return {0: first} if first.is_finding else {}
        memory = BatchMemory(prepared, batch, torch.device("cpu"))
        try:
            self._walk(prepared, memory, len(batch))
        except (Unsupported, KvproofError) as problem:
            return {0: Outcome(runner=self.name, status="failed", reason=str(problem))}
        found: dict[int, Outcome] = {}
        for index in memory.differing():
            found[index] = self.runner.run(prepared, batch.at(index))
            if found[index].status == "agrees":
                reason = "it differs in a burst and agrees alone"
                found[index] = Outcome(runner=self.name, status="failed", reason=reason)
        return found

    def _walk(self, prepared: Prepared, memory: BatchMemory, count: int) -> None:
        case, arena = memory.batch.trial.case, memory.arena
        env = {**memory.form.dims, "ROWS": case.rows, "POOL": case.pool}
        flat = {name: data.reshape(-1) for name, data in memory.storages.items()}
        for family in prepared.families_at(case.rows):
            arguments, owners = kernel_arguments(prepared, arena, family, env, flat)
            buffers: dict[str, Buffer] = {}
            pointers: dict[str, Pointer] = {}
            for name, value in arguments.items():
                if not isinstance(value, Buffer):
                    continue
                buffers[name] = value
                arg, _, size = owners[name]
                region = arena.regions.get(arg)
                parts: tuple[torch.Tensor, ...] = ()
                if region is not None:
                    step = memory.storages[region.storage].shape[1] // size
                    parts = (torch.arange(count).reshape(1, 1, count) * step,)
                pointers[name] = Pointer(name, size, 0, parts)
            x, y, _ = family.grid_at(env)
            domain = _Burst(Memory(buffers, (x, y, count)))
            if x and y:
                batch_walk(self.runner.program(family), domain, arguments, pointers)
