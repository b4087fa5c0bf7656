"""Shares of the population by what is known of it."""

from __future__ import annotations

from typing import ClassVar, Literal

from flask import Response
from pydantic import Field

from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_server.api.models.common import Answer, Strict, TableQuery, VersionPath
from hushpoll_server.api.models.results import Pending, VersionResult
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.api.schemas import RESULT_VERDICT
from hushpoll_server.http.bodies import BodySize, model_of
from hushpoll_server.http.endpoint import log_act, services
from hushpoll_server.http.tables import statistic_answer
from hushpoll_shared.jobs.analyses import DesignModel
from hushpoll_shared.queries.parts import HOW_TO_READ

HowToRead = Field(description=HOW_TO_READ)


class BoundedEstimate(Answer):
    """An estimate with its confidence set."""

    value: float | None = Field(
        description="May fall outside [0, 1]; null where the set has no bound: cannot conclude."
    )
    standard_error: float | None
    lower: float | None
    upper: float | None
    bound: Literal["bounded", "no lower bound", "no upper bound", "no bound"]


class WeightedSharesBody(Strict):
    """An attribute and a design."""

    BODY: ClassVar = BodySize.DESIGN

    attribute: str = Field(description="Attribute whose shares are estimated.")
    design: model_of(DesignModel)  # type: ignore[valid-type]  # made while running
    confidence: float = Field(
        0.95, ge=0.01, le=0.999999, description="Confidence of the intervals, in [0.01, 0.999999]."
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

    verdict: RESULT_VERDICT | None = Field(  # type: ignore[valid-type]  # made while running
        description="Whether so many reports can tell what is asked."
    )
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


api = Routes("relations", VERSION, tag="analysis")


@api.operation(
    "POST",
    "/weighted-shares",
    WeightedSharesAnswer,
    409,
    410,
    503,
    scope="read",
    act="looked-at-weighted-shares",
)
def weighted_shares(path: VersionPath, query: TableQuery, body: WeightedSharesBody) -> Response:
    """Estimate shares of the population by weights, strata and known margins.

    Margins may be of perturbed attributes. Beside each share stands the unweighted one. A design
    with at most one attribute is answered from the counts that are kept, others from the records.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    design = SurveyDesign.from_dict(body.design.model_dump(exclude_none=True))
    answer = parts.weighting.weighted_shares(
        row, body.attribute, design, confidence=body.confidence, may_export=True
    )
    log_act(row)
    return statistic_answer(
        WeightedSharesAnswer.model_validate(answer),
        "weighted-shares",
        form=query.format,
        published=parts.surveys.published(row),
    )
