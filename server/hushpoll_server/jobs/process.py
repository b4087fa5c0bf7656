"""The worker process: threads that look for jobs once a second, and one for maintenance."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final

from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs.runner import Runner
from hushpoll_server.logs import get_logger
from hushpoll_server.services.services import Services

log = get_logger(__name__)

POLL_SECONDS: Final = 1.0
# Under the 15 seconds in which a supervisor wants an answer to SIGTERM.
STOP_SECONDS: Final = 11.0
SECONDS_A_DAY: Final = 86_400
FORGET_EVERY_SECONDS: Final = 3600.0


class WorkerProcess:
    """Runs jobs, and seals where the server leaves that to workers, until a signal ends it.

    Parameters
    ----------
    settings : Settings
        The whole configuration.
    ready : callable
        Called once jobs are taken.
    """

    def __init__(self, settings: Settings, *, ready: Callable[[], None]) -> None:
        self._settings = settings
        self._ready = ready
        self._stopping = threading.Event()
        # An event has a lock that its waiter holds for moments, and a signal may come just then: a
        # handler that wanted it would wait for the very thread that it interrupts.
        self._signals: SimpleQueue[int] = SimpleQueue()

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; what is not finished by then is left to other workers.

        For the main thread alone, which receives signals.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        seals = self._settings.sealing == "worker"
        # This process may seal by itself where a job needs sealed reports.
        services = Services(self._settings.changed(sealing="server"))
        try:
            unfinished = self._work(services, seals=seals)
        finally:
            services.stop()
        if unfinished:
            # A thread inside a learner cannot be ended, and the interpreter would wait for it.
            # Its transaction, if it is in one, is undone.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def _work(self, services: Services, *, seals: bool) -> bool:
        """Work until a signal; return whether a thread is still busy."""
        runner = Runner(services)
        tasks: list[Callable[[], object]] = [runner.run_waiting] * self._settings.job_threads
        tasks.append(_OldResults(services).forget)
        if seals:
            tasks.append(services.sealing.turn)
        threads = [
            threading.Thread(target=self._repeat, args=(task,), name="hushpoll-work", daemon=True)
            for task in tasks
        ]
        for thread in threads:
            thread.start()
        log.info("worker-started", seals=seals, threads=self._settings.job_threads)
        self._ready()
        self._wait_for_a_signal()
        self._stopping.set()
        runner.stop()
        end = time.monotonic() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        runner.release()
        unfinished = any(thread.is_alive() for thread in threads)
        log.info("worker-stopped", unfinished=unfinished)
        return unfinished

    def _repeat(self, task: Callable[[], object]) -> None:
        """Do a task once a second until the process stops."""
        failure = None
        while True:
            try:
                task()
            except Exception as error:  # a database that is away comes back
                # Logged once: it is tried every second, and a database may be away for hours.
                if failure != (failure := type(error).__name__):
                    log.error("turn-failed", turn=task.__name__, error=failure)
            else:
                failure = None
            if self._stopping.wait(POLL_SECONDS):
                return

    def _wait_for_a_signal(self) -> None:
        # A signal that comes when this thread is about to wait does not end the wait, and Python
        # calls the handler only once the thread goes on. So no wait is long.
        while True:
            with suppress(Empty):
                self._signals.get(timeout=POLL_SECONDS)
                return

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._signals.put(number)


class _OldResults:
    """Deletes jobs that ended long ago, and their results, once an hour."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._forgotten_at = -FORGET_EVERY_SECONDS

    def forget(self) -> None:
        now = time.monotonic()
        if now - self._forgotten_at >= FORGET_EVERY_SECONDS:
            self._forgotten_at = now
            days = self._services.settings.job_result_days
            before = self._services.surveys.now() - days * SECONDS_A_DAY
            self._services.job_store.forget(before=before)
