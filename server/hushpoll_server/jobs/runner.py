"""The worker process: it claims jobs, runs them under a lease that it renews, and keeps results."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from queue import Empty, SimpleQueue
from tempfile import SpooledTemporaryFile
from types import FrameType
from typing import IO, Final

from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.jobs import apart
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.jobs.presence import Presence
from hushpoll_server.jobs.result import Result
from hushpoll_server.logs import get_logger
from hushpoll_server.services.services import Services
from hushpoll_server.store.jobs import JobRow

log = get_logger(__name__)

MOST_ATTEMPTS: Final = 3
"""How often a job is begun; one whose worker died this often kills its workers."""
PART_BYTES: Final = 4 * 2**20
SPOOLED_BYTES: Final = 32 * 2**20
POLL_SECONDS: Final = 1.0
# Under the 15 seconds in which a supervisor wants an answer to SIGTERM.
STOP_SECONDS: Final = 11.0
SECONDS_A_DAY: Final = 86_400
FORGET_EVERY_SECONDS: Final = 3600.0


class Runner:
    """Runs the jobs that one worker process claims while `may_begin` says that it is its turn."""

    def __init__(self, parts: Services, may_begin: Callable[[], bool] = lambda: True) -> None:
        self._parts = parts
        self._settings = parts.settings
        self._store = parts.job_store
        self._lease = parts.settings.job_lease_seconds
        self._stopping = threading.Event()
        self._may_begin = may_begin
        self.owner = secrets.token_hex(16)

    def run_waiting(self) -> None:
        """Run waiting jobs until none may run now; the table says whose turn it is."""
        while not self._stopping.is_set() and self._may_begin():
            job_id = self._store.claim(
                self.owner,
                now=self._now(),
                lease=self._lease,
                attempts=MOST_ATTEMPTS,
                running=self._settings.jobs_running_per_token,
            )
            if job_id is None:
                return
            self._run(job_id)

    def stop(self) -> None:
        """Begin no more jobs; those that run go on."""
        self._stopping.set()

    def release(self) -> None:
        """Begin no more jobs, and leave the unfinished ones to other workers."""
        self.stop()
        released = self._store.release(self.owner)
        if released:
            log.info("jobs-released", jobs=released)

    def _run(self, job_id: str) -> None:
        job = self._store.find(job_id)
        if job is None:
            return
        log.info("job-started", job=job_id, kind=job.kind, attempt=job.attempt)
        watch = apart.JobWatch(
            lambda: self._holds(job),
            lambda step: self._store.note(job_id, self.owner, job.attempt, step.to_text()),
            seconds=self._settings.job_seconds,
        )
        try:
            with self._renewing(job_id), SpooledTemporaryFile(SPOOLED_BYTES) as file:
                kept = self._work(job, watch, file)
        except apart.JobCancelled:
            log.info("job-cancelled", job=job_id, kind=job.kind)
        except Exception as error:
            reason = apart.reason_of(error)
            self._store.fail(
                job_id, self.owner, now=self._now(), code=reason.code, detail=reason.detail
            )
            log.info("job-failed", job=job_id, kind=job.kind, code=reason.code)
        else:
            log.info("job-done" if kept else "job-lost", job=job_id, kind=job.kind)

    def _work(self, job: JobRow, watch: apart.JobWatch, file: IO[bytes]) -> bool:
        with self._result(job, watch) as result:
            for block in watch.over(result.blocks):
                file.write(block)
        file.seek(0)
        return self._store.finish(
            job.id,
            self.owner,
            attempt=job.attempt,
            now=self._now(),
            media_type=result.media_type,
            file_name=result.file_name,
            parts=iter(lambda: file.read(PART_BYTES), b""),
            card=None if result.card is None else json.dumps(result.card),
        )

    def _result(self, job: JobRow, watch: apart.JobWatch) -> AbstractContextManager[Result]:
        kind = KINDS.get(job.kind)
        if kind is None:  # asked for of another release
            raise Refused(
                "malformed-request",
                f"this worker knows no jobs of the kind {job.kind!r}, but {', '.join(KINDS)}; "
                "start the job again",
            )
        if kind.own_process:
            return apart.run_apart(self._settings, job, watch)
        row = self._parts.surveys.by_id(job.version_id)
        return nullcontext(kind.done(self._parts, row, json.loads(job.parameters), watch.say))

    def _holds(self, job: JobRow) -> bool:
        now = self._store.find(job.id)
        return now is not None and (now.owner, now.attempt) == (self.owner, job.attempt)

    @contextmanager
    def _renewing(self, job_id: str) -> Iterator[None]:
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._lease / 3):
                try:
                    if not self._store.renew(job_id, self.owner, until=self._now() + self._lease):
                        return
                except Exception as error:  # the next turn may succeed before the lease ends
                    log.warning("lease-not-renewed", job=job_id, error=type(error).__name__)

        thread = threading.Thread(target=renew, name="hushpoll-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _now(self) -> int:
        return self._parts.surveys.now()


class WorkerProcess:
    """Runs jobs, and seals where the server leaves that to workers, until a signal ends it.

    `ready` is called once it looks for jobs. `server` is the id of the server that started it, None
    where an operator did. Running jobs may go on for `stop_seconds` after the signal.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        ready: Callable[[], None] = lambda: None,
        server: str | None = None,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._settings = settings
        self._ready = ready
        self._server = server
        self._stop_seconds = stop_seconds
        self._stopping = threading.Event()
        # A waiting thread holds the lock of an event for moments. A handler that interrupts that
        # thread just then, and needs the lock, would wait for ever; so the signal goes to a queue.
        self._signals: SimpleQueue[int] = SimpleQueue()

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, and leave unfinished jobs to other workers.

        Call it in the main thread, which receives signals.
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
            # A thread that computes cannot be ended, and the interpreter would wait for it. The
            # database undoes its transaction, if it is in one.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def _work(self, services: Services, *, seals: bool) -> bool:
        """Work until a signal; return whether a thread is still busy."""
        presence = Presence(
            services.workers,
            lease=self._settings.job_lease_seconds,
            now=services.surveys.now,
            worker_id=self._server,
            of_server=self._server is not None,
        )
        presence.renew()
        runner = Runner(services, lambda: presence.takes_jobs)
        tasks: list[Callable[[], object]] = [runner.run_waiting] * self._settings.job_threads
        tasks.append(presence.renew)
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
        end = time.monotonic() + self._stop_seconds
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        with suppress(Refused):  # the database is away; the word runs out by itself
            presence.leave()
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
            except Exception as error:  # the database may be away, and come back
                # Logged once: the task is tried every second, and that may go on for hours.
                if failure != (failure := type(error).__name__):
                    log.error("turn-failed", turn=task.__name__, error=failure)
            else:
                failure = None
            if self._stopping.wait(POLL_SECONDS):
                return

    def _wait_for_a_signal(self) -> None:
        # A signal that comes when this thread is about to wait does not end the wait, and Python
        # calls the handler only after the wait. So no wait is long.
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
