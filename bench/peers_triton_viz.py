"""Adapter of triton-viz, and of TileLens, its name since: their sanitizer, put on every kernel.

That is what the commands `triton-sanitizer` and `tile-sanitizer` do. The sanitizer checks addresses
and stores nothing, so there is no memory to compare after it. With a reference, the same call runs
again under the tracer, which executes the kernel on Triton's interpreter, and memory is compared
after that. TileLens's race detector records accesses and judges none, so it has no part here.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from peers_child import CLEAN, FLAGGED, UNSUPPORTED, Memory, function_of, warm

PACKAGE = os.environ.get("PEERS_PACKAGE", "triton_viz")


def absent() -> str:
    """Return why it cannot run on this machine; empty where it can."""
    return ""


def prepare() -> dict[str, str]:
    """Import what every case needs and run a kernel once; return versions."""
    import torch

    torch.set_num_threads(1)
    warm(run)
    distribution = PACKAGE.replace("_", "-")
    names = {name: version(name) for name in (distribution, "torch", "triton", "z3-solver")}
    return {**names, "python": sys.version.split()[0]}


def traced(wrapper: Any, plain: Any, client: Any) -> Any:
    """Return what stands in for `triton.jit` under one of the package's commands."""
    if PACKAGE == "tilelens":
        return wrapper.create_patched_jit(client, plain, frontend="triton")
    return wrapper.create_patched_jit(client)


def run(file: str, function: str, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the sanitizer says, then what it and the reference say together."""
    import triton

    package = importlib.import_module(PACKAGE)
    wrapper = importlib.import_module(f"{PACKAGE}.wrapper")
    plain = triton.jit
    memory = Memory(case)
    flagged = False
    triton.jit = traced(wrapper, plain, wrapper.sanitizer_wrapper)
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
    triton.jit = traced(wrapper, plain, lambda kernel, **_: package.trace(client="tracer")(kernel))
    try:
        function_of(file, function)(**memory.arguments)
    finally:
        triton.jit = plain
    different = memory.difference()
    yield (FLAGGED, different) if different else (CLEAN, "")
