"""Results of jobs that are kept until they are deleted, and have their job's id."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, JobRow
from hushpoll_server.store.models import ModelStore


class KeptJobs:
    """Jobs of one kind, of survey versions; a kind is a class of its own.

    Attributes
    ----------
    kind : str
        Of the jobs.
    noun : str
        What messages call one.
    """

    kind: ClassVar[str]
    noun: ClassVar[str]

    def __init__(self, store: ModelStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    def newest(self, row: VersionRow) -> list[tuple[JobRow, Any]]:
        """Return the newest 200 of a version, each with its summary; None until it is done."""
        rows = self._jobs.newest_of(row, self.kind)
        cards = self._store.cards([job.id for job in rows if job.state == DONE])
        return [(job, json.loads(cards[job.id]) if job.id in cards else None) for job in rows]

    def find(self, job_id: str) -> JobRow:
        """Return the job.

        Raises
        ------
        Refused
            ``not-found``: there is none of this id and kind, or none any more.
        """
        job = self._jobs.find(job_id)
        if job.kind != self.kind:
            raise Refused("not-found", f"job {job_id!r} is no {self.noun}", field=f"{self.noun}_id")
        return job

    def document(self, job: JobRow) -> Any:
        """Return what was found, as JSON.

        Raises
        ------
        Refused
            ``job-not-done``: it waits, runs or has failed; ``job-cancelled``.
        """
        return json.loads(b"".join(self._jobs.result(job)))

    def delete(self, job: JobRow, grant: Grant) -> None:
        """Delete one that has ended; raises as ``Jobs.forget``."""
        self._jobs.forget(job, grant, what=self.noun)
