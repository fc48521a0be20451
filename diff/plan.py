"""What a campaign is to do, how far it has come, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..spec.job import Job
from .counts import Coverage
from .findings import Finding, Incident


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a campaign is to do.

    Args:
        jobs: the jobs, at least one.
        folder: where everything is kept.
        identity: what the campaign is about, JSON-able; "target" is named in errors.
        kind, budget: "cases" or "seconds", and how many.
        workers: processes.
        device: "cpu" or "cuda".
        limit: seconds that one trial may take.
        patience: crashes and hangs of one writer after which it is set aside: further ones would
            only cost time.
    """

    jobs: Sequence[Job]
    folder: Path
    identity: Mapping[str, Any]
    kind: str = "seconds"
    budget: float = 60.0
    workers: int = 1
    device: str = "cpu"
    limit: float = 30.0
    patience: int = 4


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a run has come.

    Args:
        cases, seconds: of this run, what an interrupted one did before it included.
        rate: cases a second since this process started.
        findings: distinct ones, of all runs.
        incidents: trials that nothing decided, of all runs.
        writer: whose slice was the last to end.
    """

    cases: int
    seconds: float
    rate: float
    findings: int
    incidents: int
    writer: str = ""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a campaign's folder holds after a run.

    Args:
        status: of the run.
        total: cases of all runs.
        recovered: trials that a killed campaign had run or begun, and that were taken over.
        resumed: cases of this run that an interrupted campaign had done.
        findings, incidents, coverage: of all runs.
        notes: what a reader should know, each with the writers that it is about.
        reached, jobs: jobs that ran a case in some run, and all jobs.
    """

    status: Status
    total: int
    recovered: int
    resumed: int
    findings: tuple[Finding, ...]
    incidents: tuple[Incident, ...]
    coverage: Coverage
    notes: Mapping[str, tuple[str, ...]]
    reached: int
    jobs: int

    def exit_code(self) -> int:
        """Return 1 when a finding shows, 3 when only something is undecided, else 0."""
        if any(finding.shows for finding in self.findings):
            return 1
        return 3 if any(incident.counts for incident in self.incidents) else 0
