"""The CUDA graph scenario: its trials everywhere, its replays on a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from kvproof.diff.graph import PADDED, REAL, replay_trial, run_graph
from kvproof.spec.errors import KvproofError

from tests.jobs import job
from tests.trials import BARE, ROPE


@pytest.mark.parametrize("real", (0, 1, 64))
def test_a_replay_s_padding_aims_at_the_reserved_slot_and_holds_nan(real):
    made = job("masked", ROPE)
    case = replay_trial(made, real, seed=4).case
    assert case.rows == PADDED
    assert list(case.slots[real:]) == [0] * (PADDED - real)
    assert len(set(case.slots[:real]) - {0}) == real
    rows = {row for _, row, _ in case.payload}
    assert rows == set(range(real, PADDED))
    assert set(case.payload.values()) <= {0x7FC00000}


def test_slots_change_from_replay_to_replay():
    made = job("masked", BARE)
    assert replay_trial(made, 64, seed=1).case.slots != replay_trial(made, 64, seed=2).case.slots


def test_without_a_gpu_it_is_refused_in_one_line():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(KvproofError, match="finds no CUDA device"):
        run_graph(job("masked", BARE))


@pytest.mark.gpu
@pytest.mark.parametrize(("function", "broken"), (("masked", False), ("masked_without_skip", True)))
def test_replays_keep_the_reserved_slot_or_show_that_they_do_not(function, broken):
    report = run_graph(replace(job("masked", BARE), function=function))
    assert report.captured
    bad = [replay.real for replay in report.replays if replay.outcome.mismatches]
    assert bad == ([real for real in REAL if real < PADDED] if broken else [])


@pytest.mark.gpu
def test_a_writer_that_bakes_its_slots_into_the_graph_is_seen():
    report = run_graph(replace(job("masked", BARE), function="baked", writer="baked"))
    assert report.captured
    assert all(replay.outcome.mismatches for replay in report.replays)
