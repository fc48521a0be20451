"""Check the whole zoo and print precision and recall of each invariant.

Run from the root of the repository: `python -m tests.zoo.table [--certify] [ID ...]`. Progress goes
to stderr. The exit code is 1 when a right twin is flagged, a fault is missed, or something stays
undecided, and 4 when the second solver contradicts an answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from kvproof.checkers.certify import Certificate
from kvproof.checkers.check import Checker
from kvproof.cli.certifying import CONTRADICTION
from kvproof.spec.errors import KvproofError
from kvproof.spec.invariants import PROVED_BY_CHECK
from kvproof.spec.verdict import Verdict

from tests.zoo.registry import PROOF, RUNS, Pair, pairs
from tests.zoo.runs import SEEN, judge

_ORDER = {PROOF: PROVED_BY_CHECK, RUNS: SEEN}
_HOW = {
    PROOF: "Decided by proof; held: PROVED.",
    RUNS: "Decided by runs; held: not broken in any run.",
}


@dataclass(frozen=True)
class Answer:
    """What was found about one writer: invariants broken and held, and what is undecided."""

    broken: frozenset[str]
    held: frozenset[str]
    undecided: tuple[str, ...] = ()


@dataclass
class Tally:
    """Counts by invariant, of the pairs that are decided in one way."""

    hit: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    false: Counter[str] = field(default_factory=Counter[str])
    held: Counter[str] = field(default_factory=Counter[str])

    def add(self, answer: Answer, expected: frozenset[str]) -> list[str]:
        """Count an answer; return what is wrong with it, in words."""
        self.hit.update(answer.broken & expected)
        self.missed.update(expected - answer.broken)
        self.false.update(answer.broken - expected)
        self.held.update(answer.held - answer.broken - expected)
        wrong = [f"{name} is missed" for name in sorted(expected - answer.broken)]
        wrong += [f"{name} is flagged" for name in sorted(answer.broken - expected)]
        return wrong + list(answer.undecided)

    def print(self, names: tuple[str, ...]) -> None:
        """Print a row for each invariant."""
        print(
            f"{'':6} {'found':>6} {'missed':>7} {'false':>6} {'held':>6} "
            f"{'precision':>10} {'recall':>7}"
        )
        for name in names:
            told = self.hit[name] + self.false[name]
            due = self.hit[name] + self.missed[name]
            precision = f"{self.hit[name] / told:.3f}" if told else "-"
            recall = f"{self.hit[name] / due:.3f}" if due else "-"
            print(
                f"{name:6} {self.hit[name]:6} {self.missed[name]:7} {self.false[name]:6} "
                f"{self.held[name]:6} {precision:>10} {recall:>7}"
            )


class Zoo:
    """Asks about one writer after another.

    Args:
        timeout: seconds for each question to the solver.
        certify: whether every UNSAT is asked again of a second solver.

    Raises KvproofError where the second solver is asked for and not installed.
    """

    def __init__(self, *, timeout: float, certify: bool) -> None:
        self.checker = Checker(drop=False, workers=1, timeout=timeout, certify=certify)
        self.certificate = Certificate()
        self._seen: set[str] = set()

    def ask(self, pair: Pair, function: str) -> Answer | None:
        """Return what is found about a writer; None where the same was asked before."""
        job = pair.job(function)
        key = repr((job.source, function, job.instance, pair.decided, pair.surplus))
        if key in self._seen:
            return None
        self._seen.add(key)
        return self._proof(pair, function) if pair.decided == PROOF else self._runs(pair, function)

    @property
    def writers(self) -> int:
        """Writers that were asked about, each in one configuration."""
        return len(self._seen)

    def _proof(self, pair: Pair, function: str) -> Answer:
        (done,) = self.checker.finish([self.checker.check(pair.job(function))])
        if done.certificate is not None:
            self.certificate = self.certificate.plus(done.certificate)
        named = {v: frozenset(r.invariant for r in done.results if r.verdict is v) for v in Verdict}
        loose = [f"{name} is undecided" for name in sorted(named[Verdict.UNKNOWN])]
        loose += [f"{name} is unsupported" for name in sorted(named[Verdict.UNSUPPORTED])]
        if done.error:
            loose.append(done.error)
        return Answer(named[Verdict.REFUTED], named[Verdict.PROVED], tuple(loose))

    def _runs(self, pair: Pair, function: str) -> Answer:
        found = judge(pair, function)
        return Answer(found.broken, frozenset(SEEN), found.undecided)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="precision and recall over the zoo")
    parser.add_argument("only", nargs="*", metavar="ID", help="corpus ids; all when none is given")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for each question")
    parser.add_argument("--certify", action="store_true", help="ask every UNSAT again of bitwuzla")
    options = parser.parse_args(arguments)
    chosen = [pair for pair in pairs() if not options.only or pair.corpus in options.only]
    if not chosen:
        parser.error(f"no pair of {', '.join(options.only)}")
    try:
        zoo = Zoo(timeout=options.timeout, certify=options.certify)
    except KvproofError as problem:
        print(f"zoo: error: {problem}", file=sys.stderr)
        return 2
    tallies = {PROOF: Tally(), RUNS: Tally()}
    faults = 0
    with zoo.checker:
        for number, pair in enumerate(chosen, 1):
            begun = time.perf_counter()
            wrong: list[str] = []
            for function, expected in ((pair.right, frozenset[str]()), (pair.wrong, pair.expected)):
                answer = zoo.ask(pair, function)
                if answer is not None:
                    found = tallies[pair.decided].add(answer, expected)
                    wrong += [f"{function}: {line}" for line in found]
            faults += bool(wrong)
            took = time.perf_counter() - begun
            said = "; ".join(wrong) or f"{', '.join(sorted(pair.expected))} found"
            print(f"[{number}/{len(chosen)}] {pair.name}: {said} ({took:.1f} s)", file=sys.stderr)
    return _report(chosen, tallies, zoo, faults=faults, certify=options.certify)


def _report(
    chosen: list[Pair], tallies: dict[str, Tally], zoo: Zoo, *, faults: int, certify: bool
) -> int:
    for decided, tally in tallies.items():
        count = sum(pair.decided == decided for pair in chosen)
        if count:
            print(f"\n{count} pairs. {_HOW[decided]}")
            tally.print(_ORDER[decided])
    ids = len({pair.corpus for pair in chosen})
    print(
        f"\n{len(chosen)} pairs over {ids} reports, {zoo.writers} writers; "
        f"pairs with something wrong: {faults}"
    )
    if certify:
        found = zoo.certificate
        for line in found.disagreements:
            print(f"zoo: error: the solvers disagree: {line}")
        print(
            f"bitwuzla: {found.asked} questions, {found.confirmed} confirmed, {found.open} not "
            f"answered, {len(found.disagreements)} contradictions"
        )
        if found.disagreements:
            return CONTRADICTION
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
