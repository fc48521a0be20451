"""The repository of a fictitious engine: two writers and their contract tests."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry, Resource

EXAMPLE = Path(__file__).parent.parent / "examples" / "my_writer" / "my_writer.py"
SKIP = "    if slot == 0:\n        return\n"
LINK = "https://example.invalid/issues/1"
CONTRACTS = f"""
import pytest
from kvproof.cli.plugin import contract_test

ASKED = dict(
    contract="mla-row-norope",
    dims={{"NOPE": 64}},
    dtypes="bf16",
    slots="i64",
    invariants=("W1", "W6"),
)

@pytest.mark.kvproof_known("W7", reason="a mark of a class is for those that it fits", link="-")
@pytest.mark.kvproof_known("W6", reason="stores padding", link="{LINK}")
class TestCache:
    test_faulty = contract_test("../engine/faulty.py::write_rows", **ASKED)

test_good = contract_test("../engine/good.py::write_rows", known={{"W6": "mended?"}}, **ASKED)
"""
_DOCS = Path(__file__).parent.parent / "docs"


def check_json(document: dict) -> None:
    """Hold what `--kvproof-json` writes to its schema."""
    report, own = (
        json.loads((_DOCS / f"{name}.schema.json").read_text()) for name in ("report", "pytest")
    )
    registry = Registry().with_resource("report.schema.json", Resource.from_contents(report))
    jsonschema.Draft202012Validator(own, registry=registry).validate(document)


@pytest.fixture
def engine(pytester, monkeypatch):
    """Make the repository: a right writer, one without the skip, their tests; return its runner."""
    text = EXAMPLE.read_text()
    for folder in (".git", "engine", "tests"):
        (pytester.path / folder).mkdir()
    (pytester.path / "engine" / "good.py").write_text(text)
    (pytester.path / "engine" / "faulty.py").write_text(text.replace(SKIP, ""))
    # Named by hand, so that an older installation beside this tree does not decide what is tested.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def run(body, *args):
        (pytester.path / "tests" / "test_contracts.py").write_text(body)
        options = ("-p", "kvproof.cli.plugin", "-rA", "--strict-markers")
        return pytester.runpytest_subprocess(*options, *args)

    return run
