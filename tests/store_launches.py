"""Store what the test suite's writers launch, under the installed version of Triton.

Run from the root of the repository, once for each version that `test_versions.py` speaks of:

    pip install --no-deps --target FOLDER triton==3.9.0
    PYTHONPATH=FOLDER python -m tests.store_launches
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from kvproof.checkers.child import Child
from kvproof.checkers.sampling import ROW_COUNTS, sample
from kvproof.spec.launch import Capture

from tests.jobs import job
from tests.test_versions import FOLDER, WRITERS

#: The sampled row counts, the most rows, one row, and none; the calls after them differ from the
#: first in what their tensors hold alone.
STORED = len(ROW_COUNTS) + 3


class Storing(Child):
    """A child that keeps its first answers as plain data."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[dict[str, Any]] = []
        self.texts: dict[str, str] = {}

    def capture(self, *args: Any, **options: Any) -> Capture:
        """Capture, and keep the answer with its texts apart."""
        made = super().capture(*args, **options)
        if len(self.answers) < STORED:
            answer = asdict(made)
            for launch in answer["launches"]:
                self.texts[launch["ttir_hash"]] = launch.pop("ttir")
            self.answers.append(answer)
        return made


def main() -> None:
    """Write one file for each writer."""
    folder = FOLDER / version("triton")
    folder.mkdir(exist_ok=True)
    for name, contract in WRITERS.items():
        child = Storing()
        sample(child, job(name, contract))
        child.close()
        data = {"contract": contract, "texts": child.texts, "answers": child.answers}
        path = folder / f"{name}.json"
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(path.relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
