"""Background jobs: asked for, looked at, their results fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from hushpoll_analysis.poisoning.report_shape import ALPHA
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.http import models
from hushpoll_server.http.answers import json_answer
from hushpoll_server.http.current import services
from hushpoll_server.http.endpoint import current_grant, endpoint
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.store.tables.surveys import VersionRow
from hushpoll_shared.survey.published import Published

api = APIBlueprint(
    "jobs", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="jobs")], abp_security=BEARER
)
VERSION = "/surveys/<name>/versions/<int:version>/jobs"


class JobPath(models.Strict):
    """A job by its id."""

    job_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The job's id.")


class TrainBody(models.Strict):
    """How a model is fitted."""

    seed: int = Field(0, ge=0, le=2**31 - 1, strict=True, description="Of the learner.")
    parameters: dict[str, int | float] = Field(
        default_factory=dict,
        max_length=64,
        description="Of LightGBM, as hushpoll train names them.",
    )
    encoding: Literal["indicator", "posterior"] = Field(
        "indicator", description="How records become features."
    )


class ExpectedShares(models.Strict):
    """What is known of the population beforehand: declared, or found by an earlier survey."""

    unprivileged: float = Field(
        0.5, gt=0, lt=1, description="Of the people in either group, those in the unprivileged one."
    )
    positive: float = Field(
        0.3, gt=0, lt=1, description="Of the unprivileged group, those predicted positive."
    )
    base: float = Field(0.3, gt=0, lt=1, description="Those with a positive label.")


class FairnessBody(TrainBody):
    """How fairness is estimated from the records alone."""

    folds: int = Field(
        5, ge=2, le=100, strict=True, description="Parts to cross-fit: each is audited unseen."
    )
    protected_input: Literal["dropped", "each-value"] = Field(
        "dropped",
        description="What the models get of the protected attribute, never its record: nothing, or "
        "each of its values in turn.",
    )
    groups: str | None = Field(
        None,
        description="An attribute whose categories are compared with `reference`; by default the "
        "two groups of the manifest are.",
    )
    reference: str | None = Field(None, description="A category of `groups`.")
    confidence: float = Field(0.95, ge=0.01, le=0.999, description="Of the intervals.")
    expected: ExpectedShares | None = Field(
        None,
        description="What a survey of this size can find is said for these shares; by default for "
        "those that the records give.",
    )


class ShapeBody(models.Strict):
    """How readily reports are said to look like none that devices make."""

    alpha: float = Field(
        ALPHA,
        ge=1e-9,
        le=0.5,
        description="Chance, at most, that a survey without a fake is flagged.",
    )


class JobResult(BaseModel):
    """The file that a job made."""

    name: str
    media_type: str
    size: int = Field(description="Bytes.")


class JobError(BaseModel):
    """Why a job has no result."""

    code: str = Field(description="Of the problem table, or `worker-lost`.")
    detail: str


class JobAnswer(BaseModel):
    """A job."""

    id: str
    kind: Literal["fold", "export", "train", "fairness", "shape"]
    survey: str
    version: int
    parameters: dict[str, Any]
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    attempt: int = Field(description="How many workers have begun with it.")
    created_at: str
    finished_at: str | None = None
    result: JobResult | None = None
    error: JobError | None = None


@api.post(VERSION + "/fold", responses={202: JobAnswer, **problems(401, 403, 404, 429)})
@endpoint("publish")
def fold(path: models.VersionPath) -> Response:
    """Ask a worker to seal what waits, if it is at least a minimum batch or the survey is over."""
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    return _accepted(row, "fold", {})


@api.post(
    VERSION + "/export",
    responses={202: JobAnswer, **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 429)},
)
@endpoint("read")
def export(path: models.VersionPath, body: models.ExportQuery) -> Response:
    """Ask a worker for a file of the version's records, for one too large to wait for."""
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.exports.check(row, **body.model_dump())
    return _accepted(row, "export", body.model_dump())


