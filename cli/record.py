"""What was found about one job, as plain data: JSON reports hold it, workers hand it over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .outcome import is_claim, label_of
from .spot import spot_of

if TYPE_CHECKING:
    from ..checkers.check import JobReport


def record_of(report: JobReport) -> dict[str, Any]:
    """Return a job's report as JSON-able data.

    Each result says what `Result.to_json` says, and further its configuration in one phrase
    ("label"), whether it speaks of a claim (a further statement, which breaks no contract),
    where its statement is ("location"), and that it has no file of its own yet ("case_file").
    """
    job = report.job
    return {
        "target": job.target,
        "writer": job.writer,
        "contract": job.instance.contract.name,
        "label": job.label,
        "seconds": round(report.seconds, 3),
        "error": report.error,
        "notes": list(report.notes),
        "unproved": list(job.unproved),
        "results": [
            {
                **result.to_json(),
                "label": label_of(job, result),
                "claim": is_claim(job, result),
                "location": spot_of(job, result.source).to_json(),
                "case_file": None,
            }
            for result in report.results
        ],
    }
