"""What an analyst reads about several questions or versions: group shares, tests, changes."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import current_grant, endpoint, services
from hushpoll_server.http.models.common import TableQuery, VersionPath
from hushpoll_server.http.models.relations import (
    ChangeAnswer,
    ChangeQuery,
    DependenciesAnswer,
    DependenciesQuery,
    IndependenceAnswer,
    IndependenceQuery,
    SimultaneousAnswer,
    SimultaneousQuery,
)
from hushpoll_server.http.models.weighting import WeightedSharesAnswer, WeightedSharesBody
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.http.tables import statistic_answer
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json

api = APIBlueprint(
    "relations",
    __name__,
    url_prefix="/api/v1/surveys/<name>/versions/<int:version>",
    abp_tags=[Tag(name="analysis")],
    abp_security=BEARER,
)

REFUSALS = problems(401, 403, 404, 409, 410, 422, 503)


@api.get("/changes", responses={200: ChangeAnswer, **REFUSALS})
@endpoint("read")
def changes(path: VersionPath, query: ChangeQuery) -> Response:
    """Estimate how the shares of an attribute have changed since another version or survey.

    Both groups of respondents are taken for independent. The answer says what a person who answered
    both has spent.
    """
    parts = services()
    other = query.since_survey or path.name
    current_grant().require_survey(other)
    after = parts.surveys.version(path.name, path.version)
    before = parts.surveys.version(other, query.since_version)
    answer = parts.relations.change(
        before,
        after,
        (query.since_attribute or query.attribute, query.attribute),
        (
            _labels(query.since_mapping, "since_mapping"),
            _labels(query.mapping, "mapping"),
        ),
        confidence=query.confidence,
        simultaneous=query.simultaneous,
    )
    for row in (before, after):
        parts.actions.looked(current_grant().actor, "changes", row.name, row.version)
    return statistic_answer(
        ChangeAnswer.model_validate(answer),
        "changes",
        form=query.format,
        published=parts.surveys.published(after),
    )


def _labels(text: str | None, field: str) -> dict[str, str]:
    """Return the mapping that a query gives as JSON."""
    if text is None:
        return {}
    try:
        mapping = parse_json(text.encode())
    except InvalidJson as error:
        raise Refused("invalid-request", f"{field}: {error}", field=field) from error
    if not isinstance(mapping, dict) or not all(isinstance(one, str) for one in mapping.values()):
        raise Refused(
            "invalid-request",
            f'{field} is no object of texts; give such as {{"old": "new"}}',
            field=field,
        )
    return mapping


@api.get("/independence", responses={200: IndependenceAnswer, **REFUSALS})
@endpoint("read")
def independence(path: VersionPath, query: IndependenceQuery) -> Response:
    """Test whether two attributes are independent, with the noise of perturbed ones allowed for.

    It has no interval. The answer says how strong a dependence such a survey would find.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.relations.independence(row, query.a, query.b, alpha=query.alpha)
    parts.actions.looked(current_grant().actor, "independence", row.name, row.version)
    return statistic_answer(
        IndependenceAnswer.model_validate(answer),
        "independence",
        form=query.format,
        published=parts.surveys.published(row),
    )


@api.get("/simultaneous-estimates", responses={200: SimultaneousAnswer, **REFUSALS})
@endpoint("read")
def simultaneous_estimates(path: VersionPath, query: SimultaneousQuery) -> Response:
    """Estimate the frequencies of one attribute, or of all, with intervals that hold together."""
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.relations.simultaneous_estimates(
        row, query.attribute, method=query.method, confidence=query.confidence
    )
    parts.actions.looked(current_grant().actor, "simultaneous-estimates", row.name, row.version)
    return statistic_answer(
        SimultaneousAnswer.model_validate(answer),
        "simultaneous-estimates",
        form=query.format,
        published=parts.surveys.published(row),
    )


@api.get("/dependencies", responses={200: DependenciesAnswer, **REFUSALS})
@endpoint("read")
def dependencies(path: VersionPath, query: DependenciesQuery) -> Response:
    """Test pairs of attributes for independence, with few false discoveries among them.

    The tests have no interval.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.relations.dependencies(row, rate=query.rate)
    parts.actions.looked(current_grant().actor, "dependencies", row.name, row.version)
    return statistic_answer(
        DependenciesAnswer.model_validate(answer),
        "dependencies",
        form=query.format,
        published=parts.surveys.published(row),
    )


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
    answer = parts.relations.weighted_shares(
        row, body.attribute, design, confidence=body.confidence
    )
    parts.actions.looked(current_grant().actor, "weighted-shares", row.name, row.version)
    return statistic_answer(
        WeightedSharesAnswer.model_validate(answer),
        "weighted-shares",
        form=query.format,
        published=parts.surveys.published(row),
    )
