"""The runners at hand: the naive reference, the Triton interpreter, and a list of all of them."""

from __future__ import annotations

import base64
import pickle
import re
from functools import lru_cache

import numpy as np

from ..checkers.child import Child, ChildEnded
from ..spec.dtypes import dtype
from ..spec.errors import KvproofError
from ..spec.reference import expected_stores
from ..spec.rules import Cast
from .api import Outcome, Prepared, Runner, Trial
from .arena import Arena
from .classify import Memory, classify
from .evaluating import EvaluatorRunner
from .form import UNSIGNED, form_of
from .hosting import CallableRunner, HostRunner, LoadedRunner

#: Elements that the naive reference stores at most: it takes microseconds for each.
MOST_ELEMENTS = 1 << 17
#: Bytes of caches that the interpreter is given at most.
MOST_INTERPRETED = 16 << 20

_FLOAT = re.compile(r"arith\.(addf|subf|mulf|divf|maximumf|minimumf|truncf|extf)\b")
_SPLAT_MASK = re.compile(r"tt\.splat %\S+ : i1 ->")


class ReferenceRunner:
    """Runs the naive reference, element by element: holds the arena's arrays to the contract.

    A difference is a fault of kvproof, and the campaign says so.
    """

    name = "reference"

    def close(self) -> None:
        """Nothing is held."""

    def can_run(self, prepared: Prepared, trial: Trial) -> str | None:
        """Return None, or that the trial has too many elements."""
        count = trial.case.rows * sum(form_of(prepared).widths.values())
        return f"{count} elements are too many" if count > MOST_ELEMENTS else None

    def run(self, prepared: Prepared, trial: Trial) -> Outcome:
        """Store what the naive reference says, one element at a time, and compare all memory."""
        arena = Arena(prepared, trial)

        def element(arg: str, offset: int) -> int:
            region = arena.regions[arg]
            size = region.form.fmt.size
            at = region.start + offset * size
            return int.from_bytes(arena.before[region.storage][at : at + size].tobytes(), "little")

        stores = expected_stores(prepared.job.instance, trial.case, element)
        storages = {name: data.copy() for name, data in arena.before.items()}
        sparse: dict[str, dict[int, int]] = {arg: {} for arg in arena.sparse}
        for (arg, offset), wanted in stores.items():
            if arg in sparse:
                sparse[arg][offset] = wanted.bits
                continue
            region = arena.regions[arg]
            size = dtype(prepared.job.instance.dtypes[arg]).size
            typed = storages[region.storage].view(UNSIGNED[size])
            typed[region.start // size + offset] = wanted.bits
        handed = {
            arg: (
                np.array(sorted(held), dtype=np.int64),
                np.array(
                    [held[o] for o in sorted(held)],
                    dtype=UNSIGNED[arena.regions[arg].form.fmt.size],
                ),
            )
            for arg, held in sparse.items()
        }
        found = classify(arena, Memory(storages, handed))
        status = "differs" if found else "agrees"
        return Outcome(runner=self.name, status=status, mismatches=found)


@lru_cache(maxsize=1)
def _triton() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


class InterpreterRunner:
    """Runs the host function on Triton's interpreter, in a child process.

    What it is known to answer wrongly is declared (docs/semantics.md): arithmetic on bf16, casts
    to fp8, the dependency wait, and in 3.9 a vector mask with a scalar condition.

    Args:
        timeout: seconds that one trial may take.
    """

    name = "interpreter"

    def __init__(self, *, timeout: float = 60.0) -> None:
        self._child = Child(
            main="kvproof.diff.interpreter_main",
            env={"TRITON_INTERPRET": "1"},
            timeout=timeout,
        )
        self._fresh = True

    def close(self) -> None:
        """End the child."""
        self._child.close()

    def can_run(self, prepared: Prepared, trial: Trial) -> str | None:
        """Return None, or what the interpreter lacks or is known to be wrong at."""
        if not _triton():
            return "triton is not installed"
        job, form = prepared.job, form_of(prepared)
        texts = [family.launch.ttir for family in prepared.families_at(trial.case.rows)]
        if any("griddepcontrol" in text or "grid_dependency" in text for text in texts):
            return "the interpreter has no dependency wait"
        if isinstance(job.instance.contract.encode, Cast):
            return "the interpreter is wrong for fp8 casts"
        formats = {job.instance.dtypes[s.source] for s in job.instance.contract.segments}
        if "bf16" in formats and any(_FLOAT.search(text) for text in texts):
            return "the interpreter is wrong for bf16 arithmetic"
        if _triton().startswith("3.9.") and any(_SPLAT_MASK.search(text) for text in texts):
            return "the interpreter of triton 3.9 fails on a mask with a scalar condition"
        for arg in form.caches:
            needed = form.extent(arg, trial.case.pool)
            if needed > MOST_INTERPRETED:
                return f"the cache {arg} would take {needed / (1 << 30):,.1f} GiB"
        return None

    def run(self, prepared: Prepared, trial: Trial) -> Outcome:
        """Run the trial in the child. A child that ends is the outcome; another follows it.

        An earlier trial may have stored outside its tensors, which ends the child at a later one:
        a crash is only believed of a child that has run nothing else.
        """
        fresh, outcome = self._fresh, self._asked(prepared, trial)
        if outcome.status == "crashed" and not fresh:
            outcome = self._asked(prepared, trial)
        return outcome

    def _asked(self, prepared: Prepared, trial: Trial) -> Outcome:
        payload = base64.b64encode(pickle.dumps(prepared.job)).decode()
        try:
            made = self._child.request(
                "trial", prepared.job.function, job=payload, trial=trial.to_json()
            )
        except ChildEnded as end:
            self._fresh = True
            status = "hung" if end.how == "no answer" else "crashed"
            return Outcome(runner=self.name, status=status, reason=str(end))
        except KvproofError as problem:
            self._fresh = False
            return Outcome(runner=self.name, status="failed", reason=str(problem))
        self._fresh = False
        return Outcome.from_json(made)


def open_runners(*, device: str = "cpu", names: tuple[str, ...] = ()) -> list[Runner]:
    """Return the runners of a device, the fastest first.

    Args:
        device: "cpu": evaluator, reference, interpreter; "cuda": compiled, host, then those.
        names: keep only these ("evaluator", "reference", "interpreter", "compiled", "host").

    Raises:
        KvproofError: an unknown name, or device "cuda" where torch finds no GPU.
    """
    if device not in ("cpu", "cuda"):
        raise KvproofError(f"unknown device {device!r}", mend="use cpu or cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise KvproofError(
                "torch finds no CUDA device", where="device cuda", mend="use --device cpu"
            )
    known = {
        "compiled": LoadedRunner,
        "host": HostRunner,
        "evaluator": EvaluatorRunner,
        "reference": ReferenceRunner,
        "interpreter": InterpreterRunner,
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise KvproofError(f"unknown runner {unknown[0]!r}", mend=f"use one of {', '.join(known)}")
    on_gpu = ("compiled", "host")
    chosen = [name for name in known if device == "cuda" or name not in on_gpu]
    return [known[name]() for name in chosen if not names or name in names]


__all__ = [
    "CallableRunner",
    "EvaluatorRunner",
    "HostRunner",
    "InterpreterRunner",
    "LoadedRunner",
    "ReferenceRunner",
    "open_runners",
]
