"""A process that runs cells for the one that started it, and ends with it."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, Final

from hushpoll_protocols.errors import HushpollError
from hushpoll_training.experiments.configuration import Experiment
from hushpoll_training.experiments.grid import Task, run_task
from hushpoll_training.models.model import Codes

READY: Final = "ready"


@dataclass(frozen=True, slots=True)
class Setup:
    """What every cell needs: the experiment, and its data in clear, codes int64[n] by attribute."""

    experiment: Experiment
    codes: Codes


def serve(pipe: Connection) -> None:
    """Take a setup, then answer each task with what it gave, until the other side is gone."""
    _end_with_parent()
    try:
        pipe.send(READY)
        setup = pipe.recv()
        while True:
            pipe.send(attempt(setup, pipe.recv()))
    except (EOFError, OSError):
        return


def attempt(setup: Setup, task: Task) -> dict[str, Any]:
    """Return what a cell gave, or its error; a fault in the program with its traceback."""
    try:
        return run_task(setup.experiment, setup.codes, task)
    except HushpollError as error:
        return {"error": " ".join(str(error).split())}
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"error": text, "traceback": traceback.format_exc()}


def _end_with_parent() -> None:
    """Not work on for somebody who was killed: whoever resumes needs the processor."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()
