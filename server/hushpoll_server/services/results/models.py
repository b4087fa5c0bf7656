"""Models as analysts see them: the trainings of a survey's version, their cards, their end.

A model is the result of a job ``train``, and has the job's id. It is kept until it is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, JobRow, JobStore
from hushpoll_server.store.models import ModelStore
from hushpoll_shared.wire.documents import ModelSummary, TrainingRun

KIND: Final = "train"


class Models:
    """Trainings and their models."""

    def __init__(
        self, store: ModelStore, job_store: JobStore, jobs: Jobs, surveys: SurveyService
    ) -> None:
        self._store = store
        self._job_store = job_store
        self._jobs = jobs
        self._surveys = surveys

    def runs(self, row: VersionRow) -> list[TrainingRun]:
        """Return the newest 200 trainings of a version, each with what is said of its model."""
        rows = self._jobs.newest_of(row, KIND)
        cards = self._store.cards([job.id for job in rows if job.state == DONE])
        return [self._run(job, cards.get(job.id)) for job in rows]

    def find(self, job_id: str) -> JobRow:
        """Return the job that trained a model, or was to.

        Raises
        ------
        Refused
            ``not-found``: there is none of this id, or none any more.
        """
        job = self._jobs.find(job_id)
        if job.kind != KIND:
            raise Refused("not-found", f"job {job_id!r} is no training", field="model_id")
        return job

    def card(self, job: JobRow) -> dict[str, Any]:
        """Return a model's card.

        Raises
        ------
        Refused
            ``job-not-done``: its training waits, runs or has failed; ``job-cancelled``.
        """
        self._jobs.result(job)  # which refuses one that is not done
        text = self._store.cards([job.id]).get(job.id)
        if text is None:
            raise Refused(
                "not-found",
                f"the model {job.id!r} was trained by an earlier release and has its card in its "
                "file alone; fetch that",
                field="model_id",
            )
        card: dict[str, Any] = json.loads(text)
        return card

    def compared(self, row: VersionRow, ids: Sequence[str]) -> list[TrainingRun]:
        """Return trainings of a version that are done, however old, in the order of their ids.

        Raises
        ------
        Refused
            ``not-found``: there is no such training of this version, or it has no model.
        """
        chosen = list(dict.fromkeys(ids))
        # no id has another character, and PostgreSQL takes no NUL in a text
        rows = [self._job_store.find(job_id) if job_id.isalnum() else None for job_id in chosen]
        cards = self._store.cards([job.id for job in rows if job is not None])
        runs = []
        for job_id, job in zip(chosen, rows, strict=True):
            if job is None or (job.version_id, job.kind) != (row.id, KIND) or job.id not in cards:
                raise Refused("not-found", f"there is no model {job_id[:32]!r} of this version")
            runs.append(self._run(job, cards[job.id]))
        return runs

    def delete(self, job: JobRow, grant: Grant) -> None:
        """Delete a training that has ended, its model and its card.

        Raises
        ------
        Refused
            As ``Jobs.forget``.
        """
        self._jobs.forget(job, grant, what="training")

    def _run(self, job: JobRow, text: str | None) -> TrainingRun:
        return {
            "job": self._jobs.describe(job),
            "model": None if text is None else _about(json.loads(text)),
        }


def _about(card: Mapping[str, Any]) -> ModelSummary:
    """Return what a list of models says of one, out of its card."""
    model, privacy = card["model"], card["model"]["privacy"]
    return {
        "learner": model["learner"],
        "encoding": model["encoding"],
        "parameters": model["parameters"],
        "seed": model["seed"],
        "rows": card["data"]["rows"].get("fitted"),
        "local_epsilon": card["survey"]["epsilon"],
        "epsilon": privacy.get("epsilon"),
        "delta": privacy.get("delta"),
        "accountant": privacy.get("accountant"),
        "protections": card["protections"],
        "on_records": card.get("on_records"),
    }
