"""Runs of a contract test's writer, beside the proofs: profiles dev and campaign."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..diff.campaign import run
from ..diff.findings import Finding
from ..diff.plan import Plan, Summary
from ..spec.invariants import INVARIANTS
from ..spec.job import Job
from ..spec.verdict import Result, Verdict
from .campaigning import print_summary
from .spot import spot_of
from .testoptions import Options

#: Runs of one configuration: so many cases, or seconds.
_RUNS = {"dev": ("cases", 200.0), "campaign": ("seconds", 60.0)}


@dataclass(frozen=True)
class Ran:
    """What runs of one configuration showed.

    Args:
        code: 0 nothing, 1 a fault, 3 something that was not decided.
        text: what a person reads when the code is not 0.
        record: what `record.record_of` says of a check: each finding is a refuted result, and
            "cases" counts what was run.
    """

    code: int
    text: str
    record: dict[str, Any]


def run_cases(job: Job, options: Options, folder: Path) -> Ran:
    """Run a writer on made-up cases and compare whole memory with the contract's reference.

    Args:
        job: the writer in one configuration.
        options: profile "dev" (200 cases) or "campaign" (60 seconds); the device.
        folder: where the cases and scripts are kept; a later run goes on from there.

    Raises KvproofError: the writer cannot be called, or the device is not there.
    """
    kind, budget = _RUNS[options.profile]
    identity = {"target": job.target, "label": job.label}
    if options.device != "cpu":
        identity["device"] = options.device
    plan = Plan(
        jobs=[job],
        folder=folder,
        identity=identity,
        kind=kind,
        budget=budget,
        device=options.device,
    )
    summary = run(plan)
    code = summary.exit_code()
    return Ran(code, _text(plan, job, summary) if code else "", _record(job, summary))


def _text(plan: Plan, job: Job, summary: Summary) -> str:
    text = io.StringIO()
    console = Console(file=text, width=100, color_system=None, force_terminal=False)
    print_summary(console, plan, job.target, summary)
    # The last part counts what was tried; the line `case` names a configuration of `check`.
    shown, _, _ = text.getvalue().partition("\nClauses of the contract")
    lines = [line for line in shown.splitlines()[1:] if not line.startswith("  case  ")]
    return "\n".join(lines).strip("\n")


def _record(job: Job, summary: Summary) -> dict[str, Any]:
    shown = [finding for finding in summary.findings if finding.shows]
    others = [f"a legal call ends with: {f.outcome.reason or f.outcome.status}"
              for f in shown if f.invariant not in INVARIANTS]  # fmt: skip
    undecided = [f"{one.kind}: {one.how}" for one in summary.incidents if one.counts]
    return {
        "target": job.target,
        "writer": job.writer,
        "contract": job.instance.contract.name,
        "label": job.label,
        "seconds": round(summary.status.seconds, 3),
        "cases": summary.status.cases,
        "error": "; ".join(dict.fromkeys([*others, *undecided])) or None,
        "notes": list(summary.notes),
        "unproved": [],
        "results": [_result(job, one) for one in shown if one.invariant in INVARIANTS],
    }


def _result(job: Job, finding: Finding) -> dict[str, Any]:
    first = finding.outcome.mismatches[0]
    runners = (finding.outcome, *finding.others)
    result = Result(
        writer=job.writer,
        kernel="",
        source=finding.line,
        config=job.instance.config,
        invariant=finding.invariant,
        verdict=Verdict.REFUTED,
        detail="seen in runs",
        slot=first.slot,
        row=first.row,
        column=first.column,
        replay={one.runner: "confirmed" for one in runners if one.status == "differs"},
        observed={one.runner: one.mismatches[0].text for one in runners if one.mismatches},
    )
    return {
        **result.to_json(),
        "label": job.label,
        "claim": False,
        "location": spot_of(job, finding.line).to_json(),
        "case_file": None,
    }
