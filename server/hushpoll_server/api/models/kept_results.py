"""Answers about kept results: models, audits, regressions; and the learners of a server."""

from __future__ import annotations

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Strict
from hushpoll_server.api.models.jobs import JobAnswer


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
