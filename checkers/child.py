"""The parent's end of a child process that loads engine code and answers with plain data.

The parent imports neither torch, nor triton, nor any engine. Each request is one line of JSON on
the child's standard input, each answer one line on a pipe of its own: what engine code prints goes
to the child's error log and cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from ..spec.call import CallRecipe, Switches
from ..spec.errors import KvproofError
from ..spec.launch import ArgInfo, Capture, Launch
from .loading import ModuleSource

#: Target of a capture unless another is named: NVIDIA sm90.
DEFAULT_TARGET = "cuda:90"


class ChildEnded(KvproofError):
    """The child's process ended in the middle of a request.

    Args:
        how: the signal's name ("SIGSEGV"), "exit status N", or "no answer".
    """

    def __init__(self, what: str, *, how: str, where: str = "", mend: str = "") -> None:
        super().__init__(what, where=where, mend=mend)
        self.how = how


class Child:
    """A fresh interpreter that loads modules and captures calls, many of them one after another.

    Args:
        timeout: seconds that one request may take, start-up (torch's import) included.
        target: what kernels are compiled for, "cuda:90" or "hip:gfx942".
        main: module to run; it must serve the protocol of `kvproof.checkers.child_main`.
        env: environment variables to set for the child; None as a value removes one.

    The process starts with the first request and again after it crashed, hung, or was killed. Use
    it in a `with` block, or call `close`; it is also killed when the object is collected and when
    the interpreter ends. Not for two threads at once.
    """

    def __init__(
        self,
        *,
        timeout: float = 120.0,
        target: str = DEFAULT_TARGET,
        main: str = "kvproof.checkers.child_main",
        env: Mapping[str, str | None] | None = None,
    ) -> None:
        """Prepare; no process is started yet."""
        self.timeout = timeout
        self.target = target
        self._main = main
        self._env = dict(env or {})
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._log: IO[bytes] | None = None
        self._kill: weakref.finalize[Any, Any] | None = None

    def load(self, source: ModuleSource, *, switches: Switches | None = None) -> list[str]:
        """Load a module in the child and return the names of the functions it defines.

        Raises KvproofError as `kvproof.checkers.loading.load_module` does, or when the child dies.
        """
        answer = self.request(
            "load", source.file, source=asdict(source), switches=dict(switches or {})
        )
        return cast(list[str], answer)

    def capture(
        self,
        source: ModuleSource,
        callable_name: str,
        recipe: CallRecipe,
        *,
        switches: Switches | None = None,
        lift: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Capture:
        """Call a host function in the child and return what it launched.

        The module is loaded when it was not yet under these switches. See
        `kvproof.checkers.capture.capture` for what the capture holds and raises. A crash or hang
        of the child raises KvproofError naming the callable; the next request starts another.
        """
        answer = self.request(
            "capture",
            callable_name,
            timeout=timeout,
            source=asdict(source),
            function=callable_name,
            recipe=recipe.to_json(),
            switches=dict(switches or {}),
            lift=dict(lift or {}),
            target=self.target,
        )
        return capture_from_json(answer)

    def request(self, op: str, what: str, *, timeout: float | None = None, **payload: Any) -> Any:
        """Send one request and return the answer's value.

        Args:
            op: name of the request.
            what: what it is about, named in an error.
            timeout: seconds, the object's own when None.
            payload: JSON-able fields of the request.

        Raises KvproofError: the child's own, or one that says how the child ended.
        """
        process = self._running()
        limit = self.timeout if timeout is None else timeout
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"op": op, **payload}) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=limit)
        except queue.Empty:
            self.close()
            mend = "give it more time, or find what it waits for"
            raise ChildEnded(
                f"no answer within {limit:g} s; its process was killed",
                how="no answer",
                where=what,
                mend=mend,
            ) from None
        except (BrokenPipeError, OSError):
            line = ""
        except BaseException:
            self.close()  # Ctrl-C must not leave an engine running
            raise
        if not line:
            raise self._crash(what)
        answer = json.loads(line)
        if "error" in answer:
            raise KvproofError(**answer["error"])
        return answer["value"]

    def close(self) -> None:
        """End the process, if one runs. Safe to call again."""
        if self._kill is not None:
            self._kill()
        self._process = self._kill = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> Child:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        read, write = os.pipe()
        env = {
            **os.environ,
            "KVPROOF_ANSWERS": str(write),
            "PYTHONPATH": _python_path(),
            **_set(self._env),
        }
        for name in (
            "TRITON_INTERPRET",
            *(name for name, value in self._env.items() if value is None),
        ):
            if self._env.get(name) is None:
                env.pop(name, None)
        env.setdefault("TOKENIZERS_PARALLELISM", "false")
        if "CUDA_VISIBLE_DEVICES" not in self._env:
            env["CUDA_VISIBLE_DEVICES"] = ""  # platform checks must answer the same everywhere
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", self._main],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=self._log,
                env=env,
                pass_fds=(write,),
                start_new_session=True,
                text=True,
            )
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_pump, args=(read, self._answers), daemon=True).start()
        self._process = process
        self._kill = weakref.finalize(self, _kill, process)
        self.request("hello", "the child process", paths=[path for path in sys.path if path])
        return process

    def _crash(self, what: str) -> ChildEnded:
        process, log = self._process, self._log
        assert process is not None
        assert log is not None
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        how = f"exit status {code}" if code is None or code >= 0 else signal.Signals(-code).name
        log.seek(0)
        said = [
            line.strip()
            for line in log.read().decode(errors="replace").splitlines()
            if line.strip()
        ]
        self.close()
        last = f"its last words: {said[-1][:300]}" if said else ""
        return ChildEnded(f"its process ended ({how})", how=how, where=what, mend=last)


def capture_from_json(data: Mapping[str, Any]) -> Capture:
    """Rebuild a Capture from the JSON form of `dataclasses.asdict`."""
    launches: list[Launch] = []
    for item in data["launches"]:
        args: list[ArgInfo] = []
        for fields in cast(list[dict[str, Any]], item["args"]):
            sizes: dict[str, Any] = {name: tuple(fields[name]) for name in ("shape", "strides")}
            args.append(ArgInfo(**(fields | sizes)))
        fixed: dict[str, Any] = {"grid": tuple(item["grid"]), "args": tuple(args)}
        launches.append(Launch(**(cast(dict[str, Any], item) | fixed)))
    return Capture(tuple(launches), data["error"], tuple(data["notes"]))


def _set(env: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in env.items() if value is not None}


def _python_path() -> str:
    """The parent's PYTHONPATH, and before it the folders where the parent finds kvproof itself."""
    own = [path for path in sys.path if path and Path(path, "kvproof", "checkers").is_dir()]
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([*own, *([given] if given else [])])


def _pump(read: int, answers: queue.SimpleQueue[str]) -> None:
    with os.fdopen(read, encoding="utf-8") as lines:
        for line in lines:
            answers.put(line)
    answers.put("")


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    process.wait()
