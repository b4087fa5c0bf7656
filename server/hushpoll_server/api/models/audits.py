"""Answers about audits of fairness."""

from __future__ import annotations

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Strict
from hushpoll_server.api.models.jobs import JobAnswer


class AuditPath(Strict):
    """An audit by the id of its job."""

    audit_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The id of the job `fairness`.")


class AuditSummary(Answer):
    """What a list says of an audit; the job's result says all."""

    n: int = Field(description="Records.")
    confidence: float
    released_at: str | None = Field(
        None, description="Of the release that was audited; null if the survey releases at once."
    )
    attribute: str = Field(description="Whose categories are the groups.")
    privileged: list[str] = Field(description="Of several groups: the reference.")
    unprivileged: list[str] = Field(description="Of several groups: each of them.")
    together: str | None = Field(None, description="How several groups are taken together.")
    metrics: dict[str, dict[str, object]] | None = Field(
        None,
        description="Of two groups: value, interval and conclusion of each metric; null where "
        "there is none.",
    )
    largest: dict[str, dict[str, object]] | None = Field(
        None,
        description="Of several groups whose intervals hold together: the largest disparity.",
    )
    disparities: dict[str, int] | None = Field(
        None, description="Of several groups: how many metrics of groups have each conclusion."
    )


class AuditEntry(Answer):
    """An audit, with what it found once it is done."""

    job: JobAnswer
    audit: AuditSummary | None = None


class AuditList(Answer):
    """The newest 200 audits of a survey's version, the newest first."""

    audits: list[AuditEntry]
