"""The page on writing a contract: its code runs, its errors are real, its tables are whole."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from kvproof.cli.configuring import configurations
from kvproof.cli.contracttest import ContractTest
from kvproof.spec import builtin
from kvproof.spec.errors import ContractError
from kvproof.spec.rules import COL, ROW, Cast, Reserved

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "contracts-howto.md").read_text()
EXAMPLE = (DOCS.parent / "examples" / "contracts" / "test_scaled.py").read_text()
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its first two lines."""
    below = PAGE.split(f"\n## {heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\|\n)+", below, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def made() -> dict[str, Any]:
    """Run the page's code and return its names."""
    scope: dict[str, Any] = {"__name__": "page"}
    exec(compile(CODE, str(DOCS / "page.py"), "exec"), scope)  # noqa: S102
    return scope


def test_the_pages_contract_is_the_examples():
    imports, _, body = CODE.partition("\n\n")
    assert body.strip() in EXAMPLE
    for line in imports.splitlines():
        assert line in EXAMPLE


MISTAKES = [(written, said.strip("`")) for written, said in rows("Common mistakes")]


@pytest.mark.parametrize(("written", "said"), MISTAKES)
def test_a_mistake_says_what_the_page_says(written, said):
    scope = made()
    mine = scope["SCALED_ROW"]
    names = {"MINE": mine, "CODES": mine.segments[0], "replace": replace}
    names |= {"COL": COL, "ROW": ROW, "Cast": Cast, "Reserved": Reserved}
    written = written.strip("`").removesuffix("` in a test")
    if written.startswith("dims="):
        test: ContractTest = scope["test_scaled"]
        test.writer = str(DOCS.parent / "examples" / "contracts" / "scaled.py::write_scaled")
        names |= {"test": test, "configurations": configurations}
        written = f"configurations(replace(test, {written}))"
    with pytest.raises(ContractError) as refused:
        eval(written, names)  # noqa: S307
    assert str(refused.value) == said


def test_there_are_mistakes_of_every_kind():
    assert len(MISTAKES) >= 8


def test_every_built_in_contract_is_in_the_table():
    found = {}
    for name, python, parameters, _ in rows("Built-in contracts"):
        found[name.strip("`")] = python.strip("`")
        contract = getattr(builtin, python.strip("`"), None)
        if contract is not None and not parameters.startswith(("as", "the same")):
            assert set(contract.arguments()) == set(re.findall(r"`(\w+)`", parameters))
    del found[""]
    assert {name: getattr(builtin, python) for name, python in found.items()} == builtin.CONTRACTS


def test_every_field_is_in_the_table():
    named = re.findall(r"`(\w+)`", " ".join(row[0] for row in rows("The fields")))
    assert sorted(named) == sorted(builtin.MLA_ROW.__dataclass_fields__)


def test_links_lead_somewhere_and_the_picture_says_what_it_shows():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (DOCS / target).exists(), target
    (alt,) = re.findall(r"!\[(.*?)\]\(img/contract\.svg\)", PAGE)
    assert len(alt) > 200
    picture = ET.parse(DOCS / "img" / "contract.svg")  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    assert picture.getroot().get("role") == "img"
    assert picture.find(f"{space}title") is not None
    assert "prefers-color-scheme: dark" in picture.findtext(f"{space}style", "")
