"""The JSON report, schema `kvproof.report/1` (docs/report.schema.json), and what others need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..spec.verdict import SCHEMA, Verdict
from .digest import Digest, Told
from .outcome import Outcome
from .record import record_of
from .versions import versions


def records(outcome: Outcome) -> list[dict[str, Any]]:
    """Return a record of each job; a result's "case_file" is its counterexample file, or None."""
    found = [record_of(report) for report in outcome.reports]
    results = [item for record in found for item in record["results"]]
    for position, item in enumerate(results):
        path = outcome.files.get(position)
        item["case_file"] = None if path is None else str(path)
    return found


def digest_of(outcome: Outcome) -> Digest:
    """Return what a check found, for reports that are read elsewhere."""
    command = outcome.request.command()
    found = records(outcome)
    told = [
        Told.read(
            record,
            item,
            reproduce=f"kvproof replay {item['case_file']}"
            if item["case_file"]
            else f"{command} --invariant {item['invariant']}",
        )
        for record in found
        for item in record["results"]
    ]
    target = outcome.request.target
    return Digest.of(found, told, command=command, target=target, seconds=outcome.seconds)


def to_json(outcome: Outcome, *, strict: bool = False) -> dict[str, Any]:
    """Return a check's outcome as a JSON-able report."""
    verdicts = [result.verdict for _, _, result in outcome.results()]
    return {
        "schema": SCHEMA,
        **outcome.request.to_json(),
        "versions": versions(),
        "seconds": round(outcome.seconds, 3),
        "exit_code": outcome.exit_code(strict=strict),
        "counts": {verdict.value: verdicts.count(verdict) for verdict in Verdict},
        "results": [item for record in records(outcome) for item in record["results"]],
        "errors": [
            {"writer": job.writer, "label": job.label, "error": text}
            for job, text in outcome.errors()
        ],
        "unproved": _lines(outcome.unproved()),
        "notes": _lines(outcome.notes()),
    }


def _lines(found: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [{"text": text, "writers": list(writers)} for text, writers in found.items()]
