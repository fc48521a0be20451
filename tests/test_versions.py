"""The same verdicts from the IR of every Triton version that is supported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kvproof.checkers.check import Checker
from kvproof.checkers.child import capture_from_json
from kvproof.spec.launch import Capture
from kvproof.spec.verdict import Verdict

from tests.jobs import job

FOLDER = Path(__file__).parent / "fixtures" / "launches"
FILES = sorted(FOLDER.glob("*/*.json"))

#: Writers whose launches are stored (`store_launches.py`), with their contracts.
WRITERS = {
    name: "mla-row" if name.startswith("halves") else "mla-row-norope"
    for name in (
        *("masked", "masked_without_skip", "returning", "tiled", "persistent", "plus_zero"),
        *("halves", "halves_swapped", "waiting", "waiting_late"),
    )
}

#: What is refuted, and nothing else.
BROKEN = {
    "masked_without_skip": {"W1", "W6"},
    "halves_swapped": {"W9"},
    "waiting_late": {"W15"},
    "plus_zero": {"W10"},
}


class Stored:
    """Answers captures from a file, in the order in which they were made."""

    def __init__(self, file: Path) -> None:
        self.data: dict[str, Any] = json.loads(file.read_text())
        self.next = 0

    def capture(self, *_: Any, **__: Any) -> Capture:
        answers = self.data["answers"]
        # Calls past the stored ones differ from the first in what their tensors hold alone.
        answer = json.loads(json.dumps(answers[self.next if self.next < len(answers) else 0]))
        self.next += 1
        for launch in answer["launches"]:
            launch["ttir"] = self.data["texts"][launch["ttir_hash"]]
        return capture_from_json(answer)

    def close(self) -> None:
        """Nothing runs."""


@pytest.mark.parametrize("version", ("3.6.0", "3.8.0", "3.9.0"))
def test_every_writer_is_stored(version: str) -> None:
    assert {file.stem for file in FILES if file.parent.name == version} == set(WRITERS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_verdicts_do_not_depend_on_the_version(file: Path) -> None:
    stored = Stored(file)
    with Checker(child=stored, replay=False, drop=False, workers=1) as checker:  # type: ignore[arg-type]
        report = checker.check(job(file.stem, stored.data["contract"]))
    assert report.error is None
    broken = {r.invariant for r in report.results if r.verdict is Verdict.REFUTED}
    assert broken == BROKEN.get(file.stem, set())
    assert all(r.verdict.decided for r in report.results)
    assert ("W15" in {r.invariant for r in report.results}) == file.stem.startswith("waiting")