@api.post(
    VERSION + "/train",
    responses={202: JobAnswer, **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 429)},
)
@endpoint("train")
def train(path: models.VersionPath, body: TrainBody) -> Response:
    """Ask a worker to fit a model to the version's records.

    The result is a ZIP of what `hushpoll train --out` writes; `hushpoll predict` reads it. Fetching
    it takes the scope `read`.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    _check_size(body.parameters)
    parts.analysis.require_records(row)
    return _accepted(row, "train", body.model_dump())


@api.post(
    VERSION + "/fairness",
    responses={202: JobAnswer, **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 429)},
)
@endpoint("train")
def fairness(path: models.VersionPath, body: FairnessBody) -> Response:
    """Ask a worker for group metrics with intervals, estimated from the records alone.

    Models are cross-fitted, so that none saw what it is audited on. Refused for a survey without a
    protected attribute or a target; where an interval has no bound, the result has null and says
    that it cannot conclude. It is the JSON that `hushpoll fairness --json` prints. Fetching it
    takes the scope `read`.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    _check_size(body.parameters)
    _check_auditable(parts.surveys.published(row), body)
    parts.analysis.require_records(row)
    return _accepted(row, "fairness", body.model_dump())


@api.post(
    VERSION + "/shape",
    responses={202: JobAnswer, **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 429)},
)
@endpoint("read")
def shape(path: models.VersionPath, body: ShapeBody) -> Response:
    """Ask a worker whether the reports look like those that devices make.

    Parts of a record's form have a law that no answer changes, such as the number of bits that OUE
    sets, and fakes that were made without care miss it. The result is JSON: per attribute a p-value
    and what deviates most, and `flagged`. GRR, SS and answers in clear leave nothing to test. A
    careful fake is not found: what those can do stands beside each estimate as `poisoning`.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.analysis.require_records(row)
    return _accepted(row, "shape", body.model_dump())


@api.get("/jobs/<job_id>", responses={200: JobAnswer, **problems(401, 403, 404, 422)})
@endpoint("read")
def show(path: JobPath) -> Response:
    """Look at a job."""
    parts = services()
    return json_answer(parts.jobs.describe(parts.jobs.find(path.job_id)))


@api.post("/jobs/<job_id>/cancel", responses={200: JobAnswer, **problems(401, 403, 404, 422)})
@endpoint("read")
def cancel(path: JobPath) -> Response:
    """End a job that waits or runs; one that has ended stays as it is.

    For the token that asked for it, and for administrators. A process that trains is ended within
    seconds, and its worker takes the next job.
    """
    jobs = services().jobs
    return json_answer(jobs.describe(jobs.cancel(jobs.find(path.job_id), current_grant())))


@api.get(
    "/jobs/<job_id>/result",
    responses={
        200: {
            "description": "The file that the job made.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        },
        **problems(401, 403, 404, 409, 410, 422, 501, 503),
    },
)
@endpoint("read")
def result(path: JobPath) -> Response:
    """Fetch what a job made; refused until it is done."""
    parts = services()
    job = parts.jobs.find(path.job_id)
    answer = Response(parts.jobs.result(job), mimetype=job.media_type)
    answer.headers["Content-Length"] = str(job.size)
    answer.headers["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _check_auditable(published: Published, body: FairnessBody) -> None:
    """Refuse at once what a worker would refuse after its turn."""
    if published.protected is None and body.groups is None:
        raise InvalidParameter(
            f"survey {published.name} declares no protected attribute, so there are no groups to "
            "compare; name an attribute in groups, or publish a version with `protected`",
            field="protected",
        )
    target = published.target
    if target is None or target.positive is None:
        raise InvalidParameter(
            f"survey {published.name} has no target with a positive category, so there is nothing "
            "to predict; publish a version that has one",
            field="target",
        )
    if body.groups is not None:
        published.attribute(body.groups)


def _accepted(row: VersionRow, kind: str, parameters: Mapping[str, Any]) -> Response:
    jobs = services().jobs
    job = jobs.add(row, kind, parameters, token_id=current_grant().token_id)
    return json_answer(jobs.describe(job), 202, {"Location": f"/api/v1/jobs/{job.id}"})


def _check_size(parameters: Mapping[str, int | float]) -> None:
    """Refuse a model larger than a worker is there for."""
    settings = services().settings
    for name, most in (
        ("n_estimators", settings.job_max_trees),
        ("num_leaves", settings.job_max_leaves),
        ("max_bin", settings.job_max_bins),
    ):
        if parameters.get(name, 0) > most:
            raise InvalidParameter(
                f"{name} is {parameters[name]}, above {most}, which is the most of a job on this "
                "server; give less, or export the records and train elsewhere",
                field=f"parameters.{name}",
            )
