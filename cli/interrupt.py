"""Ctrl-C reaches a solver that is in the middle of a question."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import z3

from .outcome import USAGE

#: Seconds after Ctrl-C in which a check ends by itself; then the process is ended.
PATIENCE = 5.0


@contextmanager
def interruptible() -> Generator[None]:
    """Make Ctrl-C stop the solver too, so that KeyboardInterrupt is raised at once.

    Python notices a signal only between its own instructions, and a question to the solver is one
    of them. A second thread waits for the signal and tells the solver to give up. Left to itself
    the solver takes the signal for its own, gives the question up and says nothing.
    """
    z3.set_param("ctrl_c", False)
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    read, written = os.pipe()
    os.set_blocking(written, False)
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(read, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(written)
        watcher.join()
        os.close(read)


def _watch(read: int, over: threading.Event) -> None:
    while numbers := os.read(read, 1):
        if numbers[0] != signal.SIGINT:
            continue
        # Python may end the check by itself; a solver that is told too early does not hear it.
        deadline = time.monotonic() + PATIENCE
        while not over.wait(0.1):
            z3.main_ctx().interrupt()
            if time.monotonic() > deadline:
                os.write(2, b"kvproof: interrupted\n")
                os._exit(USAGE)
