"""From a decision to a result: source line, statement, place, assumptions."""

from __future__ import annotations

from typing import Any

from ..spec.job import Job
from ..spec.launch import Launch
from ..spec.verdict import Result, Verdict
from .assumptions import assumptions
from .decide import Decision
from .domain import line_of
from .sampling import Unit


def config_of(job: Job, unit: Unit) -> dict[str, Any]:
    """Return the configuration that a result shows."""
    config: dict[str, Any] = dict(job.instance.config)
    if job.platform:
        config["platform"] = job.platform
    if unit.config:
        config["autotune"] = unit.config
    return config


def result_of(job: Job, unit: Unit, decision: Decision, wide: Decision | None) -> Result:
    """Return a decision as a result; `wide` is the decision on W4."""
    launch = unit.families[0].launch
    shown = decision.shown if decision.verdict is Verdict.REFUTED else None
    return Result(
        writer=job.writer,
        kernel=launch.kernel,
        source=_source(decision, launch),
        config=config_of(job, unit),
        invariant=decision.group.invariant,
        verdict=decision.verdict,
        statement=_statement(decision),
        assumes=assumptions(job, unit, decision, wide),
        detail=decision.detail,
        seconds=decision.seconds,
        case=shown.case if shown else None,
        row=shown.row if shown else None,
        slot=shown.slot if shown else None,
        column=shown.column if shown else None,
        ir_hash=launch.ttir_hash,
    )


def _source(decision: Decision, launch: Launch) -> str:
    if decision.obligation is not None and decision.obligation.op is not None:
        return line_of(decision.obligation.op)
    return decision.line or f"{launch.file}:{launch.line}"


def _statement(decision: Decision) -> str:
    if decision.group.statement:
        return decision.group.statement
    if decision.verdict is Verdict.PROVED or decision.obligation is None:
        return ""
    return decision.obligation.statement
