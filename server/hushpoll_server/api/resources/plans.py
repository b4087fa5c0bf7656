"""What an analyst asks before there is a survey: whether a draft could answer what is wanted."""

from __future__ import annotations

from flask import Response

from hushpoll_server.api.models.common import TableQuery
from hushpoll_server.api.models.plans import PlanAnswer, PlanBody
from hushpoll_server.api.routes import Routes
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.tables import answer_in_form
from hushpoll_shared.tables.plans import verdicts_table

api = Routes("plans", "/plans")


@api.operation("POST", "", PlanAnswer, 503, scope="read")
def plan(body: PlanBody, query: TableQuery) -> Response:
    """Say whether a draft could answer what is wanted, and with which n or epsilon it could.

    Nothing is stored. A plan takes up to some seconds, so a server computes one at a time; others
    wait for their turn, at most 15 seconds, and are then answered 503. The table has a row for each
    goal.
    """
    asked = body.model_dump()
    answer = services().plans.plan(
        asked.pop("manifest"), asked.pop("goals"), asked.pop("population") or {}, **asked
    )
    return answer_in_form(
        PlanAnswer.model_validate(answer),
        verdicts_table,
        form=query.format,
        name=f"{answer['survey']}-plan",
    )
