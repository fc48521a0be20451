"""The JSON report, schema `kvproof.report/1` (docs/report.schema.json)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..spec.verdict import SCHEMA, Verdict
from .files import write_json
from .outcome import Outcome, is_claim
from .versions import versions


def to_json(outcome: Outcome, *, strict: bool = False) -> dict[str, Any]:
    """Return a check's outcome as a JSON-able report.

    Each result says what `Result.to_json` says, and further its job's label, whether it speaks of
    a claim (a further statement, which breaks no contract), and its counterexample file.
    """
    results = [
        {
            **result.to_json(),
            "label": job.label,
            "claim": is_claim(job, result),
            "case_file": str(outcome.files[position]) if position in outcome.files else None,
        }
        for position, job, result in outcome.results()
    ]
    verdicts = [result.verdict for _, _, result in outcome.results()]
    return {
        "schema": SCHEMA,
        **outcome.request.to_json(),
        "versions": versions(),
        "seconds": round(outcome.seconds, 3),
        "exit_code": outcome.exit_code(strict=strict),
        "counts": {verdict.value: verdicts.count(verdict) for verdict in Verdict},
        "results": results,
        "errors": [
            {"writer": job.writer, "label": job.label, "error": text}
            for job, text in outcome.errors()
        ],
        "unproved": _lines(outcome.unproved()),
        "notes": _lines(outcome.notes()),
    }


def write_report(place: str, outcome: Outcome, *, strict: bool) -> None:
    """Write the report to a file, or to standard output when the place is "-".

    Raises KvproofError: the file cannot be written.
    """
    data = to_json(outcome, strict=strict)
    if place == "-":
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
        sys.stdout.flush()
        return
    write_json(Path(place), data)


def _lines(found: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [{"text": text, "writers": list(writers)} for text, writers in found.items()]
