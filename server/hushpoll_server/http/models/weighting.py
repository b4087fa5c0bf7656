"""Requests and answers about shares of the population by what is known of it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hushpoll_server.http.models.common import Strict
from hushpoll_server.http.models.relations import BoundedEstimate, HowToRead
from hushpoll_server.http.models.results import Pending, VersionResult

_NESTED = "By category; of several attributes nested in their order. "
_NAMES = "Names of attributes"


class MarginModel(Strict):
    """A distribution of the population that is known."""

    attributes: list[str] = Field(description=f"{_NAMES}, perturbed or in clear.")
    shares: dict[str, Any] = Field(
        description=_NESTED + "They add up to 1; the missing category may be left out.",
        examples=[{"North": 0.4, "South": 0.6}],
    )


class StrataModel(Strict):
    """Parts of the population from which respondents were drawn without replacement."""

    attributes: list[str] = Field(description=f"{_NAMES} in clear.")
    sizes: dict[str, Any] = Field(
        description=_NESTED + "Numbers of people.", examples=[{"North": 4000, "South": 6000}]
    )


class WeightsModel(Strict):
    """Weights of respondents by what they answered in clear."""

    attributes: list[str] = Field(description=f"{_NAMES} in clear.")
    weights: dict[str, Any] = Field(
        description=_NESTED + "People for whom a respondent stands.",
        examples=[{"North": 12.5, "South": 40}],
    )


class DesignModel(Strict):
    """What is known of the sample and of its population."""

    margins: list[MarginModel] = Field(
        [], max_length=16, description="One is post-stratified to, several are raked to."
    )
    strata: StrataModel | None = None
    weights: WeightsModel | None = None
    population: float | None = Field(
        None, description="People from whom respondents were drawn without replacement."
    )
    bounds: list[float] | None = Field(
        None, description="Smallest and largest factor by which margins may change a weight."
    )


class WeightedSharesBody(Strict):
    """An attribute and a design."""

    attribute: str = Field(description="Attribute whose shares are estimated.")
    design: DesignModel
    confidence: float = Field(
        0.95, ge=0.01, le=0.999999, description="Of the intervals, in [0.01, 0.999999]."
    )


class WeightedShare(BoundedEstimate):
    """The share of the population in one category."""

    category: str
    unweighted: BoundedEstimate = Field(description="As if all records had one weight.")
    total: BoundedEstimate | None = Field(
        description="People; null where nothing says for how many a record stands."
    )


class WeightedSharesAnswer(VersionResult):
    """The estimated distribution of one attribute in the population."""

    attribute: str
    n: int
    pending: int | None = Pending
    confidence: float
    effective_n: float | None = Field(description="Kish's effective sample size.")
    population: float | None
    smallest_factor: float | None = Field(
        description="By which the margins change a respondent's weight; null without shares."
    )
    largest_factor: float | None
    rounds: int = Field(description="Of raking.")
    assumption: str
    cannot_conclude: str | None = Field(
        description="Why the records cannot tell the shares; null where they can."
    )
    intervals: str = HowToRead
    shares: list[WeightedShare]
