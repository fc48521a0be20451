"""kvproof on a pair: verdicts of both writers, and the counterexamples that peers are given."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kvproof.checkers.check import Checker
from kvproof.spec.case import Case
from kvproof.spec.verdict import Result
from kvproof.spec.verdict import Verdict as Proof
from peers_child import CLEAN, FLAGGED
from peers_jobs import THIN, largest
from peers_tally import Seen, Verdict

from tests.zoo.registry import Pair

#: Cases drawn for a pair that runs decide, and how many of them peers are given.
DRAWN, GIVEN = 48, 8


class Own:
    """kvproof, as `kvproof check` runs it, one writer after another.

    A pair that the zoo says no proof can take ("decided": "runs") is judged by the zoo's runs; its
    telling cases are small ones that these draw, and those that its header names.
    """

    def __init__(self) -> None:
        self.checker = Checker(drop=False, workers=1)

    def close(self) -> None:
        """End the child processes."""
        self.checker.close()

    def judge(self, pair: Pair) -> tuple[Verdict, tuple[Case, ...]]:
        """Return what is said of a pair, and the cases that show its fault."""
        if getattr(pair, "decided", "proof") == "runs":
            return self._runs(pair)
        right, _ = self._proof(pair, pair.right)
        wrong, results = self._proof(pair, pair.wrong)
        cases: list[Case] = []
        for result in results:
            if result.verdict is Proof.REFUTED and result.case and result.case not in cases:
                cases.append(result.case)
        return Verdict(pair.name, right, wrong), tuple(cases)

    def _proof(self, pair: Pair, function: str) -> tuple[Seen, Sequence[Result]]:
        begun = time.perf_counter()
        (done,) = self.checker.finish([self.checker.check(pair.job(function))])
        seconds = time.perf_counter() - begun
        named = {v: sorted({r.invariant for r in done.results if r.verdict is v}) for v in Proof}
        if named[Proof.REFUTED]:
            return Seen(FLAGGED, " ".join(named[Proof.REFUTED]), seconds), done.results
        if done.error:
            return Seen("error", done.error, seconds), ()
        for verdict in (Proof.UNKNOWN, Proof.UNSUPPORTED, Proof.VACUOUS):
            if named[verdict]:
                words = f"{verdict.value}: {' '.join(named[verdict])}"
                return Seen(verdict.value.lower(), words, seconds), done.results
        return Seen(CLEAN, "proved", seconds), done.results

    def _runs(self, pair: Pair) -> tuple[Verdict, tuple[Case, ...]]:
        from tests.zoo.runs import cases, judge

        seen: list[Seen] = []
        for function in (pair.right, pair.wrong):
            begun = time.perf_counter()
            found = judge(pair, function)
            seconds = time.perf_counter() - begun
            if found.broken:
                seen.append(Seen(FLAGGED, "runs: " + " ".join(sorted(found.broken)), seconds))
            elif found.undecided:
                seen.append(Seen("unknown", found.undecided[0], seconds))
            else:
                seen.append(Seen(CLEAN, "not broken in any run", seconds))
        job = pair.job(pair.wrong)
        drawn = [trial.case for trial in cases(job, DRAWN) if trial.case.rows]
        small = [case for case in drawn if largest(job, case) <= THIN][:GIVEN]
        dims = job.instance.numbers()
        told = [
            Case(dims=dims, pool=max(slots) + 1, slots=tuple(slots))
            for slots in getattr(pair, "inputs", ())
        ]
        return Verdict(pair.name, seen[0], seen[1]), (*small, *told)
