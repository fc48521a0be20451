"""Bursts: one walk over many variants says what a walk over each says."""

from __future__ import annotations

import pytest
from kvproof.diff.bursts import BurstRunner
from kvproof.diff.runner import EvaluatorRunner
from kvproof.diff.variants import variants
from kvproof.spec.errors import KvproofError

from tests.trials import BARE, ROPE, SHARDED, prepared, trial


@pytest.mark.parametrize(
    ("function", "contract", "more", "clean"),
    (
        ("masked", BARE, {}, True),
        ("tiled", BARE, {}, True),
        ("persistent", BARE, {}, True),
        ("halves", ROPE, {}, True),
        ("sharded", SHARDED, {"world": 2, "rank": 1}, True),
        ("masked_without_skip", BARE, {}, False),
        ("persistent_late", BARE, {}, False),
        ("halves_swapped", ROPE, {}, False),
        ("sharded_by_all", SHARDED, {"world": 2, "rank": 1}, False),
        ("plus_zero", BARE, {}, False),
        ("clearing", BARE, {}, False),
    ),
)
@pytest.mark.parametrize("rows", (1, 3))
def test_a_burst_says_what_single_runs_say(function, contract, more, clean, rows):
    call, made = prepared(function, contract, **more)
    single = EvaluatorRunner()
    batch = variants(made, trial(made, tuple(range(1, rows + 1))), 24, seed=2)
    found = BurstRunner(single).run(call, batch)
    wanted = {k: single.run(call, batch.at(k)) for k in range(24)}
    assert found == {k: outcome for k, outcome in wanted.items() if outcome.is_finding}
    assert clean == (not found) or (function == "plus_zero" and rows == 1)


def test_no_rows_and_temporaries():
    call, made = prepared("masked_refuses_none")
    batch = variants(made, trial(made, ()), 4)
    assert BurstRunner().run(call, batch)[0].status == "raised"
    call, made = prepared("masked")
    assert BurstRunner().run(call, variants(made, trial(made, ()), 4)) == {}
    large = variants(made, trial(made, (1,), pool=1 << 20), 4)
    with pytest.raises(KvproofError, match="too large for a batch"):
        BurstRunner().run(call, large)
