"""Shares of the population by what is known of it."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, NotRequired

from flask import Response
from pydantic import Field

from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.bodies import BodySize, Parameters, model_of
from hushpoll_server.http.endpoint import log_act, services
from hushpoll_server.http.tables import TableQuery, answer_in_form
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.jobs.analyses import DesignModel
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.parts import HOW_TO_READ, BoundedEstimate
from hushpoll_shared.querying.documents import member
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.wire.documents.surveys import Pending, ReleasedVersion


class WeightedSharesBody(Parameters):
    """An attribute and a design."""

    BODY: ClassVar = BodySize.DESIGN

    attribute: str = Field(description="Attribute whose shares are estimated.")
    design: model_of(DesignModel)  # type: ignore[valid-type]  # made while running
    confidence: float = Field(
        0.95, ge=0.01, le=0.999999, description="Confidence of the intervals, in [0.01, 0.999999]."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightedShare(BoundedEstimate):
    """The share of the population in one category."""

    category: str
    unweighted: BoundedEstimate = member("As if all records had one weight.")
    total: BoundedEstimate | None = member(
        "People; null where nothing says for how many a record stands."
    )


class WeightedSharesDocument(ReleasedVersion):
    """The estimated distribution of one attribute in the population."""

    verdict: Annotated[Verdict | None, "Whether so many reports can tell what is asked."]
    attribute: str
    n: int
    pending: NotRequired[Pending]
    confidence: float
    effective_n: Annotated[float | None, "Kish's effective sample size."]
    population: float | None
    smallest_factor: Annotated[
        float | None, "By which the margins change a respondent's weight; null without shares."
    ]
    largest_factor: float | None
    rounds: Annotated[int, "Of raking."]
    assumption: str
    cannot_conclude: Annotated[
        str | None, "Why the records cannot tell the shares; null where they can."
    ]
    intervals: Annotated[str, HOW_TO_READ]
    shares: list[WeightedShare]


api = Routes("relations", VERSION, tag="analysis")


@api.operation(
    "POST",
    "/weighted-shares",
    409,
    410,
    503,
    answer=WeightedSharesDocument,
    scope="read",
    act="looked-at-weighted-shares",
)
def weighted_shares(row: VersionRow, query: TableQuery, body: WeightedSharesBody) -> Response:
    """Estimate shares of the population by weights, strata and known margins.

    Margins may be of perturbed attributes. Beside each share stands the unweighted one. A design
    with at most one attribute is answered from the counts that are kept, others from the records.
    """
    parts = services()
    design = SurveyDesign.from_dict(body.design.model_dump(exclude_none=True))
    answer = parts.weighting.weighted_shares(
        row, body.attribute, design, confidence=body.confidence, may_export=True
    )
    log_act(row)
    return answer_in_form(
        WeightedSharesDocument,
        answer,
        partial(table_of, "weighted-shares"),
        form=query.format,
        name=f"{row.name}-{row.version}-weighted-shares",
        published=parts.surveys.published(row),
    )
