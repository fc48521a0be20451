"""Counterexample files: what was asked, of whom, and the call that breaks it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..spec.case import Case
from ..spec.errors import KvproofError
from ..spec.invariants import invariant
from .files import write_json
from .outcome import Finding, Outcome
from .request import Request

SCHEMA = "kvproof.case/1"


@dataclass(frozen=True, kw_only=True)
class CaseFile:
    """A counterexample that `kvproof replay` runs again.

    Args:
        request: how the writer is found.
        writer, label: the job within the request's target.
        invariant, statement: what is broken.
        case: the call.
    """

    request: Request
    writer: str
    label: str
    invariant: str
    statement: str
    case: Case

    def to_json(self) -> dict[str, Any]:
        """Return the file's content; `read_case` reads it back."""
        return {
            "schema": SCHEMA,
            **self.request.to_json(),
            "writer": self.writer,
            "label": self.label,
            "invariant": self.invariant,
            "statement": self.statement,
            "case": self.case.to_json(),
        }


def write_cases(outcome: Outcome, folder: Path) -> None:
    """Write a file for each distinct finding that has a runnable case, and note it in `outcome`.

    Raises KvproofError when a file cannot be written; those before it stay.
    """
    counts: dict[str, int] = {}
    found = [*outcome.findings(), *outcome.findings(claims=True)]
    for position, finding in found:
        if finding.result.case is None:
            continue
        stem = _stem(finding)
        counts[stem] = counts.get(stem, 0) + 1
        path = folder / f"{stem}-{counts[stem]}.json"
        write_json(path, _content(outcome.request, finding).to_json())
        outcome.files[position] = path


def read_case(path: Path) -> CaseFile:
    """Read a counterexample file.

    Raises KvproofError: the file cannot be read, is damaged, is of another schema, or names an
    invariant that there is not.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise KvproofError(
            f"cannot read the file ({fault.strerror or fault})",
            where=str(path),
            mend="`kvproof check` writes such files into .kvproof",
        ) from None
    except ValueError as fault:
        raise _damaged(path, f"not JSON: {fault}") from None
    if not isinstance(data, dict) or "schema" not in data:
        raise _damaged(path, "it names no schema")
    content = cast("dict[str, Any]", data)
    if content["schema"] != SCHEMA:
        raise KvproofError(
            f"its schema is {content['schema']!r}, not {SCHEMA!r}",
            where=str(path),
            mend="name a counterexample file that this version of kvproof wrote",
        )
    try:
        return CaseFile(
            request=Request.from_json(content),
            writer=str(content["writer"]),
            label=str(content["label"]),
            invariant=invariant(str(content["invariant"])).id,
            statement=str(content["statement"]),
            case=Case.from_json(content["case"]),
        )
    except KeyError as missing:
        raise _damaged(path, f"it has no {missing}") from None
    except (TypeError, ValueError, AttributeError) as fault:
        raise _damaged(path, str(fault)) from None


def _content(request: Request, finding: Finding) -> CaseFile:
    assert finding.result.case is not None
    return CaseFile(
        request=request,
        writer=finding.job.writer,
        label=finding.job.label,
        invariant=finding.result.invariant,
        statement=finding.result.statement,
        case=finding.result.case,
    )


def _stem(finding: Finding) -> str:
    writer = re.sub(r"[^A-Za-z0-9._]+", "-", finding.job.writer).strip("-.") or "writer"
    return f"{finding.result.invariant}-{writer}"


def _damaged(path: Path, how: str) -> KvproofError:
    return KvproofError(
        f"the file is damaged ({how})", where=str(path), mend="run `kvproof check` again"
    )
