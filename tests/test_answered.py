"""An answer serves the next equal question, and no other."""

from __future__ import annotations

import z3
from kvproof.checkers.answered import Answer, Answered
from kvproof.checkers.solving import Solving

X, Y = z3.BitVecs("x y", 64)


def test_an_equal_question_is_asked_once():
    solving = Solving(5)
    assert solving.solve([X < Y, Y < X]).status == "unsat"
    again = solving.solve([z3.BitVec("y", 64) < X, X < Y])
    assert (again.status, again.seconds, solving.queries) == ("unsat", 0.0, 1)


def test_one_term_less_is_another_question():
    solving = Solving(5)
    assert solving.solve([X < Y, Y < X]).status == "unsat"
    assert solving.solve([X < Y]).status == "sat"
    assert solving.queries == 2


def test_a_model_is_kept_with_its_answer():
    solving = Solving(5)
    first = solving.solve([X == 7])
    kept = solving.solve([X == 7])
    assert kept.model.eval(X).as_long() == first.model.eval(X).as_long() == 7


def test_an_unknown_is_asked_again():
    answered = Answered()
    answered.keep([X < Y], Answer("unknown", reason="timeout"))
    assert answered.find([X < Y]) is None


def test_integers_answer_no_question_over_bits():
    answered = Answered()
    answered.keep([X + 1 > X], Answer("unsat"), integers=True)
    assert answered.find([X + 1 > X]) is None
    assert answered.find([X + 1 > X], integers=True) is not None


def test_the_oldest_question_goes_first_and_terms_live_as_long_as_their_entry():
    answered = Answered(limit=2)
    for number in range(40):
        # Without a holder, z3 would hand a dead node's number to the next term.
        answered.keep([number == X], Answer("sat" if number % 2 else "unsat"))
    assert [answered.find([number == X]) is None for number in (37, 38, 39)] == [True, False, False]
    assert answered.find([X == 38]).status == "unsat"
    assert answered.find([X == 39]).status == "sat"


def test_checkers_that_share_answers_share_them():
    shared = Answered()
    first, second = Solving(5, answered=shared), Solving(5, answered=shared)
    first.solve([X < Y])
    second.solve([X < Y])
    assert (first.queries, second.queries) == (1, 0)
