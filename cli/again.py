"""The one line of Python that shows a finding of a campaign: run one trial again."""

from __future__ import annotations

import sys

from ..diff.api import Layout, Trial, skipped
from ..diff.prepare import Preparer
from ..diff.runner import open_runners
from ..spec.case import Case
from ..spec.errors import KvproofError
from .request import Request, jobs


def again(
    trial: Trial,
    target: str,
    writer: str,
    label: str,
    *,
    contract: str = "",
    bind: tuple[str, ...] = (),
    device: str = "cpu",
) -> int:
    """Run one trial on every runner at hand and print what each says.

    Args:
        trial: the trial.
        target: the job's target, as for `kvproof check`.
        writer: the job's writer.
        label: the job's configuration.
        contract: as for `kvproof check`, for a file of the user's.
        bind: likewise.
        device: "cpu" or "cuda".

    Returns 1 when a runner shows a fault, 0 when all that ran agree with the contract.

    Raises:
        KvproofError: the job is not found or cannot be captured.
    """
    from ..checkers.child import Child

    found = jobs(Request(target=target, contract=contract, bind=bind))
    job = next((j for j in found if (j.writer, j.label) == (writer, label)), None)
    if job is None:
        raise KvproofError(
            f"no writer {writer!r} with configuration {label!r}", where=f"target {target!r}"
        )
    broken = False
    with Child() as child:
        prepared = Preparer(child).prepare(job, trial.case)
        for runner in open_runners(device=device):
            why = runner.can_run(prepared, trial)
            outcome = skipped(runner.name, why) if why else runner.run(prepared, trial)
            runner.close()
            broken = broken or outcome.is_finding
            said = "; ".join(str(item) for item in outcome.mismatches) or outcome.reason
            sys.stdout.write(f"{outcome.runner}: {outcome.status} {said}".rstrip() + "\n")
    return int(broken)


__all__ = ["Case", "Layout", "Trial", "again"]
