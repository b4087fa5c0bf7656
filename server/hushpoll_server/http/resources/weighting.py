"""Shares of the population by what is known of it."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_server.http.endpoint import current_grant, endpoint, services
from hushpoll_server.http.models.common import TableQuery, VersionPath
from hushpoll_server.http.models.weighting import WeightedSharesAnswer, WeightedSharesBody
from hushpoll_server.http.openapi import BEARER, Routes, problems
from hushpoll_server.http.tables import statistic_answer

api = Routes(
    "relations",
    __name__,
    url_prefix="/api/v1/surveys/<name>/versions/<int:version>",
    abp_tags=[Tag(name="analysis")],
    abp_security=BEARER,
)

REFUSALS = problems(401, 403, 404, 409, 410, 422, 503)


@api.post(
    "/weighted-shares",
    responses={
        200: WeightedSharesAnswer,
        **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 503),
    },
)
@endpoint("read")
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
    parts.actions.looked(current_grant().actor, "weighted-shares", row.name, row.version)
    return statistic_answer(
        WeightedSharesAnswer.model_validate(answer),
        "weighted-shares",
        form=query.format,
        published=parts.surveys.published(row),
    )
