"""A campaign's worker: runs slices of work in a process of its own. Started by `campaign`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from hypothesis import configuration

from ..checkers import child_main
from .api import Runner
from .orders import Order, packed, unpacked
from .prepare import LocalCapture, Preparer
from .runner import open_runners
from .slicing import Slice

#: Made before this module's own session takes the place of the plain one, which captures.
_PREPARER = Preparer(LocalCapture())


class FuzzSession(child_main.Session):
    """Answers two more requests: to open the runners, and to run a slice."""

    def __init__(self) -> None:
        """Start without runners; `open` brings them."""
        super().__init__()
        self._runners: list[Runner] = []

    def open(self, device: str, home: str) -> list[str]:
        """Open the runners of a device, once, and return their names.

        Hypothesis keeps its own caches in the folder `home`. Raises KvproofError as
        `open_runners` does.
        """
        if not self._runners:
            configuration.set_hypothesis_home_dir(Path(home))
            # What is slow to import must not count as the time of the first trial.
            for name in ("torch", "triton"):
                import_module(name)
            self._runners = open_runners(device=device)
        return [runner.name for runner in self._runners]

    def slice(self, order: str, device: str, home: str) -> str:
        """Run a packed `Order` and return the packed `Report`."""
        self.open(device, home)
        made: Order = unpacked(order)
        return packed(Slice(made, _PREPARER, self._runners).run())


if __name__ == "__main__":
    child_main.Session = FuzzSession
    child_main.main()
