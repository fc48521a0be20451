"""The Markdown summary of `kvproof check`."""

from __future__ import annotations

from pathlib import Path

from kvproof.cli.markdown import LIMIT
from kvproof.spec.verdict import Verdict

from .fake_check import proved, report, result
from .report_runs import ZERO_ROPE, of, run

__all__ = ["run"]


def test_the_summary_puts_assumptions_first_then_the_table_then_findings(run):
    run("--markdown=o.md")
    text = Path("o.md").read_text()
    order = [
        "### ✘ kvproof: 1 broken promise in `examples`",
        "**Assuming** `0 <= slot`; `POOL <= 1,024`",
        "| `write_rows` | 8 | ✔ | ✔ |",
        "| `write_rows_without_skip` | 8 | ✔ | ✘ |",
        "n: configurations · ✔ proved · ✘ refuted",
        "#### ✘ W6 skip set: a reserved slot is stored",
        f"`{ZERO_ROPE}:59`: `tl.store(cache + slot[:, None] * cache_stride",
        "- at: slot 0, row 0, column 0; nope 512 bf16",
        "- reproduce: `kvproof replay .kvproof/W6-write_rows_without_skip-1.json`",
        "2 writers, 16 configurations, 32 promises: ✔ 24 proved, ✘ 8 refuted",
        "kvproof 0.1.0, triton ",
    ]
    at = [text.find(part) for part in order]
    assert -1 not in at
    assert at == sorted(at)
    assert "\n\n\n" not in text


def test_the_summary_says_when_all_is_proved_and_when_nothing_is(run):
    run("--markdown=o.md", answer=proved)
    assert Path("o.md").read_text().startswith("### ✔ kvproof: everything is proved in")
    run("--markdown=o.md", answer=lambda job: report(job, error="it does not compile"))
    text = Path("o.md").read_text()
    assert text.startswith("### ? kvproof: 16 not checked in")
    assert "- `write_rows`: it does not compile (nope 512" in text


def test_a_summary_that_is_too_long_counts_the_findings_left_out(run):
    def answer(job):
        many = [
            result(job, "W6", Verdict.UNKNOWN, source=f"k.py:{line}", detail="why " * 100)
            for line in range(60)
        ]
        return report(job, *many)

    run("--markdown=o.md", answer=answer)
    text = Path("o.md").read_text()
    shown = text.count("#### ?")
    assert 0 < shown < 120
    assert LIMIT - 1500 < len(text.encode()) < LIMIT
    assert f"**{120 - shown} findings are left out here: they do not fit a comment.**" in text


def test_a_summary_of_many_long_errors_counts_the_rest(run):
    names = iter(range(1000))

    def answer(job):
        broken = [
            result(job, "W6", Verdict.UNKNOWN, writer=f"{next(names)} {'w' * 700}")
            for _ in range(10)
        ]
        return report(job, *broken, error=f"{next(names)} {'why ' * 140}")

    run("--markdown=o.md", answer=answer)
    text = Path("o.md").read_text()
    assert LIMIT - 3000 < len(text.encode()) < LIMIT
    assert "and 142 more writers" in text  # the two of the request have no result
    assert "are left out here" in text


def test_text_of_others_stays_text_in_the_summary(run):
    said = "a | b <img> `c` @someone #1 *x*"
    run("--markdown=o.md", answer=of(Verdict.UNKNOWN, detail=said))
    text = Path("o.md").read_text()
    assert "- why: a \\| b &lt;img\\> \\`c\\` @<!-- -->someone #<!-- -->1 \\*x\\*" in text
