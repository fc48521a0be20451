"""Mutants: each kind is made, the proof kills or clears each, and a blind proof shows up."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from kvproof.checkers.child import Child
from kvproof.checkers.mutate import mutants
from kvproof.checkers.sampling import sample
from kvproof.checkers.ttir_parser import parse_ttir
from kvproof.cli.mutate import score, to_json
from kvproof.diff import mutants as module
from kvproof.diff.mutants import Laboratory, Mutation, cases, measure, mutate, right_jobs

from .jobs import job

KERNEL = """
module {
  tt.func public @kernel(%out: !tt.ptr<f32>, %src: !tt.ptr<f32>, %n: i32) {
    %c4 = arith.constant 4 : i32
    %zero = arith.constant dense<0.000000e+00> : tensor<4xf32>
    %pid = tt.get_program_id x : i32
    %base = arith.muli %pid, %c4 : i32
    %group = arith.divsi %base, %n : i32
    %lane = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %at = tt.splat %base : i32 -> tensor<4xi32>
    %off = arith.addi %at, %lane : tensor<4xi32>
    %wide = arith.extsi %off : tensor<4xi32> to tensor<4xi64>
    %twice = arith.addi %wide, %wide : tensor<4xi64>
    %end = tt.splat %n : i32 -> tensor<4xi32>
    %in = arith.cmpi slt, %off, %end : tensor<4xi32>
    %also = arith.cmpi sge, %off, %at : tensor<4xi32>
    %mask = arith.andi %in, %also : tensor<4xi1>
    %sp = tt.splat %src : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %s = tt.addptr %sp, %off : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %v = tt.load %s, %mask, %zero : tensor<4x!tt.ptr<f32>>
    %op = tt.splat %out : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %o = tt.addptr %op, %twice : tensor<4x!tt.ptr<f32>>, tensor<4xi64>
    %some = arith.cmpi sgt, %group, %c4 : i32
    scf.if %some {
      tt.store %o, %v, %mask : tensor<4x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""

KINDS = {
    "mask dropped", "load mask widened", "other dropped", "store dropped", "store duplicated",
    "conjunct dropped", "connective changed", "comparison changed", "operation changed",
    "operands swapped", "operand dropped", "lanes shifted", "constant off by one",
    "constant changed", "stride off by one", "widening removed", "floor division",
    "program id pinned", "program id swapped", "base swapped", "offset dropped", "branch flipped",
    "branch fixed",
}  # fmt: skip


def test_every_kind_of_mutant_is_made_and_differs_from_the_original():
    program = parse_ttir(KERNEL)
    made = list(mutants(program))
    assert {mutant.kind for mutant in made} == KINDS
    assert all(mutant.program != program for mutant in made)
    assert len({str(mutant.program) for mutant in made}) == len(made)
    assert program == parse_ttir(KERNEL)


def test_a_mutation_inside_a_region_leaves_the_rest_alone():
    program = parse_ttir(KERNEL)
    (dropped,) = [m for m in mutants(program) if m.change == "no tt.store"]
    names = [op.name for op in dropped.program.walk()]
    assert "tt.store" not in names
    assert names == [op.name for op in program.walk() if op.name != "tt.store"]


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    pytest.importorskip("triton")
    with Child() as child:
        made = job("masked")
        yield Laboratory(made, sample(child, made).units[0])


def test_every_mutant_of_a_right_writer_is_killed_or_proved_equivalent(laboratory):
    found = mutate(laboratory)
    assert len(found.outcomes) > 30
    assert found.count("survived") == found.count("undecided") == 0
    assert found.count("equivalent") > 0
    killed, total = score([found])
    assert killed == total > 25
    for outcome in found.outcomes:
        assert outcome.killers or outcome.run != "differs", outcome.mutant.change
    assert json.loads(json.dumps(to_json(found)))["writer"] == "masked"


def test_what_a_run_shows_is_right_for_the_original_and_for_a_fault(laboratory):
    assert laboratory.run(laboratory.programs) == "same"
    runs = {mutant.change: laboratory.run([mutant.program]) for _, mutant in laboratory.mutants()}
    assert runs["no tt.store"] == "differs"
    assert runs["tt.store without its mask"] == "differs"


def test_a_proof_that_is_blind_lets_mutants_survive(laboratory, monkeypatch):
    monkeypatch.setattr(module, "_status", lambda group, solving: "proved")
    outcomes = list(measure(laboratory, most=12))
    survivors = [outcome for outcome in outcomes if outcome.kind == "survived"]
    assert len(outcomes) == 12
    assert any(outcome.run == "differs" for outcome in survivors)
    # What is equivalent stores the same; only a load outside its argument still shows in a run.
    for outcome in outcomes:
        if outcome.equivalent and outcome.run == "differs":
            assert "tt.load" in outcome.mutant.change


def test_cases_keep_the_preconditions_and_hold_padding():
    made = job("masked")
    found = list(cases(made))
    assert any(0 in case.slots for case in found)
    for case in found:
        kept = [slot for slot in case.slots if slot]
        assert len(set(kept)) == len(kept)
        assert all(0 <= slot < case.pool for slot in case.slots)


def test_a_writer_that_is_wrong_as_it_is_has_no_mutants():
    pytest.importorskip("triton")
    wrong, right = job("masked_without_skip"), job("masked")
    with Child() as child:
        assert [made.job.writer for made in right_jobs([wrong, right], child)] == ["masked"]


def test_an_empty_mutation_scores_nothing():
    assert score([Mutation(job("masked"))]) == (0, 0)
