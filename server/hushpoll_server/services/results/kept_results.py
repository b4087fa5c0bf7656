"""Kept results: what jobs made that stays until it is deleted, and has its job's id.

A kind of job whose results are kept says in its declaration what they are called; it is a class
here: models, audits, regressions. A list, one of them, and the right to see and to delete it are
written once, here and in ``api.resources.kept_results``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_server.errors import Refused
from hushpoll_server.services.people.actions import Actions
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, JobRow, JobStore
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.jobs.job import KeptJob
from hushpoll_shared.jobs.training import Fairness, Train
from hushpoll_shared.wire.documents.audits import AuditDocument, MetricDocument
from hushpoll_shared.wire.documents.kept_results import (
    AuditEntry,
    AuditSummary,
    ModelSummary,
    RegressionEntry,
    RegressionSummary,
    Run,
    ShortMetric,
)
from hushpoll_shared.wire.documents.regressions import RegressionDocument
from hushpoll_shared.wire.documents.surveys import ReleaseTimes

E = TypeVar("E")
"""What a list says of one: its job, and a summary."""


class KeptResults(Generic[E]):
    """Kept results of one kind of job, of survey versions."""

    job: ClassVar[type[KeptJob]]
    """The job that makes one."""

    def __init__(
        self, store: JobStore, jobs: Jobs, surveys: SurveyService, actions: Actions
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._surveys = surveys
        self._actions = actions

    @property
    def noun(self) -> str:
        """What routes, files and the action log call one."""
        return self.job.kept.noun

    def history(self, row: VersionRow) -> list[E]:
        """Return the newest 200 of a version: the job, and a summary once it is done."""
        rows = self._jobs.newest_of(row, self.job.name)
        cards = self._store.cards([job.id for job in rows if job.state == DONE])
        return [self._entry(job, cards.get(job.id)) for job in rows]

    def list_for(self, actor: str, row: VersionRow) -> list[E]:
        """Return `history`, and record that it was looked at."""
        self._actions.looked(actor, f"{self.noun}s", row.name, row.version)
        return self.history(row)

    def find(self, job_id: str) -> JobRow:
        """Return the job; refuse one that there is not, or of another kind."""
        job = self._jobs.find(job_id)
        if job.kind != self.job.name:
            raise Refused(
                "not-found", f"job {job_id!r} is no {self.job.kept.maker}", field=f"{self.noun}_id"
            )
        return job

    def of_version(self, row: VersionRow, job_id: str) -> JobRow:
        """Return the job of a version; one of another version or survey is not found."""
        job = self.find(job_id)
        if job.version_id != row.id:
            raise Refused("not-found", f"there is no {self.noun} {job_id[:32]!r} of this version")
        return job

    def covered(self, job_id: str, grant: Grant) -> tuple[JobRow, VersionRow]:
        """Return the job and its version; refuse one of a survey that the token is not for."""
        job = self.find(job_id)
        row = self._surveys.by_id(job.version_id)
        grant.require_survey(row.name)
        return job, row

    def document(self, job: JobRow) -> Any:
        """Return the result as JSON; refuse one that is not done."""
        return json.loads(b"".join(self._jobs.result(job)))

    def delete(self, job: JobRow, grant: Grant, *, actor: str) -> None:
        """Delete one that has ended, and record who did; raises as ``Jobs.forget``."""
        row = self._surveys.by_id(job.version_id)
        self._jobs.forget(job, grant, noun=self.job.kept.maker)
        self._actions.record(
            actor, f"deleted-{self.noun}", survey=row.name, version=row.version, subject=job.id
        )

    def summary(self, card: Any) -> Any:
        """Return what a list says of one, out of the card that is kept beside its result."""
        return card

    def _entry(self, job: JobRow, text: str | None) -> E:
        found = None if text is None else self.summary(json.loads(text))
        return cast("E", {"job": self._jobs.describe(job), self.noun: found})


class Models(KeptResults[Run]):
    """Trainings and their models."""

    job = Train

    def card(self, job: JobRow) -> dict[str, Any]:
        """Return a model's card; refuse one that is not done."""
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

    def compared(self, row: VersionRow, ids: Sequence[str]) -> list[Run]:
        """Return trainings of a version that are done, however old, in the order of their ids.

        A training that is none of this version, or has no model, is refused.
        """
        runs = []
        for job_id in dict.fromkeys(ids):
            # no id has another character, and PostgreSQL takes no NUL in a text
            job = self._jobs.lookup(job_id) if job_id.isalnum() else None
            wanted = job is not None and (job.version_id, job.kind) == (row.id, self.job.name)
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


_SHORT: Final = ("value", "lower", "upper", "conclusion", "withheld")


class Audits(KeptResults[AuditEntry]):
    """Audits of survey versions."""

    job = Fairness

    def report(self, job: JobRow) -> AuditDocument:
        """Return what it says, as `hushpoll fairness --json` prints it; raises as `document`."""
        found: AuditDocument = self.document(job)
        return found


def summary_of_audit(report: AuditDocument, about_release: ReleaseTimes) -> AuditSummary:
    """Return what a list of audits says of one: its groups, and its metrics without the rest.

    `about_release` is what ``Releases.describe`` says of the release that was audited.
    """
    about = report["protected"]
    several = report.get("groups")
    summary: AuditSummary = {
        "n": report["n"],
        "confidence": report["confidence"],
        "released_at": about_release["released_at"],
        "attribute": about["attribute"],
        "privileged": about["privileged"] if several is None else about["reference"],
        "unprivileged": (
            about["unprivileged"] if several is None else [one["group"] for one in several]
        ),
        "together": report.get("together"),
        "metrics": None,
        "largest": None,
        "disparities": None,
    }
    if several is None:
        summary["metrics"] = _short(report["metrics"])
        return summary
    conclusions = [
        metric.get("conclusion") for group in several for metric in group["metrics"].values()
    ]
    summary["largest"] = _short(report["largest"]) if "largest" in report else None
    summary["disparities"] = {
        conclusion: conclusions.count(conclusion)
        for conclusion in ("disparity", "no disparity found", "cannot conclude")
    }
    return summary


def _short(metrics: Mapping[str, MetricDocument]) -> dict[str, ShortMetric]:
    return {
        name: cast("ShortMetric", {key: value for key, value in metric.items() if key in _SHORT})
        for name, metric in metrics.items()
    }


class Regressions(KeptResults[RegressionEntry]):
    """Regressions of survey versions."""

    job = Regress

    def result(self, job: JobRow) -> RegressionDocument:
        """Return what it says, as `hushpoll regress --json` prints it; raises as `document`."""
        found: RegressionDocument = self.document(job)
        return found


def summary_of_regression(
    document: RegressionDocument, variables: Sequence[str], about_release: ReleaseTimes
) -> RegressionSummary:
    """Return what a list of regressions says of one; `variables` has the outcome first.

    `about_release` is what ``Releases.describe`` says of the release that it is of.
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
        "smallest_group": document.get("smallest_group"),
    }


def why_withheld(
    groups: ClearGroups,
    found: Mapping[str, object],
    names: Collection[str],
    *,
    complete: bool,
) -> str | None:
    """Return why a reader without the right to export does not see a result; None: they do.

    `names` are the attributes that it is about; `complete` says whether it is of all reports that
    will ever be.
    """
    kept_to = found.get(
        "smallest_group"
    )  # regressions have it, but for those of an earlier release
    if isinstance(kept_to, int) and kept_to >= groups.smallest:
        return None
    return groups.why_not_kept(names, complete=complete)
