"""What an analyst reads about ordered answers, and about those who answered."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import current_grant, endpoint, services
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.models.ordered import (
    AnsweredAnswer,
    AnsweredQuery,
    OrderedAnswer,
    OrderedChangeAnswer,
    OrderedChangeQuery,
    OrderedQuery,
    SimultaneousMeansAnswer,
    SimultaneousMeansQuery,
)
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.http.tables import statistic_answer

api = APIBlueprint(
    "ordered",
    __name__,
    url_prefix="/api/v1/surveys/<name>/versions/<int:version>",
    abp_tags=[Tag(name="analysis")],
    abp_security=BEARER,
)

REFUSALS = problems(401, 403, 404, 409, 410, 422, 503)


@api.get("/ordered-answers", responses={200: OrderedAnswer, **REFUSALS})
@endpoint("read")
def ordered_answers(path: VersionPath, query: OrderedQuery) -> Response:
    """Estimate mean, quantiles, share at a threshold and NPS of ordered answers.

    All are about those who answered, alone or within each category of another attribute, and with
    differences to one of these groups.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.ordered.summary(row, **query.model_dump(exclude={"format"}))
    parts.actions.looked(current_grant().actor, "ordered-answers", row.name, row.version)
    return statistic_answer(
        OrderedAnswer.model_validate(answer),
        "ordered-answers",
        form=query.format,
        published=parts.surveys.published(row),
    )


@api.get("/answered-shares", responses={200: AnsweredAnswer, **REFUSALS})
@endpoint("read")
def answered_shares(path: VersionPath, query: AnsweredQuery) -> Response:
    """Estimate the shares of each answer among those who answered a question.

    Each has its confidence set (Fieller's). Where nobody may have answered, as far as the records
    tell, the set has no bound: these reports cannot conclude.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.ordered.answered(row, query.attribute, confidence=query.confidence)
    parts.actions.looked(current_grant().actor, "answered-shares", row.name, row.version)
    return statistic_answer(
        AnsweredAnswer.model_validate(answer),
        "answered-shares",
        form=query.format,
        published=parts.surveys.published(row),
    )


@api.get("/ordered-changes", responses={200: OrderedChangeAnswer, **REFUSALS})
@endpoint("read")
def ordered_changes(path: VersionPath, query: OrderedChangeQuery) -> Response:
    """Estimate how mean, share at a threshold and NPS have changed since another version or survey.

    Both groups of respondents are taken for independent. The answer says what a person who answered
    both has spent.
    """
    parts = services()
    other = query.since_survey or path.name
    current_grant().require_survey(other)
    after = parts.surveys.version(path.name, path.version)
    before = parts.surveys.version(other, query.since_version)
    answer = parts.ordered.change(
        before,
        after,
        (query.since_attribute or query.attribute, query.attribute),
        scores=query.scores,
        before_scores=query.since_scores,
        threshold=query.threshold,
        confidence=query.confidence,
        simultaneous=query.simultaneous,
    )
    for row in (before, after):
        parts.actions.looked(current_grant().actor, "ordered-changes", row.name, row.version)
    return statistic_answer(
        OrderedChangeAnswer.model_validate(answer),
        "ordered-changes",
        form=query.format,
        published=parts.surveys.published(after),
    )


@api.get("/simultaneous-means", responses={200: SimultaneousMeansAnswer, **REFUSALS})
@endpoint("read")
def simultaneous_means(path: VersionPath, query: SimultaneousMeansQuery) -> Response:
    """Estimate the means of several attributes or groups, with intervals that hold together."""
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.ordered.means(
        row,
        None if query.attributes is None else query.attributes.split(","),
        given=query.given,
        scores=query.scores,
        confidence=query.confidence,
    )
    parts.actions.looked(current_grant().actor, "simultaneous-means", row.name, row.version)
    return statistic_answer(
        SimultaneousMeansAnswer.model_validate(answer),
        "simultaneous-means",
        form=query.format,
        published=parts.surveys.published(row),
    )
