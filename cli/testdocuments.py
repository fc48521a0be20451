"""The files that the pytest plugin writes: JSON, SARIF and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..spec.verdict import Verdict
from .digest import Digest, Told
from .files import as_json, write_text
from .markdown import to_markdown
from .sarif import to_sarif
from .testoptions import Options
from .versions import versions

#: Schema of the file that `--kvproof-json` writes.
SCHEMA = "kvproof.pytest/1"


def write_documents(
    options: Options,
    outcomes: Mapping[str, Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
) -> None:
    """Write each file that was asked for, whole or not at all.

    Args:
        options: what was asked.
        outcomes: by node id: "verdict", "outcome", and why it is "known" (or None).
        records: what `record.record_of` says, with "test" and "configuration"; two workers may
            have checked one configuration.
        runs: likewise, of runs.

    Raises KvproofError: a file cannot be written.
    """
    checked = _once(records)
    ran = _once(runs)
    if options.json:
        document = {
            "schema": SCHEMA,
            "profile": options.profile,
            "device": options.device,
            "versions": versions(),
            "tests": list(outcomes.values()),
            "configurations": checked,
            "runs": ran,
        }
        write_text(Path(options.json), as_json(document))
    if options.sarif or options.markdown:
        digest = digest_of(outcomes, _renamed(checked), _renamed(ran))
        if options.sarif:
            write_text(Path(options.sarif), as_json(to_sarif(digest)))
        if options.markdown:
            write_text(Path(options.markdown), to_markdown(digest))


def digest_of(
    outcomes: Mapping[str, Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
) -> Digest:
    """Return what the tests of a run found.

    A check decides every invariant; those that no test of this run asked for are left out. A fault
    that runs saw is left out where a proof tells the same.
    """
    told = list(_told(outcomes, records))
    proved_wrong = {_fault(one) for one in told if one.result.verdict is Verdict.REFUTED}
    seen = [one for one in _told(outcomes, runs) if _fault(one) not in proved_wrong]
    mended = [
        (node, str(one["known"]))
        for node, one in outcomes.items()
        if one["known"] and one["outcome"] == "failed" and one["verdict"] == "PROVED"
    ]
    failed = [record for record in runs if record["error"]]
    return Digest.of(
        records,
        [*told, *seen],
        failed=failed,
        command="pytest",
        target="contract tests",
        seconds=sum(record["seconds"] for record in (*records, *runs)),
        mended=mended,
    )


def _told(
    outcomes: Mapping[str, Mapping[str, Any]], records: Sequence[Mapping[str, Any]]
) -> Iterator[Told]:
    for record in records:
        for item in record["results"]:
            what = "runs" if "cases" in record else item["invariant"]
            node = f"{record['test']}[{what}-{record['configuration']}]"
            one = outcomes.get(node)
            if one is None and not item["claim"]:
                continue
            expected = one is not None and one["outcome"] == "xfailed"
            known = str(one["known"]) if one is not None and expected else ""
            shown = record["test"] if one is None else node
            yield Told.read(record, item, reproduce=f"pytest '{shown}'", known=known)


def _fault(told: Told) -> tuple[str, ...]:
    result = told.result
    return (told.target, told.contract, result.writer, result.invariant, str(told.spot))


def _renamed(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Call a writer "file.py::function": tests may ask two files' functions of one name."""
    return [
        {
            **record,
            "writer": record["target"],
            "results": [{**item, "writer": record["target"]} for item in record["results"]],
        }
        for record in records
    ]


def _once(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return one record of each configuration, in an order that no worker decides."""
    found = {(one["test"], one["configuration"]): one for one in records}
    return [found[key] for key in sorted(found)]
