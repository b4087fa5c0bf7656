"""Models as analysts see them: the trainings of a survey's version, their cards, their end.

A model is the result of a job ``train``, and has the job's id. It is kept until it is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.wire.documents import ModelSummary, TrainingRun


class Models(KeptResults[TrainingRun]):
    """Trainings and their models."""

    kind = "train"
    noun = "model"
    work = "training"

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
        runs = []
        for job_id in dict.fromkeys(ids):
            # no id has another character, and PostgreSQL takes no NUL in a text
            job = self._jobs.lookup(job_id) if job_id.isalnum() else None
            wanted = job is not None and (job.version_id, job.kind) == (row.id, self.kind)
            text = self._store.cards([job_id]).get(job_id) if wanted else None
            if job is None or text is None:
                raise Refused("not-found", f"there is no model {job_id[:32]!r} of this version")
            runs.append(self._entry(job, text))
        return runs

    def summary(self, card: Any) -> ModelSummary:
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
