"""Runs zoo writers under one peer, inside the peer's own environment; started by bench/peers.py.

    python bench/peers_child.py ADAPTER

`ADAPTER` is a module beside this file. Every line of standard input is a job in JSON, every line of
standard output its answer. Nothing of kvproof is imported: a job is plain data, so this file runs
wherever the peer runs. What a peer prints goes to standard error.

A job: {"file": path, "function": name, "cases": [case], "seconds": limit, "memory": bytes}.
A case: {"tensors": [{"name", "dtype", "shape", "strides", "extent", "data", "seed"}],
"scalars": {name: value}, "expected": {name: [[byte, base64]]}}; `dtype` is an attribute of torch,
`extent` counts elements, `data` is base64 or null (then `seed` fills it).
An answer: {"cases": [{"alone": {"status", "detail", "seconds"}, "compared": {...}}]}.

The cases of a job run in one forked process, under the limits. One that crashes, hangs or eats
memory is named as that, and the next begins with a fresh process.
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What a case can come to. Only "flagged" and "clean" say anything about the writer.
FLAGGED, CLEAN, UNSUPPORTED, CRASH, TIMEOUT, MEMORY, ERROR = (
    "flagged", "clean", "unsupported", "crash", "timeout", "memory", "error",
)  # fmt: skip
PARTS = ("alone", "compared")
#: Bytes of a cache up to which it begins with a pattern, and a copy of it is kept.
MOST_KEPT = 64 << 20


class Memory:
    """The tensors of a case.

    Args:
        case: the case.
        guard: bytes before and after every tensor, a multiple of 64. Where it is 0 a tensor's
            storage ends with its last element, so that a tool that knows bounds sees each access
            past them.
        device: a torch device.

    `storages` are bytes by name; `before` holds what they held, but for large caches: zeros.
    """

    def __init__(self, case: dict[str, Any], *, guard: int = 0, device: str = "cpu") -> None:
        import torch

        self.case, self.guard = case, guard
        self.storages: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.arguments: dict[str, Any] = dict(case["scalars"])
        self._apart: list[Any] = []
        for tensor in case["tensors"]:
            dtype = getattr(torch, tensor["dtype"])
            size = dtype.itemsize
            held = 2 * guard + tensor["extent"] * size
            large = held > MOST_KEPT and tensor["data"] is None
            data = contents(tensor, held // size, guard // size, zeros=large).to(device)
            self._apart.append(torch.empty(1 << 16, dtype=torch.uint8, device=device))
            self.storages[tensor["name"]] = data.view(torch.uint8)
            if not large:
                self.before[tensor["name"]] = data.view(torch.uint8).clone()
            self.arguments[tensor["name"]] = data.as_strided(
                tensor["shape"], tensor["strides"], guard // size
            )

    def expected(self, name: str) -> Any:
        """Return the bytes that a tensor's storage must hold after the call."""
        wanted = self.before.get(name)
        if wanted is None:
            wanted = self.storages[name].new_zeros(len(self.storages[name]))
        for place, run in self._stored(name):
            wanted[place] = run
        return wanted

    def _stored(self, name: str) -> Iterator[tuple[slice, Any]]:
        import torch

        for at, text in self.case["expected"].get(name, []):
            run = torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
            begin = self.guard + at
            yield slice(begin, begin + len(run)), run.to(self.storages[name].device)

    def difference(self) -> str:
        """Return how the storages differ from what the contract says; empty when they do not.

        A storage that held zeros alone is overwritten with zeros where it is right: a second one
        of its size may not fit.
        """
        import torch

        for name, held in self.storages.items():
            if name in self.before:
                wanted = self.expected(name)
                if not torch.equal(held, wanted):
                    first = int((held != wanted).nonzero()[0])
                    return f"{name} differs from the reference, first at byte {first - self.guard}"
                continue
            for place, run in self._stored(name):
                if not torch.equal(held[place], run):
                    return f"{name} differs from the reference at byte {place.start - self.guard}"
                held[place] = 0
            if bool(held.any()):
                return f"{name} holds bytes that no row stores"
        return ""


def contents(tensor: dict[str, Any], count: int, guard: int, *, zeros: bool) -> Any:
    """Return `count` elements that a tensor's storage holds: finite, and alike every time.

    `guard` elements stand before the data that the tensor names. With `zeros` all are zero.
    """
    import torch

    dtype = getattr(torch, tensor["dtype"])
    if zeros:
        made = torch.zeros(count, dtype=dtype)
    else:
        random = torch.Generator().manual_seed(tensor["seed"])
        made = torch.randint(1, 120, (count,), generator=random).float()
        made = made.to(dtype) if dtype.itemsize > 1 else made.to(torch.uint8).view(dtype)
    if tensor["data"] is not None:
        data = torch.frombuffer(bytearray(base64.b64decode(tensor["data"])), dtype=torch.uint8)
        size = dtype.itemsize
        made.view(torch.uint8)[guard * size : guard * size + len(data)] = data
    return made


