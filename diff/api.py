"""What runs are made of: a trial, the call prepared for it, an outcome, and the runner interface.

A `Trial` is plain data and JSON-able; it is what a campaign stores and shrinks. A `Preparer` turns
a job and a trial's dimensions into the launches of that configuration (captured once, then kept),
a `Runner` runs a trial on one implementation and compares all memory.

    preparer = Preparer(capturing)                   # kvproof.diff.prepare
    bench = open_runners(device="cpu")               # kvproof.diff.runner
    trial = find(trials(job, preparer), ...)         # kvproof.diff.cases
    prepared = preparer.prepare(job, trial.case)
    for runner in bench:
        why = runner.can_run(prepared, trial)
        outcome = skipped(runner.name, why) if why else runner.run(prepared, trial)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from ..checkers.family import Family
from ..spec.case import Case
from ..spec.job import Job
from .mismatch import Mismatch


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the tensors of a trial lie in memory; strides are the case's own.

    Args:
        cache_offset, source_offset, slot_offset: elements between the start of a tensor's part of
            its storage (after the guard) and the tensor's first element.
        split: the sources are column ranges of one storage, as `qkv.split` makes them. Needs
            equal row strides that hold all widths; ignored where they do not.
        packed: several caches lie side by side in one storage (K|V). Needs one place stride that
            holds all rows; ignored where it does not.
        guard: bytes before and after each tensor's part of its storage, a multiple of 16.
    """

    cache_offset: int = 0
    source_offset: int = 0
    slot_offset: int = 0
    split: bool = False
    packed: bool = False
    guard: int = 256

    def __repr__(self) -> str:
        plain = Layout()
        told = {k: v for k, v in asdict(self).items() if v != getattr(plain, k)}
        return f"Layout({', '.join(f'{k}={v!r}' for k, v in told.items())})"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One case and its layout; `repr` rebuilds it and fits one line.

    Args:
        case: the call (`kvproof.spec.case.Case`): dims, pool, slots, seed, payload.
        layout: where the tensors lie.
    """

    case: Case
    layout: Layout = field(default_factory=Layout)

    def __repr__(self) -> str:
        case, plain = self.case, Case(dims={}, pool=0, slots=())
        told = {k: getattr(case, k) for k in ("dims", "pool", "slots")}
        more = ("seed", "payload", "slot_stride", "scalars")
        told |= {k: getattr(case, k) for k in more if getattr(case, k) != getattr(plain, k)}
        text = f"Case({', '.join(f'{k}={v!r}' for k, v in told.items())})"
        at = "" if self.layout == Layout() else f", layout={self.layout!r}"
        return f"Trial(case={text}{at})"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        return {"case": self.case.to_json(), "layout": asdict(self.layout)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Trial:
        """Rebuild a trial from `to_json`'s form. Raises KeyError or TypeError on another."""
        return Trial(case=Case.from_json(data["case"]), layout=Layout(**data["layout"]))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A job at fixed dimensions, with the launches that its host function makes there.

    Args:
        job: the job with `job.instance.dims` all numbers; a trial's `case.dims` equal them.
        families: the launches as functions of the row count, for two rows and more.
        single: the launches of a call with one row, where they compile to other IR; else None.
        zero: one-line error of the call with no rows; None when it raises nothing.
        notes: what a reader must know of the captured path.
    """

    job: Job
    families: tuple[Family, ...]
    single: tuple[Family, ...] | None = None
    zero: str | None = None
    notes: tuple[str, ...] = ()

    def families_at(self, rows: int) -> tuple[Family, ...]:
        """Return the launches of a call with that many rows."""
        return self.single if rows == 1 and self.single is not None else self.families


#: Values of `Outcome.status`. "raised" is an exception of the host function, "failed" a fault of
#: the runner itself; a campaign adds "crashed" and "hung" for a child that ended.
STATUSES = ("agrees", "differs", "raised", "skipped", "failed", "crashed", "hung")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one runner made of one trial.

    Args:
        runner: its name.
        status: one of `STATUSES`.
        mismatches: one for each invariant and tensor that differs, the gravest first; empty unless
            the status is "differs".
        reason: why it was skipped, or what was raised, in one line.
    """

    runner: str
    status: str
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""

    @property
    def is_finding(self) -> bool:
        """Tell whether the trial shows a fault of the writer."""
        return self.status in ("differs", "raised", "crashed", "hung")

    @property
    def key(self) -> tuple[str, str]:
        """What tells one finding from another before shrinking: invariant and kernel line.

        The line is "" where the runner knows none. The shrunk trial completes the key.
        """
        if self.mismatches:
            return self.mismatches[0].invariant, self.mismatches[0].line
        return self.status, self.reason

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` reads it back."""
        return {
            "runner": self.runner,
            "status": self.status,
            "reason": self.reason,
            "mismatches": [mismatch.to_json() for mismatch in self.mismatches],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Outcome:
        """Rebuild an outcome from `to_json`'s form."""
        found = tuple(Mismatch.from_json(item) for item in data["mismatches"])
        return Outcome(
            runner=data["runner"], status=data["status"], mismatches=found, reason=data["reason"]
        )


class Runner(Protocol):
    """One implementation of a writer. Not for two threads at once."""

    name: str

    def can_run(self, prepared: Prepared, trial: Trial) -> str | None:
        """Return why this runner must not be asked for the trial, or None.

        One line: what is missing or known to be wrong in the runner, never a fault of the writer.
        """
        ...

    def run(self, prepared: Prepared, trial: Trial) -> Outcome:
        """Run the trial and compare every byte of every storage with what the contract says.

        An exception of the host function is an outcome ("raised"), a fault of the runner is one
        too ("failed"); only KeyboardInterrupt passes. A crash of this process does not.
        """
        ...

    def close(self) -> None:
        """End child processes and free memory. Safe to call again."""
        ...


def skipped(runner: str, reason: str) -> Outcome:
    """Return the outcome of a trial that a runner must not be asked for."""
    return Outcome(runner=runner, status="skipped", reason=reason)


def at_dims(job: Job, dims: Mapping[str, int]) -> Job:
    """Return the job at fixed dimensions. Raises ContractError when the row does not fit them."""
    instance = replace(job.instance, dims={**job.instance.dims, **dims})
    return replace(job, instance=instance, sizes=(), lift={})


#: Any Python callable that takes the host function's keyword arguments (torch tensors).
Writer = Callable[..., Any]

__all__ = [
    "STATUSES",
    "Layout",
    "Mismatch",
    "Outcome",
    "Prepared",
    "Runner",
    "Trial",
    "Writer",
    "at_dims",
    "skipped",
]
