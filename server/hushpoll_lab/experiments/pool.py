"""Processes that run the cells of an experiment, each known by its own pipe.

Processes are spawned: OpenMP, which learners run on, does not survive a fork. A process that dies
(out of memory, as a rule) takes one cell with it, which is recorded, and is replaced; a shared
queue could not tell which cell it was.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread, current_thread, main_thread
from typing import Any, Final

from hushpoll_lab.experiments.kinds import AnyCell, AnyExperiment, grid_of
from hushpoll_protocols.errors import HushpollError
from hushpoll_shared.spelling.json_values import JsonMembers

READY: Final = "ready"


@dataclass(frozen=True, slots=True)
class Setup:
    """What every cell needs: the experiment, and its data in clear, as its grid has read them."""

    experiment: AnyExperiment
    data: Any


def serve(pipe: Connection) -> None:
    """Receive a setup, then answer each task with its result, until the other side is gone."""
    _end_with_parent()
    try:
        pipe.send(READY)
        setup = pipe.recv()
        while True:
            pipe.send(attempt(setup, pipe.recv()))
    except (EOFError, OSError):
        return


def attempt(setup: Setup, task: AnyCell) -> JsonMembers:
    """Return the result of a cell, or its error; a fault in the program with its traceback."""
    try:
        return grid_of(setup.experiment).run(setup.data, task)
    except HushpollError as error:
        return {"error": " ".join(str(error).split())}
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"error": text, "traceback": traceback.format_exc()}


def _end_with_parent() -> None:
    """End this process when its parent is killed: a run that resumes needs the processor."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


class _Worker:
    def __init__(self) -> None:
        context = get_context("spawn")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        self.task: AnyCell | None = None
        self.ready = False
        # The data goes through the pipe later: a start waits until its arguments are read.
        self.process: SpawnProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        with _interrupts_ignored():
            self.process.start()
        # With the only copy in the worker, its death is an end of file here.
        theirs.close()

    def give(self, task: AnyCell, setup: Setup) -> None:
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
    tasks: Iterable[AnyCell], setup: Setup, jobs: int
) -> Generator[tuple[AnyCell, JsonMembers]]:
    """Run cells, `jobs` at a time; yield each with its result or ``error``. Closing ends them."""
    waiting = deque(tasks)
    workers: list[_Worker] = []
    try:
        workers.extend(_Worker() for _ in range(min(jobs, len(waiting))))
        while workers:
            for pipe in wait([worker.pipe for worker in workers]):
                worker = next(worker for worker in workers if worker.pipe is pipe)
                task = worker.task
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    if waiting:
                        workers.append(_Worker())
                    result = {"error": _cause(worker)}
                else:
                    if not waiting:
                        workers.remove(worker)
                        worker.end()
                    else:
                        worker.give(waiting.popleft(), setup)
                if task is not None and result != READY:
                    yield task, result
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
