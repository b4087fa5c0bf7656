"""A regression as JSON, member by member, for both sides: its summary in lists, and what it found.

The service makes them, the HTTP models describe them, pages and charts read them.
"""

from typing import NotRequired, TypedDict

from hushpoll_shared.wire.documents.results import ResultVerdict


class ComparedCategory(TypedDict):
    """What a slope compares of one predictor; without a category, one more of a number."""

    predictor: str
    category: str | None
    reference: str | None


class CoefficientDocument(TypedDict):
    """A coefficient of a regression; one that compares nothing is no slope."""

    name: str
    category: str | None
    compares: NotRequired[list[ComparedCategory]]
    estimate: float | None
    lower: float | None
    upper: float | None
    simultaneous_lower: float | None
    simultaneous_upper: float | None


class Slope(CoefficientDocument):
    """A slope, and what it compares in words."""

    label: str


class RegressionOutcome(TypedDict):
    """The attribute that a regression explains; a number has no categories."""

    name: str
    categories: list[str]


class Convergence(TypedDict):
    """Whether the maximum is shown to be reached."""

    converged: bool


class AdjustedChance(TypedDict):
    """The chance of an outcome's category if all respondents gave one answer."""

    predictor: str
    value: str
    category: str | None
    estimate: float
    lower: float
    upper: float
    too_noisy: NotRequired[bool]


class RegressionDocument(TypedDict):
    """A regression, as far as pages read it."""

    n: int
    confidence: float
    formula: str
    family: str
    outcome: RegressionOutcome
    coefficients: list[CoefficientDocument]
    verdict: ResultVerdict
    sentences: list[str]
    adjusted: NotRequired[list[AdjustedChance]]
    convergence: Convergence
    smallest_group: NotRequired[int | None]
