"""Audits of fairness as analysts see them: what was asked for, what was found, their end.

An audit is the result of a job ``fairness``, and has the job's id. It is kept until it is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.wire.audit_documents import AuditDocument, MetricDocument
from hushpoll_shared.wire.documents import AuditEntry, AuditSummary, ReleaseTimes, ShortMetric

_KEPT: Final = ("value", "lower", "upper", "conclusion", "withheld")


class Audits(KeptResults[AuditEntry]):
    """Audits of survey versions."""

    kind = "fairness"
    noun = work = "audit"

    def report(self, job: JobRow) -> AuditDocument:
        """Return what it says, as `hushpoll fairness --json` prints it; raises as `document`."""
        found: AuditDocument = self.document(job)
        return found


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
