"""The records of runs and the reports of fairness in clear as JSON, as those that show them read.

A record is read years later: what earlier releases did not write is not required.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from hushpoll_shared.spelling.json_values import JsonObject


class LimitsDocument(TypedDict, total=False):
    """An interval, whose upper limit is None where there is no bound; or why there is none."""

    lower: float
    upper: float | None
    withheld: str
    reason: str


class NumberDocument(TypedDict, total=False):
    """A rate, a comparison or a spread with its intervals; or why it is withheld."""

    value: float
    standard_error: float
    closed_form: LimitsDocument
    bootstrap: LimitsDocument
    lowest: str
    highest: str
    withheld: str
    reason: str


class GroupDocument(TypedDict):
    """One group's size and rates."""

    group: str
    n: int
    positives: int
    rates: dict[str, NumberDocument]


class ComparisonDocument(TypedDict):
    """Every group metric of a group against the reference."""

    group: str
    metrics: dict[str, NumberDocument]


class BootstrapDocument(TypedDict):
    """How rows were resampled."""

    resamples: int
    seed: int
    kind: str


class ReportDocument(TypedDict):
    """Group fairness of predictions on rows in clear, as ``FairnessReport.to_dict`` gives it."""

    kind: str
    attributes: list[str]
    reference: str
    reference_is: str
    n: int
    outside: int
    confidence: float
    intervals: str
    bootstrap: BootstrapDocument
    smallest_group: int
    too_small: list[str]
    groups: list[GroupDocument]
    comparisons: list[ComparisonDocument]
    spreads: dict[str, NumberDocument]


class ReportsDocument(TypedDict):
    """Reports of the same predictions, as ``hushpoll fairness predictions --json`` gives them."""

    kind: str
    setting: str
    reports: list[ReportDocument]
    inputs: dict[str, str]
    versions: dict[str, str]


class UndefinedDocument(TypedDict):
    """Why a metric has no value."""

    undefined: str


MetricValues = Mapping[str, float | UndefinedDocument]
"""A model's metrics by name."""


class OfModels(TypedDict):
    """Intervals of metrics, of this model and of NonDP; None where nothing was measured."""

    ldp: dict[str, LimitsDocument | None] | None
    baseline: dict[str, LimitsDocument | None] | None


class ReportsOfModels(TypedDict):
    """Reports of fairness, of this model and of NonDP; None where nothing was measured."""

    ldp: list[ReportDocument] | None
    baseline: list[ReportDocument] | None


class TargetDocument(TypedDict):
    """What a model predicts; ``p`` is the chance that a label is the truth."""

    name: str
    positive: str
    negative: str
    p: float


class SurveyDocument(TypedDict):
    """The survey version that a model was fitted to."""

    name: str
    version: int
    digest: str


class RunRecord(TypedDict):
    """The record of a run; see :func:`hushpoll_training.runs.record.run_record`."""

    mode: str
    finished: str
    survey: SurveyDocument
    protocol: str
    split: str
    epsilon: str
    inputs: dict[str, str]
    seed: int
    encoding: str
    parameters: JsonObject
    target: TargetDocument
    rows: dict[str, int]
    tested_on: str
    baseline_is: str
    unmeasured: str | None
    ldp: MetricValues | None
    baseline: MetricValues
    manifest: Mapping[str, Any]
    versions: dict[str, str]
    learner: NotRequired[str]
    learner_is: NotRequired[str]
    privacy: NotRequired[JsonObject]
    calibration: NotRequired[JsonObject | None]
    confidence: NotRequired[float]
    intervals: NotRequired[OfModels]
    fairness: NotRequired[ReportsOfModels]
    on_records: NotRequired[JsonObject | None]
