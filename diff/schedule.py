"""Which job is worked on next, and by which worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from ..spec.job import Job

Name = tuple[str, str]

#: Slices that a job may get after the budget, for trials that took a worker down.
_OWED = 6


class Schedule:
    """Jobs in turn, a fair share of every writer; a job stays with one worker while it can.

    A worker keeps what it captured of its jobs. With fewer jobs than workers, all share all.

    Args:
        jobs: the jobs.
        workers: how many workers ask.
        first: (writer, label) of jobs that come first.
        slices: slices of earlier runs by (writer, label), so that no seed is used twice.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        workers: int,
        *,
        first: Iterable[Name] = (),
        slices: Mapping[Name, int] | None = None,
    ) -> None:
        early = set(first)
        by_writer: dict[str, list[Job]] = {}
        for job in sorted(jobs, key=lambda job: (job.writer, job.label) not in early):
            by_writer.setdefault(job.writer, []).append(job)
        turns = [job for turn in zip_longest(*by_writer.values()) for job in turn if job]
        turns.sort(key=lambda job: (job.writer, job.label) not in early)
        shared = len(turns) < workers
        self._queues = [
            deque(turns[index % len(turns) :] + turns[: index % len(turns)])
            if shared
            else deque(turns[index::workers])
            for index in range(workers)
        ]
        self._slices = dict(slices or {})
        self._begun: set[Name] = set()
        self._owed: dict[Name, int] = {}
        self._dropped: set[Name] = set()

    def next(self, worker: int) -> tuple[Job, int, bool] | None:
        """Return a worker's next job, its how many-th slice, and whether it is the first here.

        A worker without jobs of its own takes from the others. None when all were dropped.
        """
        for queue in self._queues[worker:] + self._queues[:worker]:
            for _ in range(len(queue)):
                job = queue.popleft()
                name = (job.writer, job.label)
                if name in self._dropped:
                    continue
                queue.append(job)
                number, first = self._slices.get(name, 0), name not in self._begun
                self._slices[name] = number + 1
                self._begun.add(name)
                return job, number, first
        return None

    def owed(self, names: Iterable[Name]) -> tuple[Job, int, bool] | None:
        """Return the first of some jobs that was not dropped, a few times each, as `next` does."""
        jobs = {(job.writer, job.label): job for queue in self._queues for job in queue}
        for name in names:
            given = self._owed.get(name, 0)
            if name in jobs and name not in self._dropped and given < _OWED:
                self._owed[name] = given + 1
                number = self._slices.get(name, 0)
                self._slices[name] = number + 1
                return jobs[name], number, False
        return None

    def drop(self, job: Job) -> None:
        """Give no more slices of a job."""
        self._dropped.add((job.writer, job.label))

    def drop_writer(self, writer: str) -> None:
        """Give no more slices of a writer's jobs."""
        for queue in self._queues:
            self._dropped |= {(job.writer, job.label) for job in queue if job.writer == writer}
