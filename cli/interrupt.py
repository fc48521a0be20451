"""Ctrl-C reaches a solver that is in the middle of a question."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

#: Seconds after Ctrl-C in which a check ends by itself; then the process is ended.
PATIENCE = 5.0


@contextmanager
def interruptible() -> Generator[None]:
    """Make Ctrl-C stop the solver too, so that KeyboardInterrupt is raised at once.

    Python notices a signal only between its own instructions, and a question to the solver is one
    of them. A second thread waits for the signal and tells the solver to give up.
    """
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
        solver = sys.modules.get("z3")
        while not over.wait(0.05):
            if solver is not None:
                solver.main_ctx().interrupt()
            solver = None
            if over.wait(PATIENCE):
                break
            os.write(2, b"kvproof: interrupted\n")
            os._exit(2)
