"""Background jobs: asked for, looked at, cancelled, their results fetched.

There is a route for each kind of job, made from its declaration.
"""

from __future__ import annotations

import inspect
import json

from flask import Response
from pydantic import Field

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes, address_of
from hushpoll_server.http.bodies import Parameters, model_of
from hushpoll_server.http.endpoint import Answered, current_grant, file_answer, log_act, services
from hushpoll_server.http.tables import TableQuery, table_file
from hushpoll_server.jobs.kinds import KINDS, JobKind
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.jobs.registry import all_jobs
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.tables.table_files import TABLE_FORMATS
from hushpoll_shared.wire.documents.jobs import JobDocument, JobList, JobState


class JobPath(Parameters):
    """A job by its id."""

    job_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The job's id.")


class JobQuery(Parameters):
    """Which jobs are listed."""

    survey: str | None = Field(None, description="Name of the one survey whose jobs are listed.")
    kind: str | None = Field(
        None, pattern=f"^({'|'.join(KINDS)})$", description="The one kind that is listed."
    )
    state: JobState | None = Field(None, description="The one state that is listed.")


api = Routes("jobs")


def _add_route(kind: JobKind) -> None:
    """Add the route that asks for a job of a kind."""

    def ask(row: VersionRow, body: Parameters) -> Answered[JobDocument]:
        parts = services()
        grant = current_grant()
        job = kind.ask(parts, row, body.as_json(), by=grant.token_id, actor=grant.actor)
        return Answered(parts.jobs.describe(job), headers={"Location": address_of("jobs", job.id)})

    # The name of the operation, its text and its body in the document.
    ask.__name__, ask.__doc__ = kind.name, inspect.getdoc(kind.declared)
    ask.__annotations__["body"] = model_of(kind.declared)
    api.operation(
        "POST",
        f"{VERSION}/jobs/{kind.name}",
        *(409, 410, 501),
        scope=kind.declared.scope,
        status=202,
        act=f"asked-for-{kind.name}",
    )(ask)


for _kind in KINDS.values():
    _add_route(_kind)


@api.operation("GET", "/jobs", scope="read")
def list_jobs(query: JobQuery) -> JobList:
    """List the newest 200 jobs of the surveys that the token is for, the newest first."""
    jobs = services().jobs
    rows = jobs.newest(
        current_grant().covers, survey=query.survey, kind=query.kind, state=query.state
    )
    return {"jobs": [jobs.describe(row) for row in rows]}


@api.operation("GET", "/jobs/<job_id>", scope="read")
def show(path: JobPath) -> JobDocument:
    """Look at a job."""
    return services().jobs.describe(_covered(path))


@api.operation(
    "POST",
    "/jobs/<job_id>/cancel",
    scope=("read", "train", "publish"),
    act="cancelled-job",
)
def cancel(path: JobPath) -> JobDocument:
    """End a job that waits or runs; one that has ended stays as it is.

    For the token that asked for it, and for administrators: a token that may ask for a job may
    cancel it. A process that trains is ended within seconds, and its worker takes the next job.
    """
    jobs = services().jobs
    return jobs.describe(jobs.cancel(_covered(path), current_grant()))


@api.operation(
    "GET",
    "/jobs/<job_id>/result",
    409,
    410,
    501,
    503,
    answer=file_of("The file that the job made.", ["application/octet-stream"]),
    scope="read",
    act="fetched",
)
def result(path: JobPath, query: TableQuery) -> Response:
    """Fetch what a job made; refused until it is done.

    Of a joint table, weighted shares, dependencies, fairness, regressions and the reports' shape,
    which are JSON, `format` gives the table as `csv` or `xlsx`.
    """
    parts, job = services(), _covered(path)
    row = parts.surveys.by_id(job.version_id)
    form = query.format
    statistic = all_jobs()[job.kind].table
    if form in TABLE_FORMATS and statistic is None:
        raise InvalidParameter(
            f"format is {form!r}, and a job of the kind {job.kind} makes no table; leave "
            "format out",
            field="format",
        )
    blocks = parts.jobs.result(job)
    log_act(row, subject=job.id, kind=job.kind)
    if statistic is not None and form is not None and form in TABLE_FORMATS:
        table = table_of(statistic, json.loads(b"".join(blocks)))
        name = f"{row.name}-{row.version}-{job.kind}"
        return table_file(form, name, table, parts.surveys.published(row))
    return file_answer(blocks, str(job.media_type), str(job.file_name), job.size)


def _covered(path: JobPath) -> JobRow:
    """Return a job; refuse one of a survey that the token is not for."""
    parts = services()
    job = parts.jobs.find(path.job_id)
    current_grant().require_survey(parts.surveys.by_id(job.version_id).name)
    return job
