"""Running one job: claimed, its lease renewed while it is worked on, its result kept once."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from hushpoll_protocols.errors import HushpollError, MissingExtra
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.kinds import WORK
from hushpoll_server.logs import get_logger
from hushpoll_server.services.collector import Collector
from hushpoll_server.store.jobs import JobRow, JobStore

log = get_logger(__name__)

# A job whose worker died this often kills its workers.
MOST_ATTEMPTS: Final = 3
PART_BYTES: Final = 4 * 2**20
SPOOLED_BYTES: Final = 32 * 2**20


class Runner:
    """Runs jobs of one worker process.

    Parameters
    ----------
    parts : Collector
        The worker's own services.
    """

    def __init__(self, parts: Collector) -> None:
        self._parts = parts
        self._store: JobStore = parts.job_store
        self._lease = parts.settings.job_lease_seconds
        self.owner = secrets.token_hex(16)

    def run(self, job_id: str) -> None:
        """Run a job, if nobody else holds it."""
        if not self._store.claim(
            job_id,
            self.owner,
            now=self._now(),
            lease=self._lease,
            attempts=MOST_ATTEMPTS,
        ):
            return
        job = self._store.find(job_id)
        if job is None:
            return
        log.info("job-started", job=job_id, kind=job.kind, attempt=job.attempt)
        try:
            with self._renewing(job_id), SpooledTemporaryFile(SPOOLED_BYTES) as file:
                kept = self._work(job, file)
        except HushpollError as error:
            code, detail = _told(error)
            kept = self._store.fail(job_id, self.owner, now=self._now(), code=code, detail=detail)
            log.info("job-failed", job=job_id, kind=job.kind, code=code)
        except Exception as error:
            # Its message can quote a record.
            detail = "the worker failed; its log has the job's id"
            kept = self._store.fail(
                job_id, self.owner, now=self._now(), code="internal", detail=detail
            )
            log.error("job-failed", job=job_id, kind=job.kind, error=type(error).__name__)
        else:
            log.info("job-done" if kept else "job-lost", job=job_id, kind=job.kind)

    def release(self) -> None:
        """Let other workers have what this one leaves unfinished."""
        left = self._store.release(self.owner)
        if left:
            log.info("jobs-released", jobs=left)

    def _work(self, job: JobRow, file: IO[bytes]) -> bool:
        row = self._parts.surveys.by_id(job.version_id)
        result = WORK[job.kind](self._parts, row, json.loads(job.parameters))
        for block in result.blocks:
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


def _told(error: HushpollError) -> tuple[str, str]:
    match error:
        case Refused():
            return error.code, error.detail
        case MissingExtra():
            return "missing-extra", str(error)
        case _:
            return "invalid-request", str(error)
