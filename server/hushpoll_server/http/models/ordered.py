"""Requests and answers about ordered answers, and about shares among those who answered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.http.models.common import Answer
from hushpoll_server.http.models.relations import (
    BoundedEstimate,
    EpsilonOfBoth,
    HowToRead,
    WaveModel,
)
from hushpoll_server.http.models.results import ConfidenceQuery, Pending, VersionResult


class OrderedQuery(ConfidenceQuery):
    """An attribute, what its categories stand for, and what is asked of it."""

    attribute: str = Field(description="Attribute whose answers are summarised.")
    scores: str | None = Field(
        None,
        # Digits and separators: the longest still fits into a request's head.
        max_length=2000,
        description="One per category but the missing one, in the order of the manifest, with "
        "commas between them: a number, or an interval as LOW:HIGH. By default the categories' "
        "labels are read as numbers, or as intervals such as 18-24. Such as 18:25,25:35,35:50.",
    )
    quantiles: str = Field(
        "0.25,0.5,0.75",
        max_length=200,
        description="Numbers in the open interval (0, 1), with commas between them.",
    )
    threshold: float | None = Field(
        None, description="For the share at or above it: in (lowest score, highest score]."
    )
    given: str | None = Field(
        None, description="Another attribute; all is estimated within each of its categories."
    )
    interpolation: Literal["none", "linear"] = Field(
        "none",
        description="`linear` spreads the answers of an interval evenly over it, for quantiles.",
    )
    reference: str | None = Field(
        None, description="A category of `given`; every other group is compared with it."
    )
    simultaneous: bool = Field(
        False, description="Whether all intervals hold together with this confidence (Bonferroni)."
    )


class OrderedChangeQuery(ConfidenceQuery):
    """An ordered attribute, and the version that its statistics are compared with."""

    attribute: str = Field(description="Attribute of this version.")
    since_version: int = Field(ge=1, le=2**31 - 1, description="Version to compare with.")
    since_survey: str | None = Field(
        None, description="Survey of that version; by default this one. The token must be for both."
    )
    since_attribute: str | None = Field(
        None, description="Its attribute; by default the one of the same name."
    )
    scores: str | None = Field(None, max_length=2000, description="As of `ordered-answers`.")
    since_scores: str | None = Field(
        None,
        max_length=2000,
        description="The same for the version to compare with; by default `scores`.",
    )
    threshold: float | None = Field(
        None, description="For the share at or above it; it must fit both scales."
    )
    simultaneous: bool = Field(
        False, description="Whether all differences hold together (Bonferroni)."
    )


class SimultaneousMeansQuery(ConfidenceQuery):
    """Attributes or groups whose means are estimated together."""

    attributes: str | None = Field(
        None,
        max_length=2000,
        description="Names with commas between them; by default all that have a scale.",
    )
    given: str | None = Field(
        None, description="Another attribute; all is estimated within each of its categories."
    )
    scores: str | None = Field(
        None,
        max_length=2000,
        description="Of attributes whose labels are no numbers: NAME=SCORE,SCORE with semicolons "
        "between them. Such as pain=0,1,2;commute=0:10,10:30,30:60.",
    )


class AnsweredQuery(ConfidenceQuery):
    """An attribute with a category for skipped answers."""

    attribute: str | None = Field(
        None, description="By default all attributes with such a category."
    )


class SummaryEstimate(BoundedEstimate):
    """An estimate with its confidence set, in the unit of the scores."""

    value: float | None = Field(
        description="May fall outside the scale; null where the set has no bound: cannot conclude."
    )
    says_nothing: bool = Field(
        description="Whether the set holds every value that there can be: cannot conclude."
    )


class ScoreModel(Answer):
    """What a category stands for."""

    category: str
    low: float
    high: float = Field(description="The same as `low` where it is a number.")


class QuantileModel(Answer):
    """A quantile with the set of the compatible scores."""

    q: float
    category: str | None = Field(description="That the estimate is in.")
    lowest: str | None = Field(description="First compatible category.")
    highest: str | None = Field(description="Last compatible category.")
    value: float | None = Field(
        description="Of an interval the middle, unless `interpolation` is `linear`."
    )
    lower: float | None
    upper: float | None
    bound: Literal["bounded", "no lower bound", "no upper bound", "no bound"]


class StatisticsModel(Answer):
    """Mean, share at a threshold and NPS."""

    mean: SummaryEstimate = Field(description="Intervals count with their middle.")
    least: SummaryEstimate | None = Field(
        description="The mean if every answer lay at the lower end of its interval; null where "
        "each category is a number."
    )
    greatest: SummaryEstimate | None = Field(description="The same at the upper end.")
    at_least: SummaryEstimate | None = Field(
        description="Share at or above the threshold; null without one."
    )
    nps: SummaryEstimate | None = Field(
        description="Net promoter score in [-100, 100]; null unless the scale is 0 to 10."
    )


class GroupSummaryModel(StatisticsModel):
    """What the answers of a group, or of everybody, come to."""

    group: str | None = Field(description="Category of `given`; null for everybody.")
    quantiles: list[QuantileModel]


class GroupDifferenceModel(StatisticsModel):
    """What the answers of a group come to, minus those of the reference.

    `least` is the least mean of the group minus the greatest of the reference, `greatest` the
    reverse. Quantiles have no difference with an interval.
    """

    group: str


class OrderedAnswer(VersionResult):
    """Mean, quantiles, share at a threshold and NPS of those who answered."""

    attribute: str
    given: str | None
    n: int
    pending: int | None = Pending
    confidence: float
    simultaneous: bool
    intervals: str = HowToRead
    threshold: float | None
    interpolation: Literal["none", "linear"]
    scale: list[ScoreModel] = Field(description="The scores that were used.")
    groups: list[GroupSummaryModel] = Field(
        description="One per category of `given`, or one of everybody."
    )
    reference: str | None
    differences: list[GroupDifferenceModel] | None = Field(
        description="One per other group; null without a reference."
    )


class ScaledWave(WaveModel):
    """One side of a comparison, and its scores."""

    scale: list[ScoreModel] = Field(description="The scores that were used.")


class StatisticChange(Answer):
    """A statistic before and after."""

    statistic: Literal["mean", "least", "greatest", "at_least", "nps"]
    before: SummaryEstimate
    after: SummaryEstimate
    difference: SummaryEstimate = Field(
        description="After minus before; of `least` the least mean after minus the greatest "
        "before, and of `greatest` the reverse."
    )


class OrderedChangeAnswer(Answer):
    """How mean, share at a threshold and NPS have changed between two versions."""

    before: ScaledWave
    after: ScaledWave
    threshold: float | None
    confidence: float
    simultaneous: bool
    intervals: str = HowToRead
    assumption: str = Field(description="What the intervals assume, in words.")
    epsilon_of_both: EpsilonOfBoth
    changes: list[StatisticChange]


class ScaleOf(Answer):
    """The scores of one attribute."""

    attribute: str
    scale: list[ScoreModel]


class MeanModel(SummaryEstimate):
    """The mean of an attribute, in a group or of everybody."""

    attribute: str
    group: str | None = Field(description="Category of `given`; null for everybody.")


class SimultaneousMeansAnswer(VersionResult):
    """Means whose intervals hold together."""

    given: str | None
    n: int
    pending: int | None = Pending
    method: Literal["bonferroni"]
    confidence: float = Field(description="That all intervals hold.")
    intervals: str = HowToRead
    scales: list[ScaleOf] = Field(description="The scores that were used.")
    means: list[MeanModel]


class AnsweredCategory(SummaryEstimate):
    """The share of a category among those who answered."""

    category: str


class AnsweredAttribute(Answer):
    """The distribution of an attribute among those who answered."""

    name: str
    missing: str = Field(description="Category of skipped answers.")
    answered: SummaryEstimate = Field(description="Share of all people who answered.")
    categories: list[AnsweredCategory]


class AnsweredAnswer(VersionResult):
    """Shares among those who answered."""

    n: int
    pending: int | None = Pending
    confidence: float
    intervals: str = HowToRead
    assumption: str = Field(description="Whom the shares are about, in words.")
    attributes: list[AnsweredAttribute]
