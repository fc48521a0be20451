"""Every pattern of 16 bits through a writer: the evaluator here, the compiled kernel on a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvproof.diff.exhaust import every_pattern
from kvproof.diff.hosting import LoadedRunner
from kvproof.diff.runner import EvaluatorRunner
from kvproof.spec.errors import KvproofError

from tests.jobs import job
from tests.trials import BARE, preparer, uncaptured


@pytest.mark.parametrize(
    ("function", "dtype", "wrong"), (("masked", "bf16", 0), ("plus_zero", "bf16", 255))
)
def test_a_copy_over_all_patterns(function, dtype, wrong):
    made = job(function, BARE, dtype=dtype, nope=512)
    trial = every_pattern(made)
    assert len(set(trial.case.payload.values())) == 1 << 16
    outcome = EvaluatorRunner().run(preparer().prepare(made, trial.case), trial)
    # -0.0, and all NaN but the one that the sum of a NaN and 0.0 is.
    assert sum(found.count for found in outcome.mismatches) == (wrong and 1 + 2 * 127 - 1)
    assert {found.invariant for found in outcome.mismatches} == ({"W10"} if wrong else set())


def test_a_format_of_32_bits_is_refused():
    with pytest.raises(KvproofError, match="cannot be exhausted"):
        every_pattern(job("masked", BARE, dtype="f32"))


@pytest.mark.gpu
@pytest.mark.parametrize(("function", "agrees"), (("masked", True), ("plus_zero", False)))
def test_a_copy_over_all_patterns_on_the_gpu(function, agrees):
    call, made = uncaptured(BARE, dtype="bf16", nope=512)
    call = replace(call, job=replace(made, function=function))
    outcome = LoadedRunner().run(call, every_pattern(made))
    assert (outcome.status == "agrees") == agrees
