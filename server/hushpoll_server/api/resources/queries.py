"""A route for each query that an analyst may ask of a version's records."""

from __future__ import annotations

from typing import Any

from flask import Response
from pydantic import Field

from hushpoll_analysis.query_results import RESULTS
from hushpoll_server.api.models.common import Answer, Digest, Name, TableQuery, VersionPath
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.api.schemas import answer_of, parameters_of
from hushpoll_server.http.endpoint import current_grant, log_act, services
from hushpoll_server.http.tables import answer_in_form, result_answer
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_shared.qualifying.domains import where_words
from hushpoll_shared.querying.query import Query
from hushpoll_shared.tidying import LONGEST_ADDRESSES, tidy_table


class TidyQuery(TableQuery):
    """Which queries, and the form of the answer."""

    queries: str | None = Field(
        None,
        max_length=LONGEST_ADDRESSES,
        description="Queries with their parameters, such as `cross-tables?a=gender&b=health`, with "
        "spaces between them. By default all queries about the whole survey or one question.",
    )


class TidyRow(Answer):
    """One estimate, or one number of a test."""

    statistic: str
    question: str = Field(description="Its name; of a pair both, with & between them.")
    category: str | None
    group: str | None = Field(description="Such as gender=Female; of a domain its condition.")
    estimate: float | None = Field(description="Null where the set has no bound.")
    standard_error: float | None
    lower: float | None
    upper: float | None
    n: int | None = Field(description="Reports behind it.")
    verdict: str | None


class TidyAnswer(Answer):
    """Results of queries as rows that have the same members."""

    survey: str | None = Name
    version: int | None
    digest: str | None = Digest
    release: str | None
    released_at: str | None
    next_release: str | None
    pending: int | None
    rows: list[TidyRow]
    methods: dict[str, str | int | float] = Field(
        description="What was asked by each query, and how to read it."
    )
    left_out: dict[str, str] = Field(
        description="Queries that the survey cannot answer, with the reason."
    )


api = Routes("queries", VERSION, tag="analysis")
SCOPE = "read"
"""What every query's route asks for."""
REFUSALS = (409, 410, 503)


@api.operation(
    "GET", "/tidy-results", TidyAnswer, *REFUSALS, scope=SCOPE, act="looked-at-tidy-results"
)
def tidy_results(path: VersionPath, query: TidyQuery) -> Response:
    """Show the results of several queries as one table, a row an estimate.

    By default those of all queries about the whole survey or one question; what a survey cannot
    answer is named in `left_out`. A query that is named and cannot be answered is refused.
    """
    parts = services()
    grant = current_grant()

    row = parts.surveys.version(path.name, path.version)
    results = parts.analysis.tidy(
        row,
        (query.queries or "").split(),
        lambda survey, _: grant.require_survey(survey),
        may_export=lambda *_: True,
    )
    log_act(row)
    return answer_in_form(
        TidyAnswer.model_validate(results.to_dict()),
        tidy_table,
        form=query.format,
        name=f"{row.name}-{row.version}-results",
        published=parts.surveys.published(row),
    )


def _add_route(kind: type[Query[Any]]) -> None:
    parameters = parameters_of(kind)

    def ask(path: VersionPath, query: Any) -> Response:
        parts = services()
        given = query.model_dump(exclude={"format"})
        other = given.get("since_survey") or path.name
        current_grant().require_survey(other)
        row = parts.surveys.version(path.name, path.version)
        before = parts.surveys.compared(other, given["since_version"]) if kind.compares else None
        asked = kind.read(given)
        result = parts.analysis.result(row, asked, before, may_export=True)
        domain = None if asked.where is None else where_words(asked.where)
        for seen in filter(None, (before, row)):
            log_act(seen, subject=domain)
        return result_answer(
            result, kind.file_name, form=query.format, published=parts.surveys.published(row)
        )

    name = kind.name.replace("-", "_")
    ask.__name__, ask.__doc__ = name, kind.__doc__
    ask.__annotations__ = {"path": VersionPath, "query": parameters, "return": Response}
    api.operation(
        "GET",
        f"/{kind.name}",
        answer_of(kind),
        *REFUSALS,
        scope=SCOPE,
        act=f"{LOOKED}{kind.name}",
        operation_id=f"{kind.family}_{name}_{name}_get",
    )(ask)


for _kind in RESULTS:
    _add_route(_kind)
