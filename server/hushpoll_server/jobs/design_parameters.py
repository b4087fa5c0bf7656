"""A survey design as a request gives it: of the route that answers at once, and of a job."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from hushpoll_server.body_size import BodySize
from hushpoll_server.jobs.parameters import Parameters, Word, confidence_of

_NESTED = "By category; of several attributes nested in their order. "
_NAMES = "Names of attributes"
_ROWS = Field(
    None,
    max_length=1 << 16,
    description="In place of the object: a list for each cell, its categories in the order of the "
    "attributes and its number.",
    examples=[[["North", 12.5], ["South", 40]]],
)


class MarginModel(Parameters):
    """A distribution of the population that is known."""

    attributes: list[str] = Field(max_length=64, description=f"{_NAMES}, perturbed or in clear.")
    shares: dict[str, Any] | None = Field(
        None,
        description=_NESTED + "They add up to 1; the missing category may be left out.",
        examples=[{"North": 0.4, "South": 0.6}],
    )
    rows: list[list[Any]] | None = _ROWS


class StrataModel(Parameters):
    """Parts of the population from which respondents were drawn without replacement."""

    attributes: list[str] = Field(max_length=64, description=f"{_NAMES} in clear.")
    sizes: dict[str, Any] | None = Field(
        None, description=_NESTED + "Numbers of people.", examples=[{"North": 4000, "South": 6000}]
    )
    rows: list[list[Any]] | None = _ROWS


class WeightsModel(Parameters):
    """Weights of respondents by what they answered in clear.

    A sealed record has no id and no place in an order, so a weight cannot be given to a person: it
    is a number for each category of attributes in clear, or for each cell of several.
    """

    attributes: list[str] = Field(
        max_length=64, description=f"{_NAMES} in clear; at most 65,536 cells."
    )
    weights: dict[str, Any] | None = Field(
        None,
        description=_NESTED + "People for whom a respondent stands.",
        examples=[{"North": 12.5, "South": 40}],
    )
    rows: list[list[Any]] | None = _ROWS


class DesignModel(Parameters):
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
        None,
        max_length=64,
        description="Smallest and largest factor by which margins may change a weight.",
    )


def _no_design() -> DesignModel:
    return DesignModel.model_validate({})


class WeightParameters(Parameters):
    """The attributes of a job for weighted shares, and a design."""

    BODY: ClassVar = BodySize.DESIGN

    attributes: list[Word] = Field(
        min_length=1, max_length=64, description="Different attributes whose shares are estimated."
    )
    design: DesignModel = Field(
        default_factory=_no_design,
        description="As of the route `weighted-shares`.",
    )
    confidence: float = confidence_of("intervals")
