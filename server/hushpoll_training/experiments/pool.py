"""Cells run by several processes, each known by its own pipe.

Processes are spawned: OpenMP, which learners run on, does not survive a fork. A process that dies
(out of memory, as a rule) takes one cell with it, which is recorded, and is replaced; a shared
queue could not tell which cell it was.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import current_thread, main_thread
from typing import Any

from hushpoll_protocols.errors import HushpollError
from hushpoll_training.experiments.grid import Task
from hushpoll_training.experiments.worker import READY, Setup, serve


class _Worker:
    def __init__(self) -> None:
        context = get_context("spawn")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        self.task: Task | None = None
        self.ready = False
        # The data goes through the pipe later: a start waits until its arguments are read.
        self.process: SpawnProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        with _interrupts_ignored():
            self.process.start()
        # With the only copy in the worker, its death is an end of file here.
        theirs.close()

    def give(self, task: Task, setup: Setup) -> None:
        self.task = task
        # A worker that is gone is noticed at the next wait.
        with suppress(OSError):
            if not self.ready:
                self.pipe.send(setup)
            self.ready = True
            self.pipe.send(task)

    def end(self) -> int:
        self.pipe.close()
        self.process.terminate()
        self.process.join()
        return self.process.exitcode or 0


def run_tasks(
    tasks: Iterable[Task], setup: Setup, jobs: int
) -> Generator[tuple[Task, dict[str, Any]]]:
    """Run cells, `jobs` at a time, and yield each as it is done; closing ends the processes.

    Yields
    ------
    (Task, dict)
        What it gave, or its ``error``.

    Raises
    ------
    HushpollError
        If a process cannot start.
    """
    waiting = deque(tasks)
    workers: list[_Worker] = []
    try:
        workers.extend(_Worker() for _ in range(min(jobs, len(waiting))))
        while workers:
            for pipe in wait([one.pipe for one in workers]):
                worker = next(one for one in workers if one.pipe is pipe)
                task = worker.task
                try:
                    found = worker.pipe.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    if waiting:
                        workers.append(_Worker())
                    found = {"error": _cause(worker)}
                else:
                    if not waiting:
                        workers.remove(worker)
                        worker.end()
                    else:
                        worker.give(waiting.popleft(), setup)
                if task is not None and found != READY:
                    yield task, found
    finally:
        for worker in workers:
            worker.end()


def _cause(worker: _Worker) -> str:
    worker.process.join()
    code = worker.end()
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    if not worker.ready:
        raise HushpollError(
            f"a worker process ended {how} before it could begin; see above for its error, give "
            "fewer --jobs if memory is short, and run again: what is done is kept"
        )
    return f"its process ended {how}; memory may have been short: run again with fewer jobs"


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Start a process that leaves Ctrl-C to this one, which then ends it."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
