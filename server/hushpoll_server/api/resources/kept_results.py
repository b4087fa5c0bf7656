"""Kept results of a survey's version: models, audits, regressions; and what may be trained.

The result of an audit or a regression is its job's; a model has a card and a file besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response
from pydantic import Field

from hushpoll_server.api.models.common import Answer, Strict, VersionPath
from hushpoll_server.api.models.jobs import JobAnswer
from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.endpoint import current_grant, file_answer, json_answer, log_act, services
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.services import Services
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.jobs.job import KeptJob
from hushpoll_shared.jobs.training import Fairness, Train


class ModelPath(Strict):
    """A model by the id of the job that trained it."""

    model_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The id of the job `train`.")


class Protection(Answer):
    """One thing that a training read, from whom it is protected, and by what."""

    what: str
    from_whom: str
    how: str


class ModelSummary(Answer):
    """What a list says of a model; its card says all."""

    learner: str = Field(description="In words.")
    encoding: str
    parameters: dict[str, object]
    seed: int
    rows: int | None = Field(None, description="Records that it was fitted to.")
    local_epsilon: str = Field(description="Of the survey: what each respondent spends at most.")
    epsilon: float | None = Field(
        None, description="Of central differential privacy, besides; null without such a claim."
    )
    delta: float | None = None
    accountant: str | None = None
    protections: list[Protection]
    on_records: dict[str, object] | None = Field(
        None,
        description="`accuracy`, `constant` (always the more frequent class) and `gain`, their "
        "difference, with intervals, `verdict`, whether it predicts better than a constant, and "
        "`fairness`, as predictions on perturbed records have them; null unless the training was "
        "asked for with `folds`.",
    )


class Run(Answer):
    """A training, with its model once it is done."""

    job: JobAnswer
    model: ModelSummary | None = None


class RunList(Answer):
    """The newest 200 trainings of a survey's version, the newest first."""

    runs: list[Run]


class ModelAnswer(Answer):
    """A model's card."""

    id: str
    card: dict[str, object]


class LearnerParameter(Answer):
    """A parameter of a learner, as far as a job of this server may choose it."""

    name: str
    kind: str = Field(json_schema_extra={"enum": ["whole number", "number", "word"]})
    default: int | float | str
    low: float | None = None
    high: float | None = Field(None, description="Null where there is no largest value.")
    words: list[str] | None = Field(None, description="Of a word: those that are allowed.")


class LearnerAnswer(Answer):
    """A learner."""

    name: str
    label: str
    description: str
    reason: str | None = Field(
        None, description="Why it cannot run on this server; null if it can."
    )
    private: bool = Field(description="Whether it adds central differential privacy of its own.")
    can_be_tuned: bool
    parameters: list[LearnerParameter]


class EncodingAnswer(Answer):
    """How records become features."""

    name: str
    description: str


class LearnerList(Answer):
    """What may be trained on a survey's records."""

    target: dict[str, object] | None = None
    reason: str | None = Field(None, description="Why nothing can be trained; null if it can.")
    default_learner: str
    default_encoding: str
    encodings: list[EncodingAnswer]
    learners: list[LearnerAnswer]


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


class RegressionPath(Strict):
    """A regression by the id of its job."""

    regression_id: str = Field(
        pattern=r"^[0-9a-f]{32}$", description="The id of the job `regress`."
    )


class RegressionSummary(Answer):
    """What a list says of a regression; the job's result says all."""

    n: int = Field(description="Records.")
    confidence: float
    released_at: str | None = Field(
        None, description="Of the release that it is of; null if the survey releases at once."
    )
    formula: str
    family: str = Field(description="`logit`, `multinomial`, `ordered` or `linear`.")
    outcome: str
    predictors: list[str]
    verdict: str = Field(description="`informative`, or `too noisy to tell` of all slopes.")
    converged: bool = Field(description="Whether the maximum is shown to be reached.")
    sentences: list[str] = Field(description="What the slopes say, other things equal.")
    smallest_group: int | None = Field(
        None,
        description="Reports of the smallest group in clear that it keeps to, so that readers "
        "without the right to export see it; null if it keeps to none.",
    )


class RegressionEntry(Answer):
    """A regression, with what it found once it is done."""

    job: JobAnswer
    regression: RegressionSummary | None = None


class RegressionList(Answer):
    """The newest 200 regressions of a survey's version, the newest first."""

    regressions: list[RegressionEntry]


def _routes(
    job: type[KeptJob],
    results: Callable[[Services], KeptResults[Any]],
    answer: type[Answer],
    path: type[Strict],
) -> Routes:
    """Return the routes that list the results of a kind, and that delete one.

    `answer`, a list, is a model with one field, and so is `path`, whose field is the result's id.
    """
    noun = job.kept.noun
    api = Routes(f"{noun}s")
    (listed,), (id_field,) = answer.model_fields, path.model_fields

    def list_all(path: VersionPath) -> Response:
        parts = services()
        row = parts.surveys.version(path.name, path.version)
        entries = results(parts).list_for(current_grant().actor, row)
        return json_answer(answer.model_validate({listed: entries}))

    def delete(path: Any) -> Response:
        grant, service = current_grant(), results(services())
        found, _ = service.covered(getattr(path, id_field), grant)
        service.delete(found, grant, actor=grant.actor)
        return Response(status=204)

    list_all.__name__, list_all.__doc__ = f"list_{noun}s", job.kept.listing
    delete.__name__, delete.__doc__ = f"delete_{noun}", job.kept.deletion
    delete.__annotations__["path"] = path
    api.operation("GET", f"{VERSION}/{noun}s", answer, scope="read", act=f"{LOOKED}{noun}s")(
        list_all
    )
    api.operation(
        "DELETE", f"/{noun}s/<{id_field}>", None, 409, scope=job.scope, act=f"deleted-{noun}"
    )(delete)
    return api


models = _routes(Train, lambda parts: parts.models, RunList, ModelPath)
audits = _routes(Fairness, lambda parts: parts.audits, AuditList, AuditPath)
regressions = _routes(Regress, lambda parts: parts.regressions, RegressionList, RegressionPath)


@models.operation("GET", f"{VERSION}/learners", LearnerList, 501, scope="read")
def learners(path: VersionPath) -> Response:
    """List the learners, which of them may run on the version's records here, and why not others.

    Each parameter has its type, its closed interval on this server, and its default.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    return json_answer(LearnerList.model_validate(learners_of(parts, row)))


@models.operation(
    "GET", "/models/<model_id>", ModelAnswer, 409, 501, scope="read", act="looked-at-models"
)
def show_model(path: ModelPath) -> Response:
    """Read a model's card."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    answer = ModelAnswer(id=job.id, card=parts.models.card(job))
    log_act(row)
    return json_answer(answer, nulls=True)


@models.operation(
    "GET",
    "/models/<model_id>/file",
    file_of("What `hushpoll train --out` writes, as a ZIP.", ["application/zip"]),
    409,
    501,
    scope="read",
    act="fetched-train",
)
def model_file(path: ModelPath) -> Response:
    """Fetch a model as a ZIP: unzip it, and `hushpoll predict` reads the folder."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    blocks = parts.jobs.result(job)
    log_act(row, subject=job.id)
    return file_answer(blocks, str(job.media_type), str(job.file_name), job.size)
