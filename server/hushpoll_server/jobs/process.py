"""The worker process: a Huey consumer for jobs, and a thread that seals and looks after jobs."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from huey.consumer import Consumer

from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs.queue import open_queue
from hushpoll_server.jobs.runner import Runner
from hushpoll_server.jobs.stand_in import StandIn
from hushpoll_server.logs import get_logger
from hushpoll_server.services.maintenance.loop import Maintenance
from hushpoll_server.services.services import Services

log = get_logger(__name__)

TURN_SECONDS: Final = 1.0
# Together under the 15 seconds in which a supervisor wants an answer to SIGTERM.
JOB_SECONDS: Final = 8.0
TURN_END_SECONDS: Final = 3.0
SECONDS_A_DAY: Final = 86_400
FORGET_EVERY_SECONDS: Final = 3600.0


class Worker:
    """Seals and runs jobs until it is told to stop.

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

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; what is not finished by then is left to other workers."""
        seals = self._settings.sealing == "worker"
        # In this process whoever asks for sealed reports may seal them.
        parts = Services(dataclasses.replace(self._settings, sealing="server"))
        unfinished = False
        try:
            runner = Runner(parts)
            huey, announce = open_queue(self._settings, runner.work)
            consumer = Consumer(
                huey,
                workers=self._settings.job_threads,
                periodic=False,
                max_delay=TURN_SECONDS,
                shutdown_timeout=JOB_SECONDS,
                graceful_signal="TERM",
            )
            stand_in = StandIn(runner.work, self._settings.job_threads)
            watch = _Watch(parts, announce, stand_in, Maintenance(parts) if seals else None)
            thread = threading.Thread(
                target=watch.run, args=(self._stopping,), name="hushpoll-watch", daemon=True
            )
            thread.start()
            log.info("worker-started", seals=seals, threads=self._settings.job_threads)
            self._ready()
            consumer.run()
            self._stopping.set()
            end = time.monotonic() + TURN_END_SECONDS
            thread.join(TURN_END_SECONDS)
            stood_in = stand_in.join(max(0.0, end - time.monotonic()))
            runner.release()
            unfinished = (
                thread.is_alive()
                or not stood_in
                or any(one.is_alive() for _, one in consumer.worker_threads)
            )
            log.info("worker-stopped", unfinished=unfinished)
        finally:
            parts.stop()
        if unfinished:
            # A thread inside a learner cannot be ended, and the interpreter would wait for it.
            # Its transaction, if it is in one, is undone.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


class _Watch:
    """Seals, and announces jobs that nobody works on, over and over."""

    def __init__(
        self,
        parts: Services,
        announce: Callable[[str], object],
        stand_in: StandIn,
        maintenance: Maintenance | None,
    ) -> None:
        self._parts = parts
        self._announce = announce
        self._stand_in = stand_in
        self._maintenance = maintenance
        self._announced: dict[str, float] = {}
        self._forgotten_at = -FORGET_EVERY_SECONDS

    def run(self, stopping: threading.Event) -> None:
        while not stopping.wait(TURN_SECONDS):
            for work in (self._seal, self._look, self._forget):
                try:
                    work()
                except Exception as error:  # a database that is away comes back
                    log.error("turn-failed", turn=work.__name__[1:], error=type(error).__name__)

    def _seal(self) -> None:
        if self._maintenance is not None:
            self._maintenance.turn()

    def _look(self) -> None:
        now = time.monotonic()
        lease = self._parts.settings.job_lease_seconds
        free = self._parts.job_store.unclaimed(self._parts.surveys.now())
        self._announced = {one: at for one, at in self._announced.items() if one in free}
        for job_id in free:
            # Announced again only if that one must have been lost: it costs a place in the queue.
            if now - self._announced.get(job_id, -lease) < lease:
                continue
            try:
                self._announce(job_id)
            except Exception as error:  # of whatever driver
                log.warning("queue-away", job=job_id, error=type(error).__name__)
                self._stand_in.take(job_id)
            else:
                self._announced[job_id] = now

    def _forget(self) -> None:
        now = time.monotonic()
        if now - self._forgotten_at >= FORGET_EVERY_SECONDS:
            self._forgotten_at = now
            days = self._parts.settings.job_result_days
            before = self._parts.surveys.now() - days * SECONDS_A_DAY
            self._parts.job_store.forget(before=before)
