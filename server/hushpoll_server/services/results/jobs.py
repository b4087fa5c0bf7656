"""Background jobs as analysts see them: add one, look at it, cancel it, fetch its result."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Final, cast

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.readiness import MissingWorker
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.services.surveys.surveys import SurveyService, timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import (
    CANCELLED,
    DONE,
    ENDED,
    FAILED,
    QUEUED,
    RUNNING,
    JobRow,
    JobStore,
)
from hushpoll_server.store.workers import WorkerStore
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.documents.jobs import JobDocument, JobName, JobState
from hushpoll_shared.wire.problems import PROBLEMS

log = get_logger(__name__)

RETRY_AFTER_SECONDS: Final = 60
MOST_LISTED: Final = 200


class Jobs:
    """Jobs of survey versions; `per_token` jobs of one token may wait or run at the same time."""

    def __init__(
        self,
        store: JobStore,
        surveys: SurveyService,
        workers: WorkerStore,
        *,
        missing_worker: MissingWorker,
        per_token: int,
    ) -> None:
        self._store = store
        self._workers = workers
        self._missing_worker = missing_worker
        self._surveys = surveys
        self._per_token = per_token

    def add(self, row: VersionRow, kind: str, parameters: JsonObject, *, token_id: str) -> JobRow:
        """Ask for a job of a kind, which a worker finds within a second.

        `parameters` were checked. Refused is one of a token of which as many wait or run as may.
        """
        job_id = secrets.token_hex(16)
        theirs = self._store.add(
            job_id=job_id,
            version_id=row.id,
            kind=kind,
            parameters=json.dumps(parameters, sort_keys=True),
            token_id=token_id,
            now=self._surveys.now(),
            most=self._per_token,
        )
        if theirs is not None:
            raise Refused(
                "too-many-jobs",
                f"{len(theirs)} jobs of this token wait or run, of at most {self._per_token}; "
                f"wait until one has ended, or cancel one, such as {theirs[-1]}",
                retry_after=RETRY_AFTER_SECONDS,
                jobs=theirs,
            )
        log.info("job-added", job=job_id, kind=kind, survey=row.name, version=row.version)
        return self.find(job_id)

    def find(self, job_id: str) -> JobRow:
        """Return a job, or refuse: ``not-found``."""
        job = self.lookup(job_id)
        if job is None:
            raise Refused(
                "not-found",
                f"there is no job {job_id!r}; a result is kept for some days, a model, "
                "an audit or a regression until it is deleted: ask for the job again",
                field="job_id",
            )
        return job

    def lookup(self, job_id: str) -> JobRow | None:
        """Return a job; None where there is none of this id."""
        return self._store.find(job_id)

    def newest(
        self,
        covers: Callable[[str], bool],
        *,
        survey: str | None = None,
        kind: str | None = None,
        state: str | None = None,
    ) -> list[JobRow]:
        """Return the newest jobs of surveys that `covers` allows, of one, a kind or a state."""
        version_ids = [
            row.id for row in self._surveys.all() if covers(row.name) and survey in (None, row.name)
        ]
        return self._store.newest(MOST_LISTED, version_ids=version_ids, kind=kind, state=state)

    def newest_of(self, row: VersionRow, kind: str) -> list[JobRow]:
        """Return the newest jobs of one kind of a version."""
        return self._store.newest(MOST_LISTED, version_ids=[row.id], kind=kind)

    def cancel(self, job: JobRow, grant: Grant) -> JobRow:
        """End a job; one that has ended stays as it is, and one of another token is refused."""
        self.require_own(job, grant, "cancel")
        self._store.cancel(job.id, now=self._surveys.now())
        return self.find(job.id)

    def forget(self, job: JobRow, grant: Grant, *, noun: str) -> None:
        """Delete a job that has ended, and what it made; `noun` it is, in a word."""
        self.require_own(job, grant, "delete")
        if job.state not in ENDED:
            raise Refused(
                "job-not-done",
                f"the {noun} {job.id} is {job.state}; cancel it first",
                state=job.state,
            )
        self._store.forget_job(job.id)

    def require_own(self, job: JobRow, grant: Grant, act: str) -> None:
        """Refuse to do something to a job of another token, unless it is an administrator's."""
        if job.token_id != grant.token_id and not grant.allows("admin"):
            raise Refused(
                "forbidden",
                f"job {job.id} was asked for by another token; have its holder or an "
                f"administrator {act} it",
                field="Authorization",
                scope="admin",
            )

    def worker_hint(self) -> str | None:
        """Return why the jobs that wait go on waiting; None where a worker is alive."""
        alive = self._workers.any_alive(now=self._surveys.now())
        return None if alive else self._missing_worker.hint()

    def describe(self, job: JobRow) -> JobDocument:
        """Return a job as the API gives it."""
        row = self._surveys.by_id(job.version_id)
        document: JobDocument = {
            "id": job.id,
            "kind": cast("JobName", job.kind),
            "survey": row.name,
            "version": row.version,
            "parameters": json.loads(job.parameters),
            "state": cast("JobState", job.state),
            "attempt": job.attempt,
            "created_at": timestamp(job.created_at),
        }
        hint = self.worker_hint() if job.state == QUEUED else None
        if hint is not None:
            document["hint"] = hint
        if job.started_at is not None:
            document["started_at"] = timestamp(job.started_at)
        if job.state == RUNNING:
            document["worker_alive"] = (job.lease_until or 0) >= self._surveys.now()
        if job.progress is not None and job.state != DONE:
            document["progress"] = json.loads(job.progress)
        if job.finished_at is not None:
            document["finished_at"] = timestamp(job.finished_at)
        if job.state == FAILED:
            document["error"] = {"code": job.error_code or "", "detail": job.error_detail or ""}
        if job.state == DONE:
            document["result"] = {
                "name": job.file_name or "",
                "media_type": job.media_type or "",
                "size": job.size or 0,
            }
        return document

    def result(self, job: JobRow) -> Iterator[bytes]:
        """Return a result, piece by piece; refuse where there is none yet, or none will be.

        A failure with an entry of its own in the problem table is answered with that entry.
        """
        if job.state == DONE:
            return self._store.result(job.id)
        if job.state == FAILED:
            code = job.error_code if job.error_code in PROBLEMS else "job-not-done"
            raise Refused(str(code), f"job {job.id} failed: {job.error_detail}", state=FAILED)
        if job.state == CANCELLED:
            raise Refused("job-cancelled", f"job {job.id} was cancelled", state=CANCELLED)
        raise Refused(
            "job-not-done", f"job {job.id} is {job.state}; ask again later", state=job.state
        )
