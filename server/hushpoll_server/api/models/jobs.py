"""Requests and answers about background jobs; ``jobs.kinds`` has those of each kind."""

from __future__ import annotations

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Name, Strict
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_shared.wire.documents import JobState


class JobPath(Strict):
    """A job by its id."""

    job_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The job's id.")


class JobResult(Answer):
    """The file that a job made."""

    name: str
    media_type: str
    size: int = Field(description="Bytes.")


class JobError(Answer):
    """Why a job has no result."""

    code: str = Field(description="Of the problem table, or `worker-lost`.")
    detail: str


class JobProgress(Answer):
    """How far a job is, or was when it ended without a result."""

    text: str = Field(description="What it does now.")
    done: int = Field(description="Steps of that which are done.")
    total: int | None = Field(None, description="Of how many, where it is known.")
    unit: str = Field(description="What a step is, in the plural.")


class JobAnswer(Answer):
    """A job."""

    id: str
    kind: str = Field(json_schema_extra={"enum": list(KINDS)})
    survey: str = Name
    version: int
    parameters: dict[str, object]
    state: JobState
    hint: str | None = Field(
        None, description="Of a job that waits and that no worker would take now: what to do."
    )
    attempt: int = Field(description="How many workers have begun with it.")
    created_at: str
    started_at: str | None = Field(None, description="UTC; when a worker last began with it.")
    worker_alive: bool | None = Field(
        None, description="Of a job that runs: whether its worker was heard of lately."
    )
    progress: JobProgress | None = Field(
        None, description="As of a second ago or less, while its worker is alive."
    )
    finished_at: str | None = None
    result: JobResult | None = None
    error: JobError | None = None


class JobQuery(Strict):
    """Which jobs are listed."""

    survey: str | None = Field(None, description="Name of the one survey whose jobs are listed.")
    kind: str | None = Field(
        None, pattern=f"^({'|'.join(KINDS)})$", description="The one kind that is listed."
    )
    state: JobState | None = Field(None, description="The one state that is listed.")


class JobList(Answer):
    """The newest 200 jobs of the surveys that the token is for, the newest first."""

    jobs: list[JobAnswer]
