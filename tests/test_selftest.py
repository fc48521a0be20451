"""Random programs: a slice agrees in every domain, and a planted fault is found and named."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from kvproof.checkers import bitvectors, optable, tensor_integers
from kvproof.checkers.optable import OPS, OpRow
from kvproof.diff import selftest, selftest_gpu
from kvproof.diff.program_rules import rules
from kvproof.diff.program_steps import KINDS, build
from kvproof.diff.program_strategy import programs
from kvproof.diff.programs import memory_of
from kvproof.diff.reality import compare, gpu_fault, interpreter_fault, run_torch
from kvproof.diff.semantics_page import page
from kvproof.diff.symbolic_programs import check
from kvproof.diff.tally import Tally

#: Steps that stand for one op: a kind by name, its first variant, new operands.
NAMES = ("if", "carry", "loop", *rules())


def one(name, variant=0, **more):
    options = {"lanes": (8,), "grid": (2, 1, 1), "seed": 3, **more}
    return build([(NAMES.index(name), variant, 0, 0, 0)], **options)


def test_every_op_of_the_table_can_be_drawn():
    assert {*rules(), "arith.bitcast"} >= set(OPS)


@pytest.mark.parametrize("name", rules())
def test_each_op_agrees_in_the_two_z3_algebras_and_in_torch(name):
    tally = Tally()
    for variant in range(len(rules()[name])):
        program = one(name, variant)
        assert check(program, run_torch(program), tally, points=2) == []
    assert sum(sum(found.values()) for found in tally.compared.values())


@settings(
    max_examples=40, deadline=None, suppress_health_check=tuple(HealthCheck), database=None,
    derandomize=True,
)  # fmt: skip
@given(programs())
def test_random_programs_agree(program):
    assert check(program, run_torch(program), Tally(), points=1) == []


def test_random_programs_agree_with_the_interpreter():
    pytest.importorskip("triton")
    report = selftest.run_cpu(programs=40, seconds=200, seed=11)
    assert report.disagreements == []
    assert report.tally.ran["interpreter"] >= 35
    assert sum(report.tally.compared["interpreter"].values()) > 5000


def test_a_fault_in_the_torch_domain_is_named_with_its_operands(monkeypatch):
    monkeypatch.setattr(tensor_integers, "divide", lambda op, a, b, w, report: a)
    found = _first("arith.remsi")
    assert found.label.startswith("arith.remsi")
    assert len(found.operands) == 2
    assert f"arith.remsi i8({found.operands[0]}, {found.operands[1]})" in str(found)


def test_a_fault_in_the_z3_domain_is_named(monkeypatch):
    row = OPS["arith.extui"]
    wrong = OpRow(row.name, row.meaning, OPS["arith.extsi"].apply)
    monkeypatch.setitem(optable.OPS, "arith.extui", wrong)
    monkeypatch.setattr(bitvectors.BitVectors, "sext", bitvectors.BitVectors.zext)
    found = _first("arith.extui")
    assert found.domain == "z3"
    assert found.label.startswith("arith.extui")


def _first(name):
    for seed in range(20):
        program = one(name, seed=seed)
        for found in check(program, run_torch(program), Tally(), points=4):
            return found
    raise AssertionError("nothing was found")


def test_a_wrong_run_is_found_and_a_known_fault_is_counted():
    program = one("arith.addi")
    want = run_torch(program)
    tally = Tally()
    assert compare(program, want, want, "gpu", tally) == []
    (label,) = {r.label for r in program.records if r.name == "arith.addi"}
    assert tally.compared["gpu"][label] == 16
    record = next(r for r in program.records if r.label == label)
    got = {name: bytearray(data) for name, data in want.items()}
    got["o8"][record.first] ^= 1
    (found,) = compare(program, want, got, "gpu", Tally())
    assert (found.label, found.where) == (label, "program 0, lane 0")
    known = Tally()
    only = {label: "known"}.get
    assert compare(program, want, got, "gpu", known, fault=only) == []
    assert known.faulty["gpu"][label] == 1


def test_known_faults_are_told_from_others():
    assert interpreter_fault("arith.addf bf16")
    assert interpreter_fault("arith.addf f32") is None
    assert interpreter_fault("tt.load f32 with a mask")
    assert interpreter_fault("tt.load f32") is None
    assert gpu_fault("arith.maxnumf f32", [("f32", 0x7F800001), ("f32", 0)])
    assert gpu_fault("arith.maxnumf f32", [("f32", 0x7FC00000), ("f32", 0)]) is None
    assert gpu_fault("tt.fp_to_fp f8E5M2 to bf16", [("f8E5M2", 0x7C)])
    assert gpu_fault("tt.fp_to_fp f8E5M2 to bf16", [("f8E5M2", 0x7B)]) is None


def test_the_ir_and_the_source_of_a_program_are_the_same_kernel():
    triton = pytest.importorskip("triton")
    assert triton
    runner = selftest.Interpreter()
    try:
        for name in ("if", "carry", "loop", "arith.divsi", "tt.mulhiui"):
            steps = [(NAMES.index(n), 5, 1, 0, 2) for n in (name, "arith.addi", "arith.muli")]
            program = build(steps, lanes=(4, 4), grid=(1, 2, 1), seed=5)
            got = runner.run(program)
            assert isinstance(got, dict), got
            fault = interpreter_fault
            assert compare(program, run_torch(program), got, "it", Tally(), fault=fault) == []
    finally:
        runner.close()


def test_a_program_that_the_interpreter_refuses_says_why():
    pytest.importorskip("triton")
    program = one("arith.addi")
    object.__setattr__(program, "source", "@triton.jit\ndef kernel(x_i8, o8):\n    tl.nothing()\n")
    runner = selftest.Interpreter()
    try:
        assert "nothing" in str(runner.run(program))
    finally:
        runner.close()


def test_a_failing_program_is_shrunk_to_the_steps_that_matter():
    steps = [(NAMES.index(n), 1, 0, 0, 0) for n in ("arith.addi", "arith.xori", "arith.muli")]
    program = build(steps, lanes=(8,), grid=(1, 1, 1), seed=1)

    def fails(trial):
        labels = [r.label for r in trial.records if r.name == "arith.xori"]
        return selftest.Disagreement("gpu", labels[0], (), "0", "1") if labels else None

    found = selftest_gpu.shrink(program, fails)
    assert found is not None
    assert [NAMES[step[0]] for step in found[0].steps] == ["arith.xori"]
    assert selftest_gpu.shrink(program, lambda trial: None) is None


def test_the_page_has_a_row_for_every_op_and_reads_its_counts_back():
    tally = Tally()
    program = one("arith.addi")
    tally.holds(program)
    check(program, run_torch(program), tally)
    text = page(Tally.from_json(json.loads(json.dumps(tally.to_json()))), {"triton": "1"})
    assert all(f"| `{name}` |" in text for name in OPS)
    (row,) = [line for line in text.splitlines() if line.startswith("| `arith.addi` |")]
    assert "| i8 | 1 |" in row


def test_the_command_refuses_another_device_and_a_file_that_is_no_report(tmp_path):
    file = tmp_path / "counts.json"
    file.write_text("{}", encoding="utf-8")
    for arguments in (["--device", "tpu"], ["--programs", "0", "--with", str(file)]):
        made = subprocess.run(
            [sys.executable, "-m", "kvproof.cli.main", "selftest", *arguments],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert made.returncode == 2
        assert len(made.stderr.strip().splitlines()) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_random_programs_agree_on_the_gpu():
    made = selftest_gpu.work(60, 1, 200)
    assert made["wrong"] == []
    assert made["tally"]["ran"]["gpu"] > 40


def test_outputs_are_filled_before_a_launch():
    assert set(memory_of(one("arith.addi"))["o8"]) == {0xC3}
    assert KINDS[True] < KINDS[False]
