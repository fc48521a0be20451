"""The replaying child: evaluator and interpreter side by side. Started by `replaying.Replays`."""

from __future__ import annotations

import base64
import pickle

from ..spec.errors import KvproofError
from . import child_main
from .domain import Unsupported
from .loading import Loaded, load_module
from .replay import Task, elsewhere, evaluate_case, judge

#: What the interpreter, which runs programs one after another in real memory, cannot show.
_UNSEEN = {
    "W4": "the interpreter does not show where an address wraps",
    "W7": "the interpreter does not show loads outside a tensor",
    "W8": "the interpreter does not show loads outside a tensor",
    "W13": "the interpreter runs programs one after another",
}


class ReplaySession(child_main.Session):
    """Answers one more request: to run a counterexample."""

    def replay(self, task: str) -> dict[str, dict[str, str]]:
        """Run a pickled `Task`, which only this process's own parent sends.

        Returns per runner {"outcome": "confirmed" | "not confirmed" | "skipped", "text": ...}.
        """
        made: Task = pickle.loads(base64.b64decode(task))  # noqa: S301 - from our own parent
        said, past = _evaluator(made)
        # A slot from past the table can be any number, and a store there ends the process.
        told = _said("skipped", "a slot is read past the table") if past else None
        return {"evaluator": said, "interpreter": told or self._interpreter(made)}

    def warm(self) -> str:
        """Import what a replay needs, beside the parent's work."""
        from . import evaluator, interpreting

        return f"{evaluator.__name__} {interpreting.__name__}"

    def _interpreter(self, task: Task) -> dict[str, str]:
        from .interpreting import interpret_case, refusal

        why = refusal(task)
        if why is not None:
            return _said("skipped", why)
        try:
            loaded = self._module(task)
            found = interpret_case(loaded, task)
            confirmed, text = judge(task, found)
            if not confirmed and task.invariant in _UNSEEN:
                return _said("skipped", _UNSEEN[task.invariant])
        except KvproofError as problem:
            return _said("skipped", str(problem))
        return _said("confirmed" if confirmed else "not confirmed", text)

    def _module(self, task: Task) -> Loaded:
        key = repr((task.job.source, sorted(task.job.switches.items(), key=str)))
        if key not in self._loaded:
            self._loaded[key] = load_module(task.job.source, dict(task.job.switches))
        return self._loaded[key]


def _said(outcome: str, text: str) -> dict[str, str]:
    return {"outcome": outcome, "text": text}


def _evaluator(task: Task) -> tuple[dict[str, str], bool]:
    """Return what the evaluator says, and whether the slot table is read past its end."""
    try:
        found = evaluate_case(task)
    except (KvproofError, Unsupported) as problem:
        return _said("skipped", str(problem)), False
    confirmed, text = judge(task, found)
    said = _said("confirmed" if confirmed else "not confirmed", text)
    return said | elsewhere(task, found), found.past


if __name__ == "__main__":
    child_main.Session = ReplaySession  # type: ignore[misc]
    child_main.main()
