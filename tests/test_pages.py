"""`kvproof docs`: pages of the bundled writers, checked for real, as they lie in the folder."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.dom import minidom

import pytest
from kvproof.cli.docs import write_pages
from kvproof.cli.pages.page import Options
from kvproof.spec.invariants import INVARIANTS
from rich.console import Console

from .page_reports import Elements, checked

VERSIONS = {"kvproof": "9.8.7", "triton": "6.5.4"}
RIGHT, FAULTY = "write-rows", "write-rows-without-skip"


@pytest.fixture(scope="module")
def outcome():
    return checked()


@pytest.fixture(scope="module")
def folder(outcome, tmp_path_factory):
    made = tmp_path_factory.mktemp("pages") / "out"
    assert write_pages(outcome, made, Options(versions=VERSIONS), console=Console(quiet=True)) == 2
    return made


@pytest.fixture(scope="module")
def stable(outcome, tmp_path_factory):
    made = tmp_path_factory.mktemp("stable") / "out"
    slow = replace(
        outcome,
        seconds=77.7,
        files={},
        reports=tuple(
            replace(
                report,
                seconds=55.5,
                results=tuple(replace(one, seconds=33.3) for one in report.results),
            )
            for report in outcome.reports
        ),
    )
    options = Options(source=False, volatile=False, versions={"triton": "6.5.4"})
    write_pages(slow, made, options, console=Console(quiet=True))
    return made


def html(folder: Path, stem: str) -> Elements:
    return Elements((folder / f"{stem}.html").read_text())


def test_every_invariant_has_its_row(folder):
    for stem in (RIGHT, FAULTY):
        ids = html(folder, stem).every("id")
        text = (folder / f"{stem}.md").read_text()
        for name, one in INVARIANTS.items():
            assert f"{name}-row" in ids
            assert f"| **{name} {one.title}** | " in text


def test_the_faulty_writer_shows_slot_0_and_the_line(folder):
    page = html(folder, FAULTY)
    hit = {"data-place": "0", "data-state": "bad"}
    assert any(hit.items() <= attrs.items() for attrs in page.of("rect"))
    assert any(attrs.get("data-slot") == "0" and attrs["class"] == "skip" for attrs in
               page.of("rect"))  # fmt: skip
    words = page.words()
    assert "The contract is broken: W1 frame, W6 skip set." in words
    assert "W6 skip set : a reserved slot is stored" in words
    assert "examples/zero_rope.py:59" in words
    assert "slot 0, row 0, column 0" in words
    assert "program 0 stores elements 0 to 511, which must not be stored here" in words
    assert "512 elements of slot 0 changed that must not" in words
    assert "A1" in words


def test_the_right_twin_shows_no_counterexample(folder):
    page = html(folder, RIGHT)
    words = page.words()
    assert "The contract is kept: 9 invariants, proved in the one configuration." in words
    assert "None: nothing that was asked is refuted or open." in words
    assert page.every("data-state") == []
    assert not any(attrs["class"].startswith("bad") for attrs in page.of("rect"))
    assert "must not" not in words
    # The reserved row is there, and nothing is stored for it.
    assert "row 2, slot 0 (skipped: no store): nothing is stored" in words


@pytest.mark.parametrize(("stem", "programs"), ((RIGHT, 5), (FAULTY, 6)))
def test_programs_store_whole_rows(folder, stem, programs):
    boxes = [a for a in html(folder, stem).of("rect") if "data-pid" in a]
    assert len(boxes) == programs
    assert {(a["data-first"], a["data-elements"]) for a in boxes} == {("0", "512")}
    assert {a["data-pid"] for a in boxes} == {"0", "1"}


def test_a_page_is_self_contained(folder):
    for path in folder.glob("*.html"):
        text = path.read_text()
        page = Elements(text)
        assert page.of("script", "link", "img", "iframe", "object", "base") == []
        assert not [name for _, attrs in page.found for name in attrs if name.startswith("on")]
        assert page.every("src") == []
        assert not re.search(r"https?:|//[a-z]|@import|javascript:", text)
        assert set(re.findall(r"url\((.)", text)) <= {"#"}


def test_links_and_labels_lead_somewhere(folder):
    for path in folder.glob("*.html"):
        page = Elements(path.read_text())
        ids = page.every("id")
        assert len(ids) == len(set(ids)), path.name
        for href in page.every("href"):
            assert href[1:] in ids if href.startswith("#") else (folder / href).is_file(), href
        for label in page.every("aria-labelledby"):
            assert set(label.split()) <= set(ids)
        for number in re.findall(r"url\(#([^)]+)\)", path.read_text()):
            assert number in ids
    for path in folder.glob("*.md"):
        for link in re.findall(r"\]\(([^)]+)\)", path.read_text()):
            assert (folder / link).is_file(), link


def test_drawings_can_be_heard(folder):
    drawings = list(folder.glob("*.svg"))
    assert {path.name for path in drawings} >= {f"{FAULTY}.W6.svg", f"{RIGHT}.row.svg"}
    for path in drawings:
        found = minidom.parseString(path.read_text())  # noqa: S318 - written by this test
        (svg,) = found.getElementsByTagName("svg")
        assert svg.getAttribute("role") == "img"
        title, desc = svg.getElementsByTagName("title")[0], svg.getElementsByTagName("desc")[0]
        assert title.firstChild.data.strip()
        assert len(desc.firstChild.data) > 40
        inside = [item.strip() for item in svg.getAttribute("aria-labelledby").split()]
        assert inside == [title.getAttribute("id"), desc.getAttribute("id")]
    for svg in html(folder, FAULTY).of("svg"):
        assert svg["role"] == "img"


def test_a_kernels_line_is_shown_unless_told_not_to(folder, stable):
    code = "tl.store(cache + slot[:, None] * cache_stride"
    assert code in html(folder, FAULTY).words()
    assert code in (folder / f"{FAULTY}.md").read_text()
    for path in stable.iterdir():
        assert "tl.store" not in path.read_text(), path.name


def test_times_and_versions_are_left_out_of_stable_pages(folder, stable):
    assert re.search(r"\d\.\d\d s<", (folder / f"{RIGHT}.html").read_text())
    assert "kvproof 9.8.7, triton 6.5.4" in html(folder, RIGHT).words()
    for path in stable.iterdir():
        text = path.read_text()
        assert not re.search(r"33\.3|55\.5|77\.7|9\.8\.7", text), path.name
        assert not re.search(r"\b\d+\.\d+ s\b", text), path.name
    # The compiler is told: it made the IR that the hashes are of.
    assert "triton 6.5.4 made it" in html(stable, RIGHT).words()


def test_the_counterexample_lies_beside_its_page(folder):
    cases = sorted(path.name for path in folder.glob("*.json"))
    assert cases == ["W1-write_rows_without_skip-1.json", "W6-write_rows_without_skip-1.json"]
    assert "kvproof replay W6-write_rows_without_skip-1.json" in html(folder, FAULTY).words()


def test_the_index_names_both(folder):
    page = html(folder, "index")
    assert {f"{RIGHT}.html", f"{FAULTY}.html"} <= set(page.every("href"))
    text = (folder / "index.md").read_text()
    assert f"| [write\\_rows]({RIGHT}.md) | 1 | ✔ | ✔ |" in text
    assert f"| [write\\_rows\\_without\\_skip]({FAULTY}.md) | 1 | ✘ | ✔ |" in text


def test_runs_are_never_made_up(folder):
    text = (folder / f"{RIGHT}.md").read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| \*\*W\d+ ", line)]
    assert len(rows) == len(INVARIANTS)
    assert all(line.endswith("| not run |") for line in rows)
