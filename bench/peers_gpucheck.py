"""Adapter of gpucheck: its memory check around a call, and its `assert_close` after it.

gpucheck's documentation writes tests for `device="cuda"` and its plugin skips them where no GPU is
found. With PEERS_INTERPRET=1 the writers run on Triton's interpreter instead, which the
documentation does not speak of: that shows what its assertion is worth by itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from peers_child import CLEAN, FLAGGED, Memory, function_of, warm

INTERPRET = os.environ.get("PEERS_INTERPRET") == "1"
if INTERPRET:
    os.environ["TRITON_INTERPRET"] = "1"


def absent() -> str:
    """Return why it cannot run on this machine; empty where it can."""
    import torch

    if INTERPRET or torch.cuda.is_available():
        return ""
    return "no GPU: its plugin skips every test that its documentation would write"


def prepare() -> dict[str, str]:
    """Import what every case needs and run a kernel once; return versions."""
    import gpucheck.sanitizers  # noqa: F401
    import torch

    torch.set_num_threads(1)
    if INTERPRET:
        warm(run)
    names = {name: version(name) for name in ("gpucheck", "torch", "triton")}
    return {**names, "python": sys.version.split()[0]}


def run(file: str, function: str, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what gpucheck's checks say of a call, then what its assertion says of memory."""
    import torch
    from gpucheck import assert_close
    from gpucheck.sanitizers import check_memory_leaks

    memory = Memory(case, guard=4096, device="cpu" if INTERPRET else "cuda")
    report = check_memory_leaks(function_of(file, function), **memory.arguments)
    leak = f"{report.leaked_bytes} bytes leaked" if report.has_leak else ""
    yield (FLAGGED, leak) if leak else (CLEAN, "")
    for tensor in case["tensors"]:
        dtype = getattr(torch, tensor["dtype"])
        held = memory.storages[tensor["name"]].view(dtype)
        wanted = memory.expected(tensor["name"]).view(dtype)
        try:
            assert_close(held, wanted, nan_equal=True, msg=tensor["name"])
        except AssertionError as problem:
            yield FLAGGED, str(problem)
            return
    yield (FLAGGED, leak) if leak else (CLEAN, "")
