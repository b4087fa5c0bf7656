"""Answers about models and the learners that a server may train."""

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
