"""Checking many jobs on several processes; reports come back in the order of the jobs."""

from __future__ import annotations

import base64
import pickle
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..spec.errors import KvproofError
from ..spec.job import Job
from .child import Child

if TYPE_CHECKING:
    from .check import JobReport

#: Seconds that one job may take in a worker before the worker is ended.
LIMIT = 600.0


def check_parallel(
    jobs: Sequence[Job], workers: int, options: Mapping[str, Any]
) -> Iterator[JobReport]:
    """Yield a report for each job, in order, as soon as it and all before it are there.

    A worker that dies or hangs costs its job, which is reported as an error, and is replaced.
    Closing the iterator, or an exception such as KeyboardInterrupt, ends all workers.
    """
    waiting: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, JobReport | BaseException]] = queue.SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    children = [
        Child(main="kvproof.checkers.worker_main", timeout=LIMIT)
        for _ in range(min(workers, len(jobs)))
    ]
    for _ in children:
        waiting.put(None)
    ended = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(child, jobs, waiting, done, options, ended))
        for child in children
    ]
    for thread in threads:
        thread.daemon = True
        thread.start()
    early: dict[int, JobReport] = {}
    try:
        for index in range(len(jobs)):
            while index not in early:
                number, report = done.get()
                if isinstance(report, BaseException):
                    raise report
                early[number] = report
            yield early.pop(index)
    finally:
        ended.set()
        for thread, child in zip(threads, children, strict=True):
            child.close()
            while thread.is_alive():  # it may have been about to start its child anew
                thread.join(0.2)
                child.close()


def _work(
    child: Child,
    jobs: Sequence[Job],
    waiting: queue.SimpleQueue[int | None],
    done: queue.SimpleQueue[tuple[int, JobReport | BaseException]],
    options: Mapping[str, Any],
    ended: threading.Event,
) -> None:
    from .check import JobReport

    while not ended.is_set() and (index := waiting.get()) is not None:
        job = jobs[index]
        text = base64.b64encode(pickle.dumps(job)).decode()
        try:
            answer = child.request(
                "check", f"{job.writer} ({job.label})", job=text, options=dict(options)
            )
            done.put((index, pickle.loads(base64.b64decode(answer))))  # noqa: S301 - our own
        except KvproofError as problem:
            done.put((index, JobReport(job, (), job.notes, error=str(problem))))
        except Exception as problem:  # noqa: BLE001 - the thread must not die in silence
            done.put((index, problem))
            return
