"""Adapter of ttsem: each launch inside `ttsem.sanitize.session()`, as its commands run a script.

`python -m ttsem.sanitize script.py` and `python -m ttsem.sanitize pytest` open the same session. A
fault stops the call. What the kernel computed is written back, so memory can be compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from peers_child import CLEAN, FLAGGED, UNSUPPORTED, Memory, function_of, warm


def absent() -> str:
    """Return why it cannot run on this machine; empty where it can."""
    return ""


def prepare() -> dict[str, str]:
    """Import what every case needs and run a kernel once; return versions."""
    import torch
    import ttsem.sanitize  # noqa: F401

    torch.set_num_threads(1)
    warm(run)
    names = {name: version(name) for name in ("ttsem", "torch", "triton")}
    return {**names, "python": sys.version.split()[0]}


def run(file: str, function: str, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what ttsem says, then what ttsem and the reference say together."""
    from ttsem import sanitize

    memory = Memory(case)
    try:
        with sanitize.session(source=file) as state:
            function_of(file, function)(**memory.arguments)
    except sanitize.KernelFault as fault:
        yield FLAGGED, f"{fault.fault.kind}: {fault}"
        yield FLAGGED, fault.fault.kind
        return
    except sanitize.Unjudged as stop:
        for _ in range(2):
            yield UNSUPPORTED, f"{stop.verdict}: {stop} {stop.unsupported}"
        return
    if state.races_unchecked:
        yield UNSUPPORTED, "a launch was too large for the race check"
    else:
        yield CLEAN, ""
    different = memory.difference()
    yield (FLAGGED, different) if different else (CLEAN, "")
