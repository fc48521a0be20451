"""The committed contract pages: whole, small, of no machine, and what `kvproof docs` makes."""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from kvproof.cli.main import app
from kvproof.engines.fetch import index_reachable
from typer.testing import CliRunner

from .page_reports import Elements

CONTRACTS = Path(__file__).resolve().parent.parent / "docs" / "contracts"
RELEASES = ("0.5.19", "0.5.23")
#: Bytes that all committed pages may take.
MOST = 1_500_000

pytestmark = pytest.mark.skipif(
    not CONTRACTS.is_dir(), reason="no checkout: the pages are not installed"
)


def folder(release: str) -> Path:
    return CONTRACTS / f"sglang-{release}"


@pytest.mark.parametrize("release", RELEASES)
def test_the_pages_are_whole(release):
    names = {path.name for path in folder(release).iterdir()}
    html = {name for name in names if name.endswith(".html")}
    assert {f"{name[:-5]}.md" for name in html} <= names
    assert len(html) == 7
    for name in html:
        page = Elements((folder(release) / name).read_text())
        hrefs = [href for href in page.every("href") if not href.startswith("#")]
        assert set(hrefs) <= names
        assert page.of("script", "img", "link") == []


@pytest.mark.parametrize("release", RELEASES)
def test_no_line_of_an_engine_is_in_a_page(release):
    for path in folder(release).iterdir():
        text = path.read_text()
        assert "tl.store" not in text, path.name
        assert "<pre" not in text, path.name


def test_all_pages_together_are_small():
    assert sum(path.stat().st_size for path in CONTRACTS.rglob("*") if path.is_file()) < MOST


@pytest.mark.parametrize(("release", "broken"), (("0.5.19", False), ("0.5.23", True)))
def test_the_writer_without_rope_lost_its_skip(release, broken):
    text = (folder(release) / "mla-row-norope.md").read_text()
    assert ("## 5. Counterexamples\n\n### ✘ W6 skip set" in text) is broken
    assert ("sglang/kernels/ops/kvcache/mla_buffer.py:114" in text) is broken
    assert ("The contract is kept" in text) is not broken


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES[-1:])
def test_the_pages_are_what_kvproof_makes(release, tmp_path):
    made_by = re.search(r"triton (\S+) made it", (folder(release) / "mla-row.md").read_text())
    assert made_by is not None
    if made_by[1] != version("triton"):
        pytest.skip(f"triton {version('triton')} makes other IR than {made_by[1]}, of the pages")
    out = tmp_path / "out"
    command = ["docs", f"sglang=={release}", "--out", str(out), "--no-source", "--stable"]
    got = CliRunner().invoke(app, command)
    if got.exit_code and not index_reachable():
        pytest.skip(f"offline: {got.stderr.splitlines()[-1]}")
    assert got.exit_code == 0, got.stderr
    old = {path.name: path.read_text() for path in folder(release).iterdir()}
    new = {path.name: path.read_text() for path in out.iterdir()}
    place = os.path.relpath(folder(release))
    again = f"kvproof docs sglang=={release} --out {place} --no-source --stable"
    assert sorted(new) == sorted(old), f"run `{again}`"
    differ = [name for name in old if new[name] != old[name]]
    assert differ == [], f"run `{again}` and read what changed"
