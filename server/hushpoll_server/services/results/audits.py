"""Audits of fairness as analysts see them: what was asked for, what was found, their end.

An audit is the result of a job ``fairness``, and has the job's id. It is kept until it is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, JobRow
from hushpoll_server.store.models import ModelStore
from hushpoll_shared.wire.audit_documents import AuditDocument, MetricDocument
from hushpoll_shared.wire.documents import AuditEntry, AuditSummary, ReleaseTimes, ShortMetric

KIND: Final = "fairness"
_KEPT: Final = ("value", "lower", "upper", "conclusion", "withheld")


class Audits:
    """Audits of survey versions."""

    def __init__(self, store: ModelStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    def history(self, row: VersionRow) -> list[AuditEntry]:
        """Return the newest 200 audits of a version, each with what it found once it is done."""
        rows = self._jobs.newest_of(row, KIND)
        cards = self._store.cards([job.id for job in rows if job.state == DONE])
        return [
            {
                "job": self._jobs.describe(job),
                "audit": json.loads(cards[job.id]) if job.id in cards else None,
            }
            for job in rows
        ]

    def find(self, job_id: str) -> JobRow:
        """Return the job of an audit.

        Raises
        ------
        Refused
            ``not-found``: there is none of this id, or none any more.
        """
        job = self._jobs.find(job_id)
        if job.kind != KIND:
            raise Refused("not-found", f"job {job_id!r} is no audit", field="audit_id")
        return job

    def report(self, job: JobRow) -> AuditDocument:
        """Return what an audit says, as `hushpoll fairness --json` prints it.

        Raises
        ------
        Refused
            ``job-not-done``: it waits, runs or has failed; ``job-cancelled``.
        """
        report: AuditDocument = json.loads(b"".join(self._jobs.result(job)))
        return report

    def delete(self, job: JobRow, grant: Grant) -> None:
        """Delete an audit that has ended; raises as ``Jobs.forget``."""
        self._jobs.forget(job, grant, what="audit")


def summary_of(report: AuditDocument, about_release: ReleaseTimes) -> AuditSummary:
    """Return what a list of audits says of one: its groups, and its metrics without the rest.

    Parameters
    ----------
    report : mapping
        The audit, JSON.
    about_release : mapping
        What ``Releases.describe`` says of the release that was audited.
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
        name: cast("ShortMetric", {key: value for key, value in metric.items() if key in _KEPT})
        for name, metric in metrics.items()
    }
