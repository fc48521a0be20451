"""The peers, the environments they run in, and the process that stands in each."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A tool that runs beside kvproof.

    Args:
        name: name in the table.
        package: name and folder of its environment.
        adapter: module beside this file that drives it.
        needs: what pip installs.
        python: the least Python it takes.
        variables: environment variables that it runs with.
    """

    name: str
    package: str
    adapter: str
    needs: tuple[str, ...]
    python: tuple[int, int] = (3, 10)
    variables: dict[str, str] = field(default_factory=dict)


# A CUDA build of torch 2.13.0 requires Triton 3.7.1; a CPU build goes with any.
_GPUCHECK = ("gpucheck[torch,triton]==0.1.0", "torch==2.13.0", "triton>=3.7.1,<=3.8.0")
PEERS = (
    Peer(
        name="ttsem 0.1.0",
        package="ttsem",
        adapter="peers_ttsem",
        needs=("ttsem[triton]==0.1.0",),
        python=(3, 12),
    ),
    # triton-viz 3.0 names no version of Triton; with 3.8.0 it cannot be imported.
    Peer(
        name="triton-viz 3.0",
        package="triton-viz",
        adapter="peers_triton_viz",
        needs=("triton-viz==3.0", "triton==3.7.1", "torch==2.13.0", "numpy"),
    ),
    # The same tool under its later name; with Triton 3.9.0 its sanitizer ends in a TypeError.
    Peer(
        name="TileLens 3.1.1",
        package="tilelens",
        adapter="peers_triton_viz",
        needs=("tilelens==3.1.1", "triton==3.7.1", "torch==2.13.0", "numpy"),
        variables={"PEERS_PACKAGE": "tilelens"},
    ),
    Peer(
        name="gpucheck 0.1.0",
        package="gpucheck",
        adapter="peers_gpucheck",
        needs=_GPUCHECK,
        # Asking for a GPU must not start CUDA: cases run in forks.
        variables={"PYTORCH_NVML_BASED_CUDA_CHECK": "1"},
    ),
    Peer(
        name="gpucheck 0.1.0, interpreter",
        package="gpucheck",
        adapter="peers_gpucheck",
        needs=_GPUCHECK,
        variables={"PEERS_INTERPRET": "1"},
    ),
)


class Absent(Exception):
    """A peer cannot run here; the text says why, in one line."""


def interpreter(folder: Path, peer: Peer) -> Path:
    """Return the Python of a peer's environment. Raises Absent where there is none."""
    python = folder / peer.package / "bin" / "python"
    if not python.exists():
        raise Absent(f"not installed: python bench/peers.py --install {peer.package}")
    return python


def install(folder: Path, peer: Peer, python: str) -> None:
    """Make a peer's environment with pip. Raises Absent where that fails."""
    told = _run([python, "-c", "import sys; print(*sys.version_info[:2])"]).split()
    if tuple(map(int, told)) < peer.python:
        least = ".".join(map(str, peer.python))
        raise Absent(f"needs Python {least} or newer: --python-for {peer.package}=PATH")
    home = folder / peer.package
    _run([python, "-m", "venv", "--clear", str(home)])
    _run([str(home / "bin" / "python"), "-m", "pip", "install", "-q", *peer.needs])


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as problem:
        raise Absent(f"not installed: {problem}") from problem
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise Absent(f"not installed: {said[-1][:200]}")
    return done.stdout


class Process:
    """A peer's process, which answers one job after another.

    Args:
        command: the program that answers.
        variables: environment variables beside the usual ones.
        start: seconds in which it must be ready.

    Raises Absent where it does not start: `versions` and `seconds` hold what it
    said of itself and how long it took to be ready.
    """

    def __init__(
        self, command: list[str], variables: dict[str, str] | None = None, *, start: float = 300
    ) -> None:
        self.command, self.variables, self.start = command, variables or {}, start
        self.versions: dict[str, str] = {}
        self.seconds = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._begin()

    def _begin(self) -> None:
        import tempfile

        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**environment, "OMP_NUM_THREADS": "1", **self.variables},
            )
        except OSError as problem:
            raise Absent(f"does not start: {problem}") from problem
        said = self._line(self.start)
        if said is None:
            why = self._last()
            self.close()
            raise Absent(f"does not start: {why}")
        if said["absent"]:
            self.close()
            raise Absent(said["absent"])
        self.versions, self.seconds = said["versions"], said["seconds"]

    def _line(self, seconds: float) -> dict[str, Any] | None:
        """Return the next line of the process; None where it ends or time is up."""
        assert self._process is not None
        assert self._process.stdout is not None
        limit, text = time.monotonic() + seconds, b""
        while not text.endswith(b"\n"):
            left = max(limit - time.monotonic(), 0)
            ready, _, _ = select.select([self._process.stdout], [], [], left)
            piece = os.read(self._process.stdout.fileno(), 1 << 16) if ready else b""
            if not piece:
                return None
            text += piece
        return json.loads(text)

    def _last(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines[-1].split())[:200] if lines else "no output"

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer to a job; None where there is none in time: a fresh process follows."""
        if self._process is None:
            self._begin()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
            found = self._line(seconds)
        except OSError:
            found = None
        if found is None:
            self.close()
        return found

    def close(self) -> None:
        """End the process. Safe to call again."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue
        self._process = None


def process_of(folder: Path, peer: Peer) -> Process:
    """Start a peer's process. Raises Absent where it is not installed or does not start."""
    python = interpreter(folder, peer)
    command = [str(python), str(HERE / "peers_child.py"), peer.adapter]
    return Process(command, peer.variables)


def default_folder() -> Path:
    """Return the folder of the environments: `peers` in kvproof's cache."""
    from kvproof.engines.cache import cache_directory

    return cache_directory() / "peers"


def own_python() -> str:
    """Return the Python that runs this program."""
    return sys.executable
