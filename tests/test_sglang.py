"""The released MLA writers of SGLang: verdicts that were explained by reading the kernels.

Fetches released files; skips with a reason when the package index cannot be reached.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kvproof.checkers.check import Checker
from kvproof.engines.fetch import index_reachable
from kvproof.engines.jobs import engine_jobs
from kvproof.spec.errors import KvproofError
from kvproof.spec.job import Job
from kvproof.spec.verdict import Result, Verdict

pytestmark = pytest.mark.engine


def jobs(version: str, *, symbolic: bool = False) -> list[Job]:
    """Return a release's jobs, from the cache or the index."""
    try:
        return engine_jobs(f"sglang=={version}", symbolic=symbolic)
    except KvproofError as problem:
        if index_reachable():
            raise
        pytest.skip(f"offline: {problem}")


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker(drop=False, workers=1) as made:
        yield made


def pick(found: list[Job], writer: str, **config: object) -> Job:
    """Return the first job of a writer with these entries in its configuration."""
    for job in found:
        entries = job.instance.config
        if job.writer == writer and all(entries.get(k) == v for k, v in config.items()):
            return job
    raise LookupError(writer, config)


def check(checker: Checker, job: Job) -> list[Result]:
    report = checker.check(job)
    assert report.error is None, report.error
    return list(checker.finish([report])[0].results)


def refuted(found: list[Result]) -> set[str]:
    assert all(result.verdict.decided for result in found)
    return {result.invariant for result in found if result.verdict is Verdict.REFUTED}


@pytest.mark.parametrize(
    ("config"),
    (
        {"dtype": "bf16", "nope": 512, "loc_dtype": "i64"},
        {"dtype": "f16", "nope": 512, "loc_dtype": "i64"},
        {"dtype": "u8", "nope": 528, "loc_dtype": "i64"},
        {"dtype": "bf16", "nope": 528, "loc_dtype": "i32"},
    ),
)
def test_the_rope_writer_is_proved(checker: Checker, config: dict[str, object]) -> None:
    found = check(checker, pick(jobs("0.5.23"), "mla-row", **config))
    assert refuted(found) == set()
    assert len(found) == 9


def test_the_zero_rope_writer_stores_slot_0(checker: Checker) -> None:
    found = check(checker, pick(jobs("0.5.23"), "mla-row-norope", dtype="bf16"))
    assert refuted(found) == {"W1", "W6"}
    for result in found:
        if result.invariant in ("W1", "W6"):
            assert (result.slot, result.row) == (0, 0)
            assert result.source.endswith("mla_buffer.py:114")
            assert result.replay == {"evaluator": "confirmed", "interpreter": "confirmed"}


def test_the_zero_rope_writer_stores_other_ranks_rows(checker: Checker) -> None:
    found = check(checker, pick(jobs("0.5.23"), "mla-row-norope-sharded", world=2, rank=0))
    (owned,) = [result for result in found if result.invariant == "W12"]
    assert owned.verdict is Verdict.REFUTED
    assert owned.slot == 1
    assert owned.replay == {"evaluator": "confirmed", "interpreter": "confirmed"}


@pytest.mark.parametrize(("rank", "local"), ((0, Verdict.PROVED), (1, Verdict.REFUTED)))
def test_local_slot_0_is_another_statement(checker: Checker, rank: int, local: Verdict) -> None:
    found = check(checker, pick(jobs("0.5.23"), "mla-row-sharded", world=2, rank=rank))
    told = {result.statement: result for result in found if result.invariant == "W6"}
    assert told["virtual slot 0 is never stored"].verdict is Verdict.PROVED
    assert told["local slot 0 is never stored"].verdict is local
    if local is Verdict.REFUTED:
        assert told["local slot 0 is never stored"].slot == 1


@pytest.mark.parametrize(
    ("dtype", "slots", "broken"),
    (
        ("u8", "i64", set()),
        ("u8", "i32", {"W4"}),
        ("f32", "i64", {"W10"}),
        ("bf16", "i64", {"W10"}),
    ),
)
def test_the_scale_writer(checker: Checker, dtype: str, slots: str, broken: set[str]) -> None:
    job = pick(jobs("0.5.23"), "mla-scale", dtype=dtype, loc_dtype=slots, nope=512)
    found = check(checker, job)
    assert refuted(found) == broken
    for result in found:
        if result.verdict is Verdict.REFUTED and result.invariant == "W4":
            assert (result.safe_up_to, result.safe_of) == (3_728_270, "slot")
        if result.verdict is Verdict.REFUTED and result.invariant == "W10":
            assert result.case is not None
            top = 0x80000000 if dtype == "f32" else 0x8000
            assert list(result.case.payload.values()) == [top]


@pytest.mark.parametrize(("version", "broken"), (("0.5.19", set()), ("0.5.18", {"W1", "W6"})))
@pytest.mark.parametrize("writer", ("mla-row", "mla-row-norope"))
def test_the_skip_came_with_0_5_19(
    checker: Checker, version: str, broken: set[str], writer: str
) -> None:
    assert refuted(check(checker, pick(jobs(version), writer, dtype="bf16"))) == broken


def test_all_widths_and_strides_at_once(checker: Checker) -> None:
    found = check(checker, pick(jobs("0.5.23", symbolic=True), "mla-row", row="513..1024"))
    assert refuted(found) == {"W4"}
    (wide,) = [result for result in found if result.invariant == "W4"]
    assert (wide.safe_up_to, wide.safe_of) == (32_768, "rows")
