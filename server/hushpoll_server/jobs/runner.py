"""Running jobs: claimed in turns, leases renewed while they are worked on, results kept once."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from hushpoll_server.jobs import apart
from hushpoll_server.jobs.kinds import KINDS, Result
from hushpoll_server.jobs.watch import JobCancelled, JobWatch
from hushpoll_server.logs import get_logger
from hushpoll_server.services.services import Services
from hushpoll_server.store.tables.jobs import JobRow, JobStore

log = get_logger(__name__)

# A job whose worker died this often kills its workers.
MOST_ATTEMPTS: Final = 3
PART_BYTES: Final = 4 * 2**20
SPOOLED_BYTES: Final = 32 * 2**20


class Runner:
    """Runs jobs of one worker process.

    Parameters
    ----------
    parts : Services
        The worker's own services.
    """

    def __init__(self, parts: Services) -> None:
        self._parts = parts
        self._settings = parts.settings
        self._store: JobStore = parts.job_store
        self._lease = parts.settings.job_lease_seconds
        self._stopping = threading.Event()
        self.owner = secrets.token_hex(16)

    def run_waiting(self) -> None:
        """Run waiting jobs until none may be run now; the next is that of the token in turn."""
        while not self._stopping.is_set():
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
        """Let other workers have the jobs that this one leaves unfinished, and begin no more."""
        self.stop()
        left = self._store.release(self.owner)
        if left:
            log.info("jobs-released", jobs=left)

    def _run(self, job_id: str) -> None:
        job = self._store.find(job_id)
        if job is None:
            return
        log.info("job-started", job=job_id, kind=job.kind, attempt=job.attempt)
        watch = JobWatch(lambda: self._holds(job), seconds=self._settings.job_seconds)
        try:
            with self._renewing(job_id), SpooledTemporaryFile(SPOOLED_BYTES) as file:
                kept = self._work(job, watch, file)
        except JobCancelled:
            log.info("job-cancelled", job=job_id, kind=job.kind)
        except Exception as error:
            why = apart.told(error)
            self._store.fail(job_id, self.owner, now=self._now(), code=why.code, detail=why.detail)
            log.info("job-failed", job=job_id, kind=job.kind, code=why.code)
        else:
            log.info("job-done" if kept else "job-lost", job=job_id, kind=job.kind)

    def _work(self, job: JobRow, watch: JobWatch, file: IO[bytes]) -> bool:
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
        )

    def _result(self, job: JobRow, watch: JobWatch) -> AbstractContextManager[Result]:
        kind = KINDS.get(job.kind)
        if kind is None:  # asked for of another release
            raise apart.JobError(
                "malformed-request",
                f"this worker knows no jobs of the kind {job.kind!r}, but {', '.join(KINDS)}; "
                "start the job again",
            )
        if kind.own_process:
            return apart.run_apart(self._settings, job, watch)
        row = self._parts.surveys.by_id(job.version_id)
        return nullcontext(kind.work(self._parts, row, json.loads(job.parameters)))

    def _holds(self, job: JobRow) -> bool:
        found = self._store.find(job.id)
        return found is not None and (found.owner, found.attempt) == (self.owner, job.attempt)

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