def function_of(file: str, name: str) -> Any:
    """Load a zoo file afresh and return one of its functions."""
    path = Path(file)
    spec = importlib.util.spec_from_file_location(f"zoo_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def warm(run: Any) -> None:
    """Run a right writer once, so that what a peer loads at its first launch is loaded before."""
    wide = {"dtype": "float32", "strides": [4, 1], "data": None, "seed": 1}
    slot = base64.b64encode((1).to_bytes(8, "little")).decode()
    case = {
        "tensors": [
            {**wide, "name": "kv_buffer", "shape": [3, 4], "extent": 12},
            {**wide, "name": "cache_k_nope", "shape": [1, 2], "extent": 2},
            {**wide, "name": "cache_k_rope", "shape": [1, 2], "extent": 2},
            {**wide, "name": "loc", "dtype": "int64", "shape": [1], "strides": [1], "extent": 1,
             "data": slot},
        ],
        "scalars": {},
        "expected": {},
    }  # fmt: skip
    for _ in run(str(Path(__file__).with_name("kernels.py")), "store_rows", case):
        continue


def run_cases(adapter: Any, job: dict[str, Any], first: int, pipe: int) -> None:
    """Run a job's cases from `first` on in this process.

    Every part is a JSON line as soon as it is known: [case, part, what was said].
    """
    for number, case in enumerate(job["cases"][first:], first):
        done = 0
        try:
            begun = time.perf_counter()
            steps: Iterator[tuple[str, str]] = adapter.run(job["file"], job["function"], case)
            for part, (status, detail) in zip(PARTS, steps, strict=True):
                _say(pipe, number, part, said(status, detail, time.perf_counter() - begun))
                done += 1
                begun = time.perf_counter()
        except BaseException as problem:  # noqa: BLE001 - whatever a peer raises is an outcome
            text = f"{type(problem).__name__}: {problem}"
            for part in PARTS[done:]:
                _say(pipe, number, part, said(ERROR, text, time.perf_counter() - begun))
                begun = time.perf_counter()


def said(status: str, detail: str, seconds: float) -> dict[str, Any]:
    """Return what is said of one part of a case."""
    return {"status": status, "detail": " ".join(detail.split())[:300], "seconds": seconds}


def _say(pipe: int, number: int, part: str, what: dict[str, Any]) -> None:
    os.write(pipe, json.dumps([number, part, what]).encode() + b"\n")


def watch(
    pid: int, pipe: int, *, seconds: float, memory: int
) -> tuple[list[tuple[int, str, dict[str, Any]]], dict[str, Any] | None]:
    """Wait for a forked process that runs cases; end it at a limit.

    Returns what it said, and, where it did not end by itself, what became of the case that it was
    at. `seconds` are those of one case.
    """
    text, end = b"", None
    begun = time.monotonic()
    while True:
        ready, _, _ = select.select([pipe], [], [], 0.1)
        if ready:
            piece = os.read(pipe, 1 << 16)
            if not piece:
                break
            text += piece
            if f'"{PARTS[-1]}"'.encode() in piece:
                begun = time.monotonic()
        spent = time.monotonic() - begun
        if spent > seconds:
            end = said(TIMEOUT, f"{seconds:.0f} s", spent)
        elif resident(pid) > memory:
            end = said(MEMORY, f"more than {memory >> 20} MiB", spent)
        if end:
            os.kill(pid, signal.SIGKILL)
            break
    _, code = os.waitpid(pid, 0)
    if not end and code:
        number = os.waitstatus_to_exitcode(code)
        name = signal.Signals(-number).name if number < 0 else f"exit code {number}"
        end = said(CRASH, name, time.monotonic() - begun)
    whole = text[: text.rfind(b"\n") + 1]
    return [tuple(json.loads(line)) for line in whole.splitlines()], end


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds; 0 when it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * resource.getpagesize()


def answer(adapter: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Run every case of a job; a case that ends its process is followed by a fresh one."""
    found: list[dict[str, Any]] = [{} for _ in job["cases"]]
    first = 0
    while first < len(found):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            run_cases(adapter, job, first, write)
            os._exit(0)
        os.close(write)
        lines, end = watch(pid, read, seconds=job["seconds"], memory=job["memory"])
        os.close(read)
        for number, part, what in lines:
            found[number][part] = what
        while first < len(found) and len(found[first]) == len(PARTS):
            first += 1
        if first == len(found):
            break
        end = end or said(CRASH, "it ended without an answer", 0.0)
        for part in PARTS:
            if part not in found[first]:
                found[first][part] = end
                end = {**end, "seconds": 0.0}
        first += 1
    return {"cases": found}


def main() -> None:
    """Answer jobs until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, str(Path(__file__).parent))
    begun = time.perf_counter()
    adapter = importlib.import_module(sys.argv[1])
    why = adapter.absent()
    versions = adapter.prepare() if not why else {}
    seconds = time.perf_counter() - begun
    ready = {"versions": versions, "absent": why, "seconds": seconds}
    print(json.dumps(ready), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(adapter, json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
