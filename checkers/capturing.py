"""What captures a call of a host function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..spec.call import CallRecipe, Switches
from ..spec.job import ModuleSource
from ..spec.launch import Capture

#: Beginning of the note on a tensor that torch wrote.
TORCH_WROTE = "torch itself wrote to"


class Capturing(Protocol):
    """What captures a call: `child.Child`."""

    def capture(
        self,
        source: ModuleSource,
        callable_name: str,
        recipe: CallRecipe,
        *,
        switches: Switches | None = None,
        lift: Mapping[str, str] | None = None,
    ) -> Capture:
        """Call a host function and return what it launched."""
        ...
