"""Kept results: what jobs made that stays until it is deleted, and has its job's id.

A kind of job whose results are kept is a class here: models, audits, regressions. What they have in
common is written once, here and in ``api.resources.kept_results``: a list, one of them, the right
to see and to delete it, and the words of the action log.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Generic, TypeVar, cast

from hushpoll_server.errors import Refused
from hushpoll_server.services.people.actions import Actions
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, JobRow
from hushpoll_server.store.models import ModelStore
from hushpoll_shared.wire.job_kinds import JOB_KINDS

E = TypeVar("E")
"""What a list says of one: its job, and a summary."""


class KeptResults(Generic[E]):
    """Kept results of one kind of job, of survey versions.

    Attributes
    ----------
    kind : str
        Of the jobs, in ``JOB_KINDS``.
    noun : str
        What routes, files and the action log call one; its plural ends in s.
    work : str
        What messages call the job that makes one.
    """

    kind: ClassVar[str]
    noun: ClassVar[str]
    work: ClassVar[str]

    def __init__(
        self, store: ModelStore, jobs: Jobs, surveys: SurveyService, actions: Actions
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._surveys = surveys
        self._actions = actions

    @property
    def scope(self) -> str:
        """Scope of the token that may ask for one and delete it."""
        return JOB_KINDS[self.kind].scope

    def history(self, row: VersionRow) -> list[E]:
        """Return the newest 200 of a version: the job, and a summary once it is done."""
        rows = self._jobs.newest_of(row, self.kind)
        cards = self._store.cards([job.id for job in rows if job.state == DONE])
        return [self._entry(job, cards.get(job.id)) for job in rows]

    def list_for(self, actor: str, row: VersionRow) -> list[E]:
        """Return `history`, and record that it was looked at."""
        self._actions.looked(actor, f"{self.noun}s", row.name, row.version)
        return self.history(row)

    def find(self, job_id: str) -> JobRow:
        """Return the job.

        Raises
        ------
        Refused
            ``not-found``: there is none of this id and kind, or none any more.
        """
        job = self._jobs.find(job_id)
        if job.kind != self.kind:
            raise Refused("not-found", f"job {job_id!r} is no {self.work}", field=f"{self.noun}_id")
        return job

    def of_version(self, row: VersionRow, job_id: str) -> JobRow:
        """Return the job of a version; one of another version or survey is not found."""
        job = self.find(job_id)
        if job.version_id != row.id:
            raise Refused("not-found", f"there is no {self.noun} {job_id[:32]!r} of this version")
        return job

    def covered(self, job_id: str, grant: Grant) -> tuple[JobRow, VersionRow]:
        """Return the job and its version; refuse one of a survey that the token is not for.

        Raises
        ------
        Refused
            ``not-found``, ``forbidden``.
        """
        job = self.find(job_id)
        row = self._surveys.by_id(job.version_id)
        grant.require_survey(row.name)
        return job, row

    def document(self, job: JobRow) -> Any:
        """Return the result as JSON.

        Raises
        ------
        Refused
            ``job-not-done``: it waits, runs or has failed; ``job-cancelled``.
        """
        return json.loads(b"".join(self._jobs.result(job)))

    def delete(self, job: JobRow, grant: Grant, *, actor: str) -> None:
        """Delete one that has ended, and record who did; raises as ``Jobs.forget``."""
        row = self._surveys.by_id(job.version_id)
        self._jobs.forget(job, grant, noun=self.work)
        self._actions.record(
            actor, f"deleted-{self.noun}", survey=row.name, version=row.version, subject=job.id
        )

    def summary(self, card: Any) -> Any:
        """Return what a list says of one, out of the card that is kept beside its result."""
        return card

    def _entry(self, job: JobRow, text: str | None) -> E:
        found = None if text is None else self.summary(json.loads(text))
        return cast("E", {"job": self._jobs.describe(job), self.noun: found})
