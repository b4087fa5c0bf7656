"""Requests and answers about how answers depend on each other."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.http.models.common import Answer, Digest, Name, TableQuery
from hushpoll_server.http.models.results import (
    CategoryEstimate,
    ConfidenceQuery,
    Pending,
    VersionResult,
)

HowToRead = Field(
    description="How many of the intervals are expected to miss, and what looking at results "
    "again and again does to them; or that they hold together."
)


class IndependenceQuery(TableQuery):
    """The two attributes of a test."""

    a: str = Field(description="An attribute.")
    b: str = Field(description="Another attribute.")
    alpha: float = Field(0.05, ge=1e-9, le=0.5, description="Level of the test.")


class ChangeQuery(ConfidenceQuery):
    """An attribute, and the version that its shares are compared with."""

    attribute: str = Field(description="Attribute of this version.")
    since_version: int = Field(ge=1, le=2**31 - 1, description="Version to compare with.")
    since_survey: str | None = Field(
        None, description="Survey of that version; by default this one. The token must be for both."
    )
    since_attribute: str | None = Field(
        None, description="Its attribute; by default the one of the same name."
    )
    mapping: str | None = Field(
        None,
        # Two of them fit into a request's head, where a character can take twelve bytes.
        max_length=2000,
        description="JSON object from categories of this version to labels; a category that is not "
        "named is its own label. Both sides must have the same labels.",
    )
    since_mapping: str | None = Field(
        None, max_length=2000, description="The same for the version to compare with."
    )
    simultaneous: bool = Field(
        False, description="Whether all differences hold together (Bonferroni)."
    )


class SimultaneousQuery(ConfidenceQuery):
    """Attributes, and how their intervals hold together."""

    attribute: str | None = Field(
        None, description="One attribute; by default all of them, with wider intervals."
    )
    method: Literal["max-t", "bonferroni", "anytime"] = Field(
        "max-t",
        description="`max-t` uses the known covariance of the estimates; `anytime` holds at all "
        "looks at the results together, with unweighted estimates.",
    )


class DependenciesQuery(TableQuery):
    """Of many tests, the part of false discoveries."""

    rate: float = Field(
        0.05, gt=0, le=0.5, description="Part of the discoveries that is expected to be false."
    )


class BoundedEstimate(Answer):
    """An estimate with its confidence set."""

    value: float | None = Field(
        description="May fall outside [0, 1]; null where the set has no bound: cannot conclude."
    )
    standard_error: float | None
    lower: float | None
    upper: float | None
    bound: Literal["bounded", "no lower bound", "no upper bound", "no bound"]


class IndependenceAnswer(VersionResult):
    """A test that two attributes are independent; it has no interval."""

    a: str
    b: str
    n: int
    pending: int | None = Pending
    statistic: float
    degrees: int = Field(description="Of freedom, of the chi-square distribution.")
    p_value: float
    alpha: float
    conclusion: Literal["dependent", "no dependence found"]
    power: float = Field(description="For which the detectable dependence is given.")
    smallest_detectable: float | None = Field(
        description="Smallest phi that is found with this power, for the kind of dependence that "
        "is easiest to see through the noise; null where no dependence, however strong, would be."
    )
    largest_detectable: float | None = Field(description="The same for the hardest kind.")
    largest_possible: float = Field(
        description="Phi of the strongest dependence between two such attributes: the root of "
        "k - 1, k being the categories of the attribute that has fewer."
    )
    smallest_expected: float | None = Field(
        description="Of attributes in clear: expected people in the emptiest cell; below 5 the "
        "p-value is rough."
    )


class WaveModel(Answer):
    """One side of a comparison."""

    survey: str = Name
    version: int
    digest: str = Digest
    attribute: str
    n: int


class LabelChange(Answer):
    """The share of one label before and after."""

    label: str
    before: BoundedEstimate
    after: BoundedEstimate
    difference: BoundedEstimate = Field(description="After minus before.")


class EpsilonOfBoth(Answer):
    """What a person who answered both versions has spent."""

    attribute: str = Field(description="On the compared attribute.")
    surveys: str = Field(description="On all questions of both versions.")


class ChangeAnswer(Answer):
    """How the shares of an attribute have changed between two versions."""

    before: WaveModel
    after: WaveModel
    confidence: float
    simultaneous: bool
    intervals: str = HowToRead
    assumption: str = Field(description="What the intervals assume, in words.")
    epsilon_of_both: EpsilonOfBoth
    changes: list[LabelChange]


class TogetherAttribute(Answer):
    """The estimates of one attribute."""

    name: str
    categories: list[CategoryEstimate]


class SimultaneousAnswer(VersionResult):
    """Estimates whose intervals hold together."""

    method: Literal["max-t", "bonferroni", "anytime"]
    n: int
    pending: int | None = Pending
    confidence: float = Field(description="That all intervals hold.")
    intervals: str = HowToRead
    attributes: list[TogetherAttribute]


class PairTest(Answer):
    """A test that two attributes are independent, among many."""

    a: str
    b: str
    statistic: float
    degrees: int
    p_value: float
    adjusted_p_value: float = Field(description="By Benjamini and Yekutieli.")
    conclusion: Literal["dependent", "no dependence found"]


class DependenciesAnswer(VersionResult):
    """Which pairs of attributes depend on each other; tests have no interval."""

    n: int
    pending: int | None = Pending
    rate: float
    reading: str = Field(description="What the rate means, in words.")
    pairs: list[PairTest] = Field(description="By rising p-value.")
