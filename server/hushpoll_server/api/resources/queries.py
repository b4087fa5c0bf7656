"""A route for each query that an analyst may ask of a version's records."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from flask import Response
from pydantic import BaseModel, Field, create_model

from hushpoll_analysis.query_results import RESULTS
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.answers import Answer, answer_model, row_members
from hushpoll_server.http.bodies import field_of
from hushpoll_server.http.endpoint import current_grant, log_act, services
from hushpoll_server.http.tables import TableQuery, answer_in_form, result_answer
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.qualifying.domains import Where, where_words
from hushpoll_shared.querying.query import Parameter, Query
from hushpoll_shared.tidying import LONGEST_ADDRESSES, tidy_table
from hushpoll_shared.wire.documents.results import TidyDocument
from hushpoll_shared.wire.documents.surveys import ReleasedVersion, ReleaseHeading


class TidyQuery(TableQuery):
    """Which queries, and the form of the answer."""

    queries: str | None = Field(
        None,
        max_length=LONGEST_ADDRESSES,
        description="Queries with their parameters, such as `cross-tables?a=gender&b=health`, with "
        "spaces between them. By default all queries about the whole survey or one question.",
    )


api = Routes("queries", VERSION, tag="analysis")
SCOPE = "read"
"""What every query's route asks for."""
REFUSALS = (409, 410, 503)


@api.operation(
    "GET",
    "/tidy-results",
    *REFUSALS,
    answer=TidyDocument,
    scope=SCOPE,
    act="looked-at-tidy-results",
)
def tidy_results(row: VersionRow, query: TidyQuery) -> Response:
    """Show the results of several queries as one table, a row an estimate.

    By default those of all queries about the whole survey or one question; what a survey cannot
    answer is named in `left_out`. A query that is named and cannot be answered is refused.
    """
    parts = services()
    grant = current_grant()

    results = parts.analysis.tidy(
        row,
        (query.queries or "").split(),
        lambda survey, _: grant.require_survey(survey),
        may_export=lambda *_: True,
    )
    log_act(row)
    return answer_in_form(
        TidyDocument,
        results.to_dict(),
        tidy_table,
        form=query.format,
        name=f"{row.name}-{row.version}-results",
        published=parts.surveys.published(row),
    )


def parameters_of(query: type[Query[Any]]) -> type[TableQuery]:
    """Return the parameters of a query's route; those that queries share stand first."""
    ordered = sorted(query.parameters(), key=lambda parameter: not parameter.common)
    named: dict[str, Any] = {parameter.name: _parameter(parameter) for parameter in ordered}
    return create_model(
        f"{query.__name__}Query", __base__=TableQuery, __doc__=query.__doc__, **named
    )


def _parameter(parameter: Parameter) -> tuple[Any, Any]:
    kind: Any = Literal[parameter.choices] if parameter.choices else parameter.kind
    return (kind | None if parameter.default is None else kind), field_of(parameter)


def answer_of(query: type[Query[Any]]) -> type[BaseModel]:
    """Return the documented form of a query's result."""
    # who has a token may export; only an answer about a domain, or about options, has the others
    told = row_members(query.result_type, "about", "small_groups")
    where, options = told.pop("where")[1], told.pop("options")[1]
    told["where"] = (Where, Field(default=None, description=where.description))
    told["options"] = (dict[str, str], Field(default=None, description=options.description))
    base: type[Answer] = Answer
    if not query.compares:  # a comparison says of each side which version it is
        base = answer_model(ReleasedVersion)
        place = 1 + list(told).index("n")
        items = list(told.items())
        pending = answer_model(ReleaseHeading).model_fields["pending"]
        told = dict([*items[:place], ("pending", (int | None, pending)), *items[place:]])
    name = f"{query.__name__}Answer"
    return create_model(name, __base__=base, __doc__=query.result_type.__doc__, **told)


def _add_route(kind: type[Query[Any]]) -> None:
    parameters = parameters_of(kind)

    def ask(row: VersionRow, query: Any) -> Response:
        parts = services()
        given = query.model_dump(exclude={"format"})
        other = given.get("since_survey") or row.name
        current_grant().require_survey(other)
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
    ask.__annotations__ = {"row": VersionRow, "query": parameters, "return": Response}
    api.operation(
        "GET",
        f"/{kind.name}",
        *REFUSALS,
        answer=partial(answer_of, kind),
        scope=SCOPE,
        act=f"{LOOKED}{kind.name}",
        operation_id=f"{kind.family}_{name}_{name}_get",
    )(ask)


for _kind in RESULTS:
    _add_route(_kind)
