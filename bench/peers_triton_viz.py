"""Adapter of triton-viz: its sanitizer, as the command `triton-sanitizer` puts it on every kernel.

The sanitizer checks addresses and stores nothing, so there is no memory to compare after it. With a
reference, the same call runs again under the tracer, which executes the kernel on Triton's
interpreter, and memory is compared after that.
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
    import triton_viz.wrapper  # noqa: F401

    torch.set_num_threads(1)
    warm(run)
    names = {name: version(name) for name in ("triton-viz", "torch", "triton", "z3-solver")}
    return {**names, "python": sys.version.split()[0]}


def run(file: str, function: str, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the sanitizer says, then what it and the reference say together."""
    import triton
    import triton_viz
    from triton_viz import wrapper

    plain = triton.jit
    memory = Memory(case)
    flagged = False
    triton.jit = wrapper.create_patched_jit(wrapper.sanitizer_wrapper)
    try:
        function_of(file, function)(**memory.arguments)
        yield CLEAN, ""
    except SystemExit:
        flagged = True
        yield FLAGGED, "the sanitizer reports an access out of bounds and ends the program"
    except Exception as problem:  # noqa: BLE001 - a kernel that the sanitizer cannot follow
        yield UNSUPPORTED, f"{type(problem).__name__}: {problem}"
    finally:
        triton.jit = plain
    if flagged:
        yield FLAGGED, "the sanitizer"
        return
    memory = Memory(case, guard=4096)
    triton.jit = wrapper.create_patched_jit(triton_viz.trace(client="tracer"))
    function_of(file, function)(**memory.arguments)
    different = memory.difference()
    yield (FLAGGED, different) if different else (CLEAN, "")
