"""The second solver: it agrees, a contradiction is an error of its own, and questions are text."""

from __future__ import annotations

import subprocess
import sys

import pytest
import z3
from kvproof.checkers import certify, floats
from kvproof.checkers.certify import Certificate, Certifier, ask
from kvproof.checkers.check import Checker
from kvproof.checkers.smtlib import text_of
from kvproof.checkers.solving import Solving
from kvproof.spec.errors import KvproofError
from kvproof.spec.verdict import Verdict

from .jobs import job

X, Y = z3.BitVecs("x y", 8)
WIDE = z3.SignExt(8, X) * z3.SignExt(8, Y)


@pytest.fixture
def second():
    pytest.importorskip("bitwuzla")


ONE_SIDED = {
    "overflow": (z3.BVMulNoOverflow(X, Y, True), WIDE <= 127),
    "underflow": (z3.BVMulNoUnderflow(X, Y), WIDE >= -128),
}


@pytest.mark.parametrize("side", ONE_SIDED)
def test_one_sided_products_keep_their_meaning_as_text(side, second):
    ours, plain = ONE_SIDED[side]
    assert ask(text_of([ours != plain]), timeout=20) == ("unsat", "")
    assert ask(text_of([z3.Not(ours)]), timeout=20)[0] == "sat"
    assert ask(text_of([ours]), timeout=20)[0] == "sat"


def test_the_text_names_nothing_that_is_z3s_own():
    value = z3.BitVec("it's", 16)
    total = floats.binary("addf", value, z3.BitVecVal(0x3F80, 16), "bf16")
    odd = z3.And([z3.Not(z3.BVMulNoOverflow(X, Y, True))])
    text = text_of([total != value, odd])
    for own in ("noovfl", "noudfl", "to_ieee_bv", "(and |", " it's"):
        assert own not in text
    assert z3.parse_smt2_string(text)
    assert "|it's|" in text


def test_floats_mean_the_same_to_both_solvers(second):
    value = z3.BitVec("v", 16)
    total = floats.binary("addf", value, z3.BitVecVal(0, 16), "bf16")
    number = z3.Not(floats.is_nan(value, "bf16"))
    changed = [number, total != value]
    assert ask(text_of([*changed, value != 0x8000]), timeout=60)[0] == "unsat"
    assert ask(text_of(changed), timeout=60)[0] == "sat"


def test_each_question_is_asked_once_and_counted(second, tmp_path):
    made = Certifier(folder=tmp_path / "deep" / "er")
    for _ in range(2):
        assert made.unsat([X < Y, Y < X]) is None
    assert made.take() == Certificate(asked=1, confirmed=1)
    assert made.take() == Certificate()
    (file,) = (tmp_path / "deep" / "er").glob("*.smt2")
    assert ask(file.read_text(), timeout=5) == ("unsat", "")


def test_a_contradiction_makes_the_answer_unknown_and_names_the_question(monkeypatch, second):
    monkeypatch.setattr(certify, "ask", lambda text, *, timeout: ("sat", ""))
    made = Certifier()
    answer = Solving(5, made).solve([X < Y, Y < X])
    assert answer.status == "unknown"
    assert "z3 says unsat, bitwuzla says sat" in answer.reason
    assert made.take().disagreements == (answer.reason,)


def test_no_answer_is_open_and_no_contradiction(monkeypatch, second):
    monkeypatch.setattr(certify, "ask", lambda text, *, timeout: ("unknown", "no answer in 1 s"))
    made = Certifier()
    assert Solving(5, made).solve([X < Y, Y < X]).status == "unsat"
    assert made.take() == Certificate(asked=1, open=1, reason="no answer in 1 s")


PLACE, TWIN = z3.BitVecs("place twin", 64)
FAR = [PLACE >= 0, PLACE < TWIN, TWIN < 1 << 40]


@pytest.mark.parametrize(
    ("stride", "integers", "contradicted"),
    ((1 << 30, True, False), (1 << 30, False, True), (0, True, True)),
)
def test_a_question_over_integers_is_asked_of_numbers_that_do_not_wrap(
    stride, integers, contradicted, second
):
    asked = [*FAR, PLACE * stride == TWIN * stride]
    made = Certifier()
    assert (made.unsat(asked, integers=integers) is not None) == contradicted
    assert made.take().confirmed == (not contradicted)


def test_what_is_satisfiable_is_not_asked_again(monkeypatch, second):
    monkeypatch.setattr(certify, "ask", lambda text, *, timeout: pytest.fail("asked"))
    assert Solving(5, Certifier()).solve([X < Y]).status == "sat"


def test_a_missing_solver_is_one_line(monkeypatch):
    monkeypatch.setattr(certify, "find_spec", lambda name: None)
    with pytest.raises(KvproofError, match=r"^--certify: bitwuzla is not installed"):
        Certifier()
    assert Certifier(second=False).take() == Certificate()


def test_a_text_that_the_second_solver_does_not_read_is_unknown(second):
    answer, reason = ask("(assert (nonsense x))", timeout=5)
    assert answer == "unknown"
    assert reason


@pytest.mark.slow
def test_every_proof_of_a_writer_is_confirmed(second, tmp_path):
    pytest.importorskip("triton")
    with Checker(drop=False, replay=False, certify=True, dump=str(tmp_path)) as checker:
        report = checker.check(job("masked"))
    assert {result.verdict for result in report.results} == {Verdict.PROVED}
    assert report.certificate is not None
    assert report.certificate.disagreements == ()
    assert report.certificate.confirmed == report.certificate.asked > 5
    assert len(list(tmp_path.glob("*.smt2"))) >= report.certificate.asked


def test_the_command_ends_with_4_where_the_solvers_disagree(tmp_path):
    pytest.importorskip("triton")
    pytest.importorskip("bitwuzla")
    program = (
        "import sys\n"
        "from kvproof.checkers import certify, check\n"
        "certify.ask = lambda text, *, timeout: ('sat', '')\n"
        "from kvproof.cli.main import app\n"
        "sys.argv = ['kvproof', 'check', sys.argv[1], '--contract', 'mla-row-norope', "
        "'--no-drop', '--invariant', 'W6', '--certify', '--out', sys.argv[2]]\n"
        "check.Checker.check_all = lambda self, jobs: map(self.check, list(jobs)[:1])\n"
        "app()\n"
    )
    target = "tests/fixtures/writers/styles.py::masked"
    made = subprocess.run(
        [sys.executable, "-c", program, target, str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 4, made.stderr[-600:]
    assert "the solvers disagree: question" in made.stderr
