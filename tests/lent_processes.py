"""Processes that sites of tests share: one that draws, and one that jobs are forked from.

A server starts a process to draw charts in, and a worker one for each job. What they load takes
longer than most tests. Here one process draws for all sites, and one has loaded what jobs need:
it forks for each job, and the fork does what ``python -m hushpoll_server.jobs.apart`` does. Tests
of the processes themselves (``tests/server/processes``, ``cli/test_worker.py``,
``charts/test_drawing.py``) start them as an operator's server does.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from hushpoll_server.charts.drawing import Drawing, NotDrawn
from hushpoll_server.jobs import apart

ORDER_BYTES = 2**20
LOOK_SECONDS = 0.02
STARTED, KILL = b"started", b"kill"
LOADED = (
    "hushpoll_analysis.regression.model",
    "hushpoll_training.audits.records_accuracy",
    "hushpoll_training.audits.records_fairness",
    "hushpoll_training.runs.saved",
    "hushpoll_training.runs.training_run",
)


class LentDrawing(Drawing):
    """A site's own pictures, drawn by the process of all sites."""

    def __init__(self, common: Drawing) -> None:
        super().__init__()
        self._common = common

    def _ask(self, line: bytes) -> bytes:
        if self._stopped.is_set():
            raise NotDrawn("the site has stopped")
        request = json.loads(line)
        return self._common.draw(request["specification"], request["media"])


class JobProcess:
    """One job's process, with as much of ``subprocess.Popen`` as the worker uses."""

    def __init__(self, started: socket.socket, stdin: IO[bytes]) -> None:
        self.stdin = stdin
        self.returncode: int | None = None
        self._started = started

    def wait(self, timeout: float | None = None) -> int:
        """Return the code of its end, negative for a signal's."""
        if self.returncode is None:
            self._started.settimeout(timeout)
            try:
                said = self._started.recv(64)
            except TimeoutError:
                raise subprocess.TimeoutExpired("a job", timeout or 0.0) from None
            assert said, "the process that jobs are forked from has died"
            self.returncode = int(said)
            self._started.close()
        return self.returncode

    def kill(self) -> None:
        """Have it ended by SIGKILL, unless it has ended.

        The process that forked it knows whether its number is still its own: a number that was
        given anew may be anybody's, such as a worker's of another test.
        """
        if self.returncode is None:
            with suppress(ConnectionError):  # it has ended, and its code is to be read
                self._started.sendall(KILL)


class JobProcesses:
    """The process that jobs are forked from, started with the first job."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def start(
        self, command: Sequence[str], *, stdin: int, stdout: IO[bytes], pass_fds: tuple[int]
    ) -> JobProcess:
        """Start a job, as ``subprocess.Popen`` does for the worker."""
        assert [*command] == [sys.executable, "-P", "-m", apart.__name__]
        assert stdin == subprocess.PIPE
        (steps,) = pass_fds
        orders = self._running()
        reading, writing = os.pipe()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        order = {"steps": steps, "folder": str(Path.cwd()), "environment": dict(os.environ)}
        told = json.dumps(order).encode()
        assert len(told) < ORDER_BYTES
        with theirs:
            descriptors = [reading, stdout.fileno(), 2, theirs.fileno(), steps]
            socket.send_fds(orders, [told], descriptors)
        os.close(reading)
        assert ours.recv(64) == STARTED, "the process that jobs are forked from has died"
        return JobProcess(ours, os.fdopen(writing, "wb"))

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Have the jobs of runners in this process forked, within the block."""
        usual = apart.subprocess
        lent = SimpleNamespace(
            Popen=self.start, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired
        )
        apart.subprocess = lent  # type: ignore[assignment]
        try:
            yield
        finally:
            apart.subprocess = usual

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None and self._orders is not None:
            self._orders.close()
            self._process.wait()
            self._process = self._orders = None

    def _running(self) -> socket.socket:
        if self._orders is None:
            self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._orders.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ORDER_BYTES)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", __file__, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                )
        return self._orders


def fork_jobs(orders: socket.socket) -> None:
    """Fork for each order, and tell each asker that it is done, then the code of its end."""
    load()
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([orders], [], [], LOOK_SECONDS if running else None)
        if ready:
            told, descriptors, _, _ = socket.recv_fds(orders, ORDER_BYTES, 5)
            if not told:
                break
            pid = os.fork()
            if pid == 0:
                orders.close()
                for other in running.values():
                    other.close()
                do_job(json.loads(told), descriptors)
            asker = socket.socket(fileno=descriptors[3])
            for descriptor in (*descriptors[:3], descriptors[4]):
                os.close(descriptor)
            asker.sendall(STARTED)
            running[pid] = asker
        for pid in [*running]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                if select.select([running[pid]], [], [], 0)[0] and running[pid].recv(64) == KILL:
                    os.kill(pid, signal.SIGKILL)
            else:
                with running.pop(pid) as asker:
                    tell(asker, os.waitstatus_to_exitcode(status))
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def tell(asker: socket.socket, code: int) -> None:
    """Say the code of a process's end, if anybody still waits for it."""
    try:
        asker.sendall(str(code).encode())
    except OSError:
        return


def load() -> None:
    """Import what jobs import when they begin. Nothing of it starts a thread."""
    for name in LOADED:
        importlib.import_module(name)


def do_job(order: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Do what the process of a job does, on these descriptors, and end."""
    code = 1
    try:
        reading, output, errors, asker, steps = descriptors
        os.close(asker)
        # Above all that are set below, so that none is overwritten before it is read.
        high = [os.dup(one) for one in (reading, output, errors, steps)]
        for one in (reading, output, errors, steps):
            os.close(one)
        for one, place in zip(high, (0, 1, 2, order["steps"]), strict=True):
            os.dup2(one, place)
            os.close(one)
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        apart.main()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    fork_jobs(socket.socket(fileno=int(sys.argv[1])))
