"""Kept results: those of a survey's version, and deletion; audits and regressions, and models too.

The result of an audit or a regression is its job's; a model has a card and a file besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response

from hushpoll_server.api.models.audits import AuditList, AuditPath
from hushpoll_server.api.models.common import Answer, Strict, VersionPath
from hushpoll_server.api.models.regressions import RegressionList, RegressionPath
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.endpoint import current_grant, json_answer, services
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_server.services.results.audits import Audits
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.results.regressions import Regressions
from hushpoll_server.services.services import Services
from hushpoll_shared.wire.job_kinds import JOB_KINDS


def add_routes(
    api: Routes,
    kind: type[KeptResults[Any]],
    results: Callable[[Services], KeptResults[Any]],
    answer: type[Answer],
    path: type[Strict],
    *,
    list_text: str,
    delete_text: str,
) -> None:
    """Add the routes that list a kind of kept result, and that delete one.

    Parameters
    ----------
    api : Routes
        Where they are added.
    results : callable
        Returns them, of the server's services.
    answer, path : type
        The list, a model with one field; and the path of one, whose field is its id.
    list_text, delete_text : str
        The routes' text in the document.
    """
    noun = kind.noun
    (listed,), (id_field,) = answer.model_fields, path.model_fields

    def list_all(path: VersionPath) -> Response:
        parts = services()
        row = parts.surveys.version(path.name, path.version)
        entries = results(parts).list_for(current_grant().actor, row)
        return json_answer(answer.model_validate({listed: entries}))

    def delete(path: Any) -> Response:
        grant, service = current_grant(), results(services())
        job, _ = service.covered(getattr(path, id_field), grant)
        service.delete(job, grant, actor=grant.actor)
        return Response(status=204)

    list_all.__name__, list_all.__doc__ = f"list_{noun}s", list_text
    delete.__name__, delete.__doc__ = f"delete_{noun}", delete_text
    delete.__annotations__["path"] = path
    api.operation("GET", f"{VERSION}/{noun}s", answer, scope="read", act=f"{LOOKED}{noun}s")(
        list_all
    )
    api.operation(
        "DELETE",
        f"/{noun}s/<{id_field}>",
        None,
        409,
        scope=JOB_KINDS[kind.kind].scope,
        act=f"deleted-{noun}",
    )(delete)


audits = Routes("audits")
add_routes(
    audits,
    Audits,
    lambda parts: parts.audits,
    AuditList,
    AuditPath,
    list_text=(
        "List the newest 200 audits of fairness of a version; those that are done say what they "
        "found.\n\nAn audit is asked for as a job, `jobs/fairness`, and its result is the job's. "
        "It is kept until\nit is deleted."
    ),
    delete_text=(
        "Delete an audit that has ended, with its result.\n\n"
        "For the token that asked for it, and for administrators."
    ),
)

regressions = Routes("regressions")
add_routes(
    regressions,
    Regressions,
    lambda parts: parts.regressions,
    RegressionList,
    RegressionPath,
    list_text=(
        "List the newest 200 regressions of a version; those that are done say what they found."
        "\n\nA regression is asked for as a job, `jobs/regress`, and its result is the job's. "
        "It is kept\nuntil it is deleted."
    ),
    delete_text=(
        "Delete a regression that has ended, with its result.\n\n"
        "For the token that asked for it, and for administrators."
    ),
)
