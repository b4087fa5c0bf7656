"""Shares of the population by what is known of it."""

from __future__ import annotations

from flask import Response

from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_server.api.models.common import TableQuery, VersionPath
from hushpoll_server.api.models.weighting import WeightedSharesAnswer, WeightedSharesBody
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.endpoint import log_act, services
from hushpoll_server.http.tables import statistic_answer

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
