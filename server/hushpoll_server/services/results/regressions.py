"""Regressions as analysts see them: what was asked for, what was found, their end.

A regression is the result of a job ``regress``, and has the job's id. It is kept until it is
deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, JobRow
from hushpoll_server.store.models import ModelStore

KIND: Final = "regress"


class Regressions:
    """Regressions of survey versions."""

    def __init__(self, store: ModelStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    def history(self, row: VersionRow) -> list[dict[str, Any]]:
        """Return the newest 200 of a version, each with what it found once it is done."""
        rows = self._jobs.newest_of(row, KIND)
        cards = self._store.cards([job.id for job in rows if job.state == DONE])
        return [
            {
                "job": self._jobs.describe(job),
                "regression": json.loads(cards[job.id]) if job.id in cards else None,
            }
            for job in rows
        ]

    def find(self, job_id: str) -> JobRow:
        """Return the job of a regression.

        Raises
        ------
        Refused
            ``not-found``: there is none of this id, or none any more.
        """
        job = self._jobs.find(job_id)
        if job.kind != KIND:
            raise Refused("not-found", f"job {job_id!r} is no regression", field="regression_id")
        return job

    def result(self, job: JobRow) -> dict[str, Any]:
        """Return what a regression says, as `hushpoll regress --json` prints it.

        Raises
        ------
        Refused
            ``job-not-done``: it waits, runs or has failed; ``job-cancelled``.
        """
        result: dict[str, Any] = json.loads(b"".join(self._jobs.result(job)))
        return result

    def delete(self, job: JobRow, grant: Grant) -> None:
        """Delete a regression that has ended; raises as ``Jobs.forget``."""
        self._jobs.forget(job, grant, what="regression")


def summary_of(
    document: Mapping[str, Any], variables: Sequence[str], about_release: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a list of regressions says of one.

    Parameters
    ----------
    document : mapping
        The regression, JSON.
    variables : sequence of str
        The attributes that it reads, the outcome first.
    about_release : mapping
        What ``Releases.describe`` says of the release that it is of.
    """
    return {
        "n": document["n"],
        "confidence": document["confidence"],
        "released_at": about_release["released_at"],
        "formula": document["formula"],
        "family": document["family"],
        "outcome": document["outcome"]["name"],
        "predictors": list(variables[1:]),
        "verdict": document["verdict"]["says"],
        "converged": document["convergence"]["converged"],
        "sentences": list(document["sentences"]),
    }
