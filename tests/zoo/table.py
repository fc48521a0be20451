"""Check the whole zoo and print precision and recall of each invariant.

Run from the root of the repository: `python -m tests.zoo.table [--timeout SECONDS]`. The exit code
is 1 when a right twin is flagged, a fault is missed, or something stays undecided.
"""

from __future__ import annotations

import argparse
from collections import Counter

from kvproof.checkers.check import Checker
from kvproof.spec.invariants import PROVED_BY_CHECK
from kvproof.spec.verdict import Verdict

from tests.zoo.registry import pairs


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="precision and recall over the zoo")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for each question")
    options = parser.parse_args()
    hit, missed, false = Counter[str](), Counter[str](), Counter[str]()
    proved, open_ones = Counter[str](), 0
    seen: dict[str, tuple[set[str], set[str], set[str]]] = {}
    with Checker(drop=False, workers=1, timeout=options.timeout) as checker:
        for pair in pairs():
            for function, expected in ((pair.right, frozenset[str]()), (pair.wrong, pair.expected)):
                job = pair.job(function)
                key = repr((job.source, function, job.instance))
                if key not in seen:
                    report = checker.check(job)
                    (done,) = checker.finish([report])
                    if done.error:
                        print(f"{pair.name} {function}: {done.error}")
                    verdicts = {
                        verdict: {r.invariant for r in done.results if r.verdict is verdict}
                        for verdict in Verdict
                    }
                    loose = verdicts[Verdict.UNKNOWN] | verdicts[Verdict.UNSUPPORTED]
                    lone = loose | ({"error"} if done.error else set())
                    seen[key] = verdicts[Verdict.REFUTED], verdicts[Verdict.PROVED], lone
                    open_ones += len(lone)
                elif function == pair.right:
                    continue
                broken, held, _ = seen[key]
                hit.update(broken & expected)
                missed.update(expected - broken)
                false.update(broken - expected)
                proved.update(held - broken - expected)
    print(
        f"{'':4} {'found':>6} {'missed':>7} {'false':>6} {'proved':>7} "
        f"{'precision':>10} {'recall':>7}"
    )
    for name in PROVED_BY_CHECK:
        told, due = hit[name] + false[name], hit[name] + missed[name]
        precision = f"{hit[name] / told:.3f}" if told else "-"
        recall = f"{hit[name] / due:.3f}" if due else "-"
        print(
            f"{name:4} {hit[name]:6} {missed[name]:7} {false[name]:6} {proved[name]:7} "
            f"{precision:>10} {recall:>7}"
        )
    print(f"{len(pairs())} pairs, {len(seen)} jobs, {open_ones} undecided")
    return 1 if sum(missed.values()) or sum(false.values()) or open_ones else 0


if __name__ == "__main__":
    raise SystemExit(main())
