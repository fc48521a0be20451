"""The runners at hand."""

from __future__ import annotations

from .api import Runner


def open_runners(*, device: str = "cpu", names: tuple[str, ...] = ()) -> list[Runner]:
    """Return the runners of a device, the fastest first.

    Args:
        device: "cpu": evaluator, reference, interpreter; "cuda": compiled, host, then those.
        names: keep only these ("evaluator", "reference", "interpreter", "compiled", "host").

    Raises:
        KvproofError: an unknown name, or device "cuda" where torch finds no GPU.
    """
    raise NotImplementedError
