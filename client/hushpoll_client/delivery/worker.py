"""The background sender: a thread that is there only while something waits.

It starts with the first answer, never at import, and ends when the outbox is empty. A forked child
starts its own when it needs one. It is a daemon, so that a network that hangs does not keep an app
from ending; at exit it gets `exit_patience` seconds, and what is then unsent stays in the file.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from weakref import WeakSet

from hushpoll_client.device.forks import guard

_log = logging.getLogger("hushpoll_client")

# How long answers may gather before it looks at the file: a step competes with the host app for the
# interpreter and for SQLite's lock, and an answer is seldom the only one of its moment.
_SETTLE_SECONDS: Final = 0.05
# What fails in here, such as a full disk, is not the network's backoff; it is looked at again soon.
_AFTER_FAULT_SECONDS: Final = 5.0


class Worker:
    """Calls ``step`` in a thread of its own until nothing is left to do.

    Parameters
    ----------
    step : callable
        Does one piece of work; returns the seconds after which to call it again, or None.
    exit_patience : float
        Seconds that the interpreter's exit waits for it.
    """

    rank = 0

    def __init__(self, step: Callable[[], float | None], *, exit_patience: float) -> None:
        self._step = step
        self._exit_patience = exit_patience
        self._condition = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._woken = False
        # When to end, once told to; in seconds of the monotonic clock.
        self._until: float | None = None
        self._fault: Exception | None = None
        guard(self)
        _workers.add(self)

    def wake(self) -> None:
        """Have ``step`` called soon; never waits for it."""
        with self._condition:
            news, self._woken = not self._woken, True
            self._until = None
            if self._thread is not None:
                if news:
                    self._condition.notify_all()
                return
            thread = threading.Thread(target=self._run, name="hushpoll-sender", daemon=True)
            # The interpreter may be ending, or be out of threads: the file keeps what waits.
            with suppress(RuntimeError):
                start_new_thread(self._start, (thread,))
                self._thread = thread

    def stop(self, seconds: float) -> None:
        """Let the thread finish what can be done at once, for at most ``seconds``, and end it."""
        with self._condition:
            self._until = time.monotonic() + seconds
            self._condition.notify_all()
            thread = self._thread
            if thread is None or thread is threading.current_thread():
                return
            ended = self._condition.wait_for(lambda: self._thread is not thread, seconds)
        if ended and thread.ident is not None:
            thread.join(seconds)

    def take_fault(self) -> Exception | None:
        """Return the first fault of the thread, and forget it."""
        with self._condition:
            fault, self._fault = self._fault, None
        return fault

    def before_fork(self) -> None:
        """Wait until the thread's state is whole."""
        self._condition.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._condition.release()

    def after_fork_in_child(self) -> None:
        """Forget the thread: only the parent has it."""
        self._condition = threading.Condition(threading.Lock())
        self._thread = None
        self._until = None

    def _start(self, thread: threading.Thread) -> None:
        # `Thread.start` waits until the thread runs. On a busy machine that takes longer than an
        # answer may, so it is another thread that waits.
        try:
            thread.start()
        except Exception:
            # As above; the next answer tries again.
            with self._condition:
                self._thread = None
                self._condition.notify_all()

    def _run(self) -> None:
        with self._condition:
            self._settle()
        while True:
            try:
                wait = self._step()
            except Exception as error:
                # By type alone: an internal fault's message may hold anything.
                _log.warning("sending in the background failed: %s", type(error).__name__)
                with self._condition:
                    self._fault = self._fault or error
                wait = _AFTER_FAULT_SECONDS
            with self._condition:
                if self._ends(wait):
                    self._thread = None
                    self._condition.notify_all()
                    return
                if wait != 0.0:
                    if not self._woken:
                        self._condition.wait(wait)
                    if self._woken:
                        self._settle()
                self._woken = False

    def _settle(self) -> None:
        # `wake` tells nobody who was told already, so a burst of answers costs one waking.
        self._condition.wait_for(lambda: self._until is not None, _SETTLE_SECONDS)
        self._woken = False

    def _ends(self, wait: float | None) -> bool:
        if self._until is not None:
            return wait != 0.0 or time.monotonic() > self._until
        return wait is None and not self._woken


_workers: WeakSet[Worker] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for worker in list(_workers):
        worker.stop(worker._exit_patience)
