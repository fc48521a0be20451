"""Pages of results from a table: promise, assumptions, folding, hostile names, what is open."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from kvproof.cli.pages.evidence import mark
from kvproof.cli.pages.page import Options, index_of, pages_of
from kvproof.cli.pages.promise import promise_of
from kvproof.cli.pages.rendering import render
from kvproof.cli.pages.text import code, html, markdown, slug
from kvproof.spec.builtin import MLA_ROW, MLA_ROW_FP8, MLA_ROW_SHARDED
from kvproof.spec.invariants import INVARIANTS
from kvproof.spec.verdict import Dropped, Verdict

from .fake_check import bundled, result
from .page_reports import Elements, NoChild, told
from .test_pages_drawings import job

JOB = bundled()[0]
HOSTILE = "<script>alert('1')</script>|`x`\"&"


def made(outcome, **options):
    """Return the files and the first page of an outcome, without any capture."""
    how = Options(**{"source": False, **options})
    pages = pages_of(outcome, NoChild(), how)
    return render(index_of(outcome, pages, [("eager", "no kernel")]), how), pages[0]


def proved(*names, **more):
    return [result(JOB, name, Verdict.PROVED, **more) for name in names]


def test_the_promise_is_said_from_the_data():
    promise = promise_of([("one", job(MLA_ROW).instance)])
    nope, rope = promise.where
    assert "`row * NOPE_STRIDE + col` of `cache_k_nope`" in nope
    assert "in `kv_buffer` at element `place * BUFFER_STRIDE + NOPE + col`" in rope
    assert any(line.startswith("Virtual slot 0 is never stored.") for line in promise.which)
    assert promise.what == "Bit for bit, -0.0 and NaN payloads included."
    assert [(one.name, one.values) for one in promise.symbols if one.name == "ROPE"] == [
        ("ROPE", "64")
    ]


@pytest.mark.parametrize(
    ("contract", "rank", "there", "not_there"),
    (
        (MLA_ROW, (1, 0), "Every accepted slot is stored", "another rank"),
        (MLA_ROW_SHARDED, (2, 0), "A row of another rank is dropped", "Every accepted slot"),
        (replace(MLA_ROW, skip=()), (1, 0), "No slot is skipped", "dropped without any store"),
    ),
)
def test_which_rows_are_stored_follows_the_rules(contract, rank, there, not_there):
    said = " ".join(promise_of([("one", job(contract, rank=rank).instance)]).which)
    assert there in said
    assert not_there not in said


def test_a_cast_is_no_copy():
    said = promise_of([("one", job(MLA_ROW_FP8).instance)]).what
    assert said.startswith("Cast to f8e4m3fn")
    assert "bit for bit" not in said.lower()


def test_names_of_a_user_stay_names():
    hostile = replace(JOB, writer=HOSTILE, label=HOSTILE, target=HOSTILE, unproved=(HOSTILE,))
    found = told(
        replace(result(hostile, "W6", Verdict.REFUTED), source=HOSTILE, detail=HOSTILE),
        job=hostile,
        notes=(HOSTILE,),
    )
    files, page = made(found)
    assert page.stem == "script-alert-1-script-x"
    for name, text in files.items():
        if name.endswith(".html"):
            assert "<script" not in text
            assert Elements(text).of("script") == []
            assert HOSTILE in Elements(text).words()
        if name.endswith(".md"):
            # Within code nothing is markup; a bar is escaped, so that no cell ends there.
            plain = re.sub(r"`[^`]*`", "", text)
            assert not re.search(r"(?<!\\)<script", plain)
            assert "\\<script\\>" in plain
            tables = [line for line in text.splitlines() if line.startswith("| 1 | ")]
            assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in tables)


def test_text_is_escaped_for_each_format():
    assert html("a < `b<`") == "a &lt; <code>b&lt;</code>"
    assert markdown("a|b `c|d` *e*\nf") == "a\\|b `c\\|d` \\*e\\* f"
    assert code("a`b") == "`a'b`"
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("***") == "writer"


def test_writers_of_like_names_have_pages_of_their_own():
    one, other = (told(*proved("W1"), writer=name) for name in ("a b", "a-b"))
    both = replace(one, reports=(*one.reports, *other.reports))
    stems = [page.stem for page in pages_of(both, NoChild(), Options())]
    assert len(set(stems)) == 2
    (index,) = pages_of(told(*proved("W1"), writer="index"), NoChild(), Options())
    assert index.stem != "index"


def test_assumptions_are_numbered_and_those_of_one_verdict_named():
    files, page = made(told(*proved("W1", assumes=("0 <= slot", "POOL <= 4", "odd")),
                            *proved("W2", assumes=("POOL <= 4",))))  # fmt: skip
    assert [(one.text, one.kind, one.of) for one in page.assumptions] == [
        ("0 <= slot", "caller", ("W1",)),
        ("POOL <= 4", "bound", ("W1", "W2")),
        ("odd", "approximation", ("W1",)),
    ]
    rows = {one.id: one for one in page.evidence}
    assert (rows["W1"].assumes, rows["W2"].assumes) == ((1, 2, 3), (2,))
    assert "| A2 | POOL \\<= 4 (a bound) |" in files["write-rows.md"]


def test_what_an_assumption_keeps_out_is_told_and_chance_is_not():
    lost = (
        Dropped("slots-distinct", Verdict.REFUTED, "two rows at slot 7 store the same bytes"),
        Dropped("slots-contiguous", Verdict.REFUTED, "rows at other rows' slots"),
        Dropped("slots<pool", Verdict.PROVED),
    )
    _, page = made(told(*proved("W13", dropped=lost, assumes=("slot < POOL * WORLD",))))
    without = {one.text: one.without for one in page.assumptions}
    assert without == {
        "slot < POOL * WORLD": "",
        "rows that are not skipped have distinct slots": "two rows at one slot store the same "
        "bytes (W13)",
        # It stands in no single question, and is assumed all the same.
        "the slot table has stride 1": "rows at other rows' slots (W13)",
    }


@pytest.mark.parametrize("verdict", tuple(Verdict))
def test_only_proved_is_green(verdict):
    _, page = made(told(*proved("W1"), result(JOB, "W6", verdict, detail="why")))
    green = verdict is Verdict.PROVED
    assert (page.headline.css == "ok") is green
    assert (mark(verdict).css == "ok") is green
    assert page.headline == mark(verdict)
    assert bool(page.findings) is not green


def test_a_configuration_that_failed_is_not_green():
    files, page = made(told(error="it cannot be called"))
    assert page.headline.css == "open"
    assert "it cannot be called" in files["write-rows.md"]
    assert "it cannot be called" in files["write-rows.html"]
    assert page.errors == ((JOB.label, "it cannot be called"),)


def test_configurations_fold_into_one_page():
    second = bundled()[1]
    one = told(*proved("W1", "W6"))
    other = told(result(second, "W1", Verdict.REFUTED), job=second)
    both = replace(one, reports=(*one.reports, *other.reports))
    (page,) = pages_of(both, NoChild(), Options())
    rows = {row.id: row for row in page.evidence}
    assert rows["W1"].said == "refuted in 1 of 2, proved in 1 of 2"
    assert rows["W6"].said == "proved in 1 of 2, not asked in 1"
    assert [config.verdicts.get("W6") for config in page.configurations] == [Verdict.PROVED, None]


def test_what_was_not_checked_is_said():
    files, page = made(told(*proved("W1", "W6"), job=replace(JOB, unproved=("a CUDA kernel",))))
    tail = files["write-rows.md"].partition("## 6. What was not checked")[2]
    asked = {"W1", "W6"}
    for name in INVARIANTS:
        assert (f"- {name} " in tail) is (name not in asked)
    assert "a CUDA kernel" in tail
    assert "Machine code" in tail
    assert "- eager: no kernel" in files["index.md"]
    assert page.figures[-1].lines == ("Not drawn: no child here.",)
    assert "Not drawn: no child here." in Elements(files["write-rows.html"]).words()


def test_a_claim_breaks_no_contract():
    sharded = job(MLA_ROW_SHARDED, rank=(2, 1))
    claim = "local slot 0 is never stored"
    found = told(
        result(sharded, "W6", Verdict.PROVED, statement="virtual slot 0 is never stored"),
        result(sharded, "W6", Verdict.REFUTED, statement=claim),
        job=sharded,
    )
    files, page = made(found)
    assert page.headline.css == "ok"
    assert page.findings == ()
    (shown,) = page.claims
    assert shown.title == "Local slot 0 is never stored"
    # Not the colour of a broken contract.
    assert (shown.mark.sign, shown.mark.css) == ("✘", "open")
    assert ("explained", "`kvproof explain mla-row-sharded`") in shown.facts
    assert "Further statements, which break no contract" in files["w.md"]
