"""SARIF 2.1.0: findings at the kernel's line, so that a code host annotates a change.

Built from plain dicts. Of the libraries that model SARIF, sarif-om had its last release in 2019,
and sarif-pydantic covers a part of the format; neither would carry more than the twenty properties
that stand here. Tests hold the files to the schema of OASIS.

Source: OASIS, Static Analysis Results Interchange Format Version 2.1.0 plus Errata 01.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..spec.invariants import INVARIANTS, Invariant
from ..spec.verdict import Verdict
from .digest import Digest, Entry
from .finding import place_of, replay_of, said_of
from .layout import joined
from .spot import RELEASE, REPOSITORY, Spot
from .versions import versions

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
#: Name of the fingerprint; its number changes when what it is made of changes.
FINGERPRINT = "kvproofFinding/v1"
_BASES = {
    REPOSITORY: ("%SRCROOT%", "the root of the repository"),
    RELEASE: ("%RELEASE%", "the folder of the engine's released packages"),
}
_RULES = list(INVARIANTS)


def to_sarif(digest: Digest) -> dict[str, Any]:
    """Return a digest as a SARIF log of one run, JSON-able.

    One result for each distinct finding: level "error" for REFUTED, "warning" for UNKNOWN,
    UNSUPPORTED and VACUOUS, "note" for a further statement that does not hold. What is known (an
    expected failure) is suppressed with its reason. What could not be checked is a notification
    of the invocation. Nothing depends on the machine or the time.
    """
    told = versions()
    entries = [*digest.entries(), *digest.entries(claims=True)]
    results = [_result(entry) for entry in entries]
    _number(results)
    used = {entry.told.spot.base for entry in entries} - {""}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "kvproof",
                "version": told["kvproof"],
                "semanticVersion": told["kvproof"],
                "rules": [_rule(one) for one in INVARIANTS.values()],
                "properties": {"versions": told},
            }
        },
        "automationDetails": {"id": f"{digest.command}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "commandLine": digest.command,
                "executionSuccessful": not digest.errors,
                "toolExecutionNotifications": _notifications(digest),
            }
        ],
        "results": results,
        "properties": {
            "target": digest.target,
            "counts": {verdict.value: count for verdict, count in digest.counts().items()},
        },
    }
    if used:
        run["originalUriBaseIds"] = {
            name: {"description": {"text": text}}
            for base, (name, text) in _BASES.items()
            if base in used
        }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(one: Invariant) -> dict[str, Any]:
    name = "".join(word.capitalize() for word in one.title.replace("-", " ").split())
    decided = f"Decided by {one.decided}."
    return {
        "id": one.id,
        "name": name,
        "shortDescription": {"text": f"{one.title}: {one.broken}"},
        "fullDescription": {"text": one.sentence},
        "help": {
            "text": f"{one.sentence} {decided} `kvproof explain {one.id}` says more.",
            "markdown": f"**{one.sentence}**\n\n{decided}\n\n`kvproof explain {one.id}` says more.",
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "tags": ["correctness", "kv-cache"],
            "precision": "very-high",
            "problem.severity": "error",
        },
    }


def _result(entry: Entry) -> dict[str, Any]:
    told, result = entry.told, entry.told.result
    refuted = result.verdict is Verdict.REFUTED
    level = "error" if refuted else "warning"
    found: dict[str, Any] = {
        "ruleId": result.invariant,
        "ruleIndex": _RULES.index(result.invariant),
        "level": "note" if told.claim else level,
        "message": {"text": _message(entry)},
        "locations": [_location(told.spot, result.kernel, result.writer)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(entry)},
        "properties": {
            "verdict": result.verdict.value,
            "writer": result.writer,
            "contract": told.contract,
            "configuration": told.label,
            "statement": told.spot.code,
            "assumes": list(result.assumes),
            "replay": dict(result.replay),
            "irHash": result.ir_hash,
        },
    }
    if told.known:
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": told.known}
        ]
    return found


def _message(entry: Entry) -> str:
    told, result = entry.told, entry.told.result
    about = INVARIANTS[result.invariant]
    if told.claim:
        head = f"{result.writer}: {result.statement}: {said_of(result)}"
        if result.verdict is Verdict.REFUTED:
            head = f"{result.writer}: {result.statement}: does not hold (it breaks no contract)"
    else:
        head = f"{about.id} {about.title}: {said_of(result)} by {result.writer}"
        if result.verdict is not Verdict.REFUTED:
            head = f"{about.id} {about.title}: {said_of(result)}, for {result.writer}"
    lines = [f"{head}."]
    if result.statement and not told.claim:
        lines.append(f"Asked: {result.statement}.")
    if result.detail:
        lines.append(f"Why: {result.detail}.")
    lines.append(f"At: {place_of(result)}{told.label}.")
    if result.safe_up_to is not None:
        lines.append(f"Safe up to {result.safe_of or 'slot'} {result.safe_up_to:,}.")
    if result.replay:
        lines.append(f"Replayed: {replay_of(result)}.")
    if result.assumes:
        lines.append(f"Assuming: {'; '.join(result.assumes)}.")
    lines.append(f"Seen in {entry.seen}.")
    lines.append(f"Reproduce: {told.reproduce}")
    return "\n".join(lines)


def _location(spot: Spot, kernel: str, writer: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(spot)}
    if spot.line:
        physical["region"] = {"startLine": spot.line}
    name = kernel or writer
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"name": name, "fullyQualifiedName": name, "kind": "function"}],
    }


def _artifact(spot: Spot) -> dict[str, Any]:
    if spot.base:
        return {"uri": quote(spot.file), "uriBaseId": _BASES[spot.base][0]}
    return {"uri": Path(spot.file).absolute().as_uri()}


def _fingerprint(entry: Entry) -> str:
    """Return what stays the same while the finding does: line numbers and IR are not in it."""
    told, result = entry.told, entry.told.result
    parts = (
        result.invariant,
        told.contract,
        result.writer,
        result.kernel,
        told.spot.file,
        " ".join(told.spot.code.split()),
        result.statement,
    )
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def _number(results: list[dict[str, Any]]) -> None:
    """Number the results of one fingerprint: the same statement may stand in a kernel twice."""
    seen: dict[str, int] = {}
    for result in results:
        prints = result["partialFingerprints"]
        plain = prints[FINGERPRINT]
        seen[plain] = seen.get(plain, 0) + 1
        prints[FINGERPRINT] = f"{plain}:{seen[plain]}"


def _notifications(digest: Digest) -> list[dict[str, Any]]:
    found = [
        _notification("error", f"{one.writer}: {one.text} ({joined(one.labels, comma='; ')})")
        for one in digest.errors
    ]
    for title, level, lines in (
        ("not proved", "warning", digest.unproved),
        ("note", "note", digest.notes),
    ):
        found += [
            _notification(level, f"{title}: {joined(writers, most=6)}: {text}")
            for text, writers in lines.items()
        ]
    return found


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}
