"""Kept results as JSON: models, audits, regressions, as lists say them; what may be trained."""

from typing import Annotated, Literal, NotRequired, TypedDict

from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.documents.jobs import JobDocument


class Protection(TypedDict):
    """One thing that a training read, from whom it is protected, and by what."""

    what: str
    from_whom: str
    how: str


class ModelSummary(TypedDict):
    """What a list says of a model; its card says all."""

    learner: Annotated[str, "In words."]
    encoding: str
    parameters: JsonObject
    seed: int
    rows: Annotated[NotRequired[int | None], "Records that it was fitted to."]
    local_epsilon: Annotated[str, "Of the survey: what each respondent spends at most."]
    epsilon: Annotated[
        NotRequired[float | None],
        "Of central differential privacy, besides; null without such a claim.",
    ]
    delta: NotRequired[float | None]
    accountant: NotRequired[str | None]
    protections: list[Protection]
    on_records: Annotated[
        NotRequired[JsonObject | None],
        "`accuracy`, `constant` (always the more frequent class) and `gain`, their "
        "difference, with intervals, `verdict`, whether it predicts better than a constant, "
        "and `fairness`, as predictions on perturbed records have them; null unless the "
        "training was asked for with `folds`.",
    ]


class Run(TypedDict):
    """A training, with its model once it is done."""

    job: JobDocument
    model: NotRequired[ModelSummary | None]


class RunList(TypedDict):
    """The newest 200 trainings of a survey's version, the newest first."""

    runs: list[Run]


class ModelDocument(TypedDict):
    """A model's card."""

    id: str
    card: JsonObject


class LearnerParameter(TypedDict):
    """A parameter of a learner, as far as a job of this server may choose it."""

    name: str
    kind: Literal["whole number", "number", "word"]
    default: int | float | str
    low: NotRequired[float | None]
    high: Annotated[NotRequired[float | None], "Null where there is no largest value."]
    words: Annotated[NotRequired[list[str] | None], "Of a word: those that are allowed."]


class LearnerDocument(TypedDict):
    """A learner."""

    name: str
    label: str
    description: str
    reason: Annotated[NotRequired[str | None], "Why it cannot run on this server; null if it can."]
    private: Annotated[bool, "Whether it adds central differential privacy of its own."]
    can_be_tuned: bool
    parameters: list[LearnerParameter]


class EncodingDocument(TypedDict):
    """How records become features."""

    name: str
    description: str


class LearnerList(TypedDict):
    """What may be trained on a survey's records."""

    target: NotRequired[JsonObject | None]
    reason: Annotated[NotRequired[str | None], "Why nothing can be trained; null if it can."]
    default_learner: str
    default_encoding: str
    encodings: list[EncodingDocument]
    learners: list[LearnerDocument]


class ShortMetric(TypedDict, total=False):
    """A metric in a list of audits: its numbers and conclusion, or why it is withheld."""

    value: float | None
    lower: float | None
    upper: float | None
    conclusion: str
    withheld: str


class AuditSummary(TypedDict):
    """What a list says of an audit; the job's result says all."""

    n: Annotated[int, "Records."]
    confidence: float
    released_at: Annotated[
        NotRequired[str | None],
        "Of the release that was audited; null if the survey releases at once.",
    ]
    attribute: Annotated[str, "Whose categories are the groups."]
    privileged: Annotated[list[str], "Of several groups: the reference."]
    unprivileged: Annotated[list[str], "Of several groups: each of them."]
    together: Annotated[NotRequired[str | None], "How several groups are taken together."]
    metrics: Annotated[
        NotRequired[dict[str, ShortMetric] | None],
        "Of two groups: value, interval and conclusion of each metric; null where there is none.",
    ]
    largest: Annotated[
        NotRequired[dict[str, ShortMetric] | None],
        "Of several groups whose intervals hold together: the largest disparity.",
    ]
    disparities: Annotated[
        NotRequired[dict[str, int] | None],
        "Of several groups: how many metrics of groups have each conclusion.",
    ]


class AuditEntry(TypedDict):
    """An audit, with what it found once it is done."""

    job: JobDocument
    audit: NotRequired[AuditSummary | None]


class AuditList(TypedDict):
    """The newest 200 audits of a survey's version, the newest first."""

    audits: list[AuditEntry]


class RegressionSummary(TypedDict):
    """What a list says of a regression; the job's result says all."""

    n: Annotated[int, "Records."]
    confidence: float
    released_at: Annotated[
        NotRequired[str | None],
        "Of the release that it is of; null if the survey releases at once.",
    ]
    formula: str
    family: Annotated[str, "`logit`, `multinomial`, `ordered` or `linear`."]
    outcome: str
    predictors: list[str]
    verdict: Annotated[str, "`informative`, or `too noisy to tell` of all slopes."]
    converged: Annotated[bool, "Whether the maximum is shown to be reached."]
    sentences: Annotated[list[str], "What the slopes say, other things equal."]
    smallest_group: Annotated[
        NotRequired[int | None],
        "Reports of the smallest group in clear that it keeps to, so that readers without the "
        "right to export see it; null if it keeps to none.",
    ]


class RegressionEntry(TypedDict):
    """A regression, with what it found once it is done."""

    job: JobDocument
    regression: NotRequired[RegressionSummary | None]


class RegressionList(TypedDict):
    """The newest 200 regressions of a survey's version, the newest first."""

    regressions: list[RegressionEntry]
