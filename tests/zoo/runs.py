"""Deciding a pair by runs: a host function over cases, all of memory against the contract.

A fault is named by the pair's own inputs. Drawn cases show besides that a search finds it, and
that the right twin agrees everywhere; they name more, because a misplaced row may land on another's
place and be told as a fault of that one.

Cases are drawn as differential runs draw them (`kvproof.diff.cases`) and by plain shuffling, at the
pair's dimensions.
Host functions of torch alone are called as they are; a Triton kernel runs on the evaluator of its
IR. Naive reference and expected memory are held against each other first.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, partial
from random import Random
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, settings
from kvproof.diff.api import Outcome, Prepared, Runner, Trial
from kvproof.diff.cases import legal, trials
from kvproof.diff.classify import GRAVITY
from kvproof.diff.hosting import LoadedRunner
from kvproof.diff.prepare import LocalCapture, Preparer
from kvproof.diff.runner import EvaluatorRunner, ReferenceRunner
from kvproof.spec.case import Case
from kvproof.spec.job import Job

from tests.zoo.registry import HERE, Pair

#: Cases that the naive reference stores as well.
REFERENCED = 12
#: What runs can name: invariants, and a call with legal slots that raises.
SEEN = ("W1", "W2", "W4", "W6", "W7", "W8", "W9", "W10", "W12", "W13", "raised")
assert set(GRAVITY) <= set(SEEN)


@dataclass(frozen=True)
class Found:
    """What the cases show of one writer.

    Args:
        cases: how many ran.
        named: what the pair's inputs break -> the first of them, in words.
        drawn: the drawn cases that fail, in words.
        undecided: what keeps the runs from saying anything, in words.
    """

    cases: int
    named: dict[str, str]
    drawn: tuple[str, ...]
    undecided: tuple[str, ...] = ()

    @property
    def broken(self) -> frozenset[str]:
        """What the pair's inputs break; where only drawn cases fail, what these break."""
        return frozenset(self.named) or frozenset(text.partition(":")[0] for text in self.drawn)


class _Host(LoadedRunner):
    """Calls a pair's host function on the CPU, with the tensors as the pair's header says."""

    def __init__(self, pair: Pair) -> None:
        super().__init__("host", device="cpu")
        self.pair = pair
        self.sources = {s.source for s in pair.job(pair.right).instance.contract.segments}

    def called(self, job: Job) -> tuple[Callable[..., Any], AbstractContextManager[Any]]:
        """Return the function behind what dresses its arguments."""
        function, block = super().called(job)
        return partial(self._dressed, function), block

    def _dressed(self, function: Callable[..., Any], /, **arguments: Any) -> None:
        for name, value in arguments.items():
            if not isinstance(value, torch.Tensor):
                continue
            shape, strides = list(value.shape), list(value.stride())
            if name in self.sources:
                shape[0] += self.pair.surplus
            if len(shape) == 3:
                strides[1] = self.pair.middle
            arguments[name] = value.as_strided(shape, strides, value.storage_offset())
        function(**arguments)


@cache
def _preparer() -> Preparer:
    return Preparer(LocalCapture())


def cases(job: Job, count: int) -> list[Trial]:
    """Return that many legal trials, drawn at the job's own dimensions."""
    found: list[Trial] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(trials(job, dims=(job.instance.numbers(),)))
    def draw(trial: Trial) -> None:
        found.append(trial)

    draw()
    return found


def shuffled(job: Job, count: int) -> list[Trial]:
    """Return that many small trials with slots in any order, the same in every process.

    What Hypothesis draws depends on the constants of all modules that are loaded.
    """
    draw = Random(1)  # noqa: S311 - test data
    world, _ = job.instance.world_rank
    reserved, found = legal(job).reserved, list[Trial]()
    for _ in range(count):
        pool = draw.randint(4, min(8, job.instance.pool.most))
        free = [slot for slot in range(pool * world) if slot not in reserved]
        rows = draw.randint(1, min(4, job.instance.rows.most, len(free)))
        slots = tuple(draw.sample(free, rows))
        found.append(Trial(case=Case(dims=job.instance.numbers(), pool=pool, slots=slots)))
    return found


def _todo(pair: Pair, job: Job) -> list[Trial]:
    """Return a pair's inputs, then drawn cases of both kinds, with guards for surplus rows."""
    dims, pool = job.instance.numbers(), job.instance.pool.most
    found = [Trial(case=Case(dims=dims, pool=pool, slots=slots)) for slots in pair.inputs]
    found += shuffled(job, pair.cases) + cases(job, pair.cases)
    return [replace(trial, layout=replace(trial.layout, guard=1024)) for trial in found]


def launches(pair: Pair) -> bool:
    """Tell whether a pair's file has a Triton kernel."""
    tree = ast.parse((HERE / pair.file).read_text(encoding="utf-8"))
    names = [node.names[0].name for node in tree.body if isinstance(node, ast.Import)]
    return "triton" in names


def _bench(pair: Pair, job: Job, first: Trial) -> tuple[Runner, Prepared]:
    if launches(pair):
        return EvaluatorRunner(), _preparer().prepare(job, first.case)
    return _Host(pair), Prepared(job, ())


def judge(pair: Pair, function: str) -> Found:
    """Run one of a pair's writers over its cases."""
    job = pair.job(function)
    todo = _todo(pair, job)
    runner, prepared = _bench(pair, job, todo[0])
    reference = ReferenceRunner()
    named: dict[str, str] = {}
    drawn: list[str] = []
    undecided = Counter[str]()
    ran = 0
    for number, trial in enumerate(todo):
        if number < REFERENCED and reference.can_run(prepared, trial) is None:
            held = reference.run(prepared, trial)
            undecided.update([f"the naive reference {held.status}"] * (held.status != "agrees"))
        why = runner.can_run(prepared, trial)
        if why is not None:
            undecided[why] += 1
            continue
        outcome = runner.run(prepared, trial)
        ran += 1
        for name, text in _names(outcome).items():
            if number < len(pair.inputs):
                named.setdefault(name, text)
            else:
                drawn.append(f"{name}: {text}; {trial!r}")
        if outcome.status not in ("agrees", "differs", "raised"):
            undecided[f"{outcome.status}: {outcome.reason}"] += 1
    runner.close()
    lines = tuple(f"{text} ({count} cases)" for text, count in undecided.items())
    return Found(ran, named, tuple(drawn), lines)


def _names(outcome: Outcome) -> dict[str, str]:
    if outcome.status == "raised":
        return {"raised": outcome.reason}
    return {item.invariant: item.text for item in reversed(outcome.mismatches)}
