"""Routes of the API: each is declared once, beside its view; its document is made when asked for.

What a route takes are the types of its view's parameters. Everything else is in its declaration:
registration, the check of its token, the OpenAPI document, the code in the action log and the rows
of the authorisation matrix read it there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, is_typeddict

from flask import request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from flask_openapi3.openapi import OpenAPI
from pydantic import BaseModel

from hushpoll_server.api.openapi import problems
from hushpoll_server.http.answers import answer_model
from hushpoll_server.http.endpoint import Operation, View, answer_of, checked
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.paths import API_PREFIX, version_path

VERSION = "/" + "/".join(version_path("<name>", "<int:version>"))
"""Where the routes of a survey's version are."""


def address_of(*path: str) -> str:
    """Return where a path of the API is on the server of this request."""
    return "/".join((request.script_root + API_PREFIX, *path))


Answers = Any
"""A kind of document, NoneType of an empty answer; what makes a model; another answer, as OpenAPI
describes it."""


class Routes(APIBlueprint):
    """Routes whose part of the document is made when it is asked for, and not at each start.

    A third of the time in which a web process loads went into schemas that few of them ever show.
    """

    def __init__(self, name: str, under: str = "", *, tag: str | None = None) -> None:
        prefix = API_PREFIX + under
        super().__init__(name, __name__, url_prefix=prefix, abp_tags=[Tag(name=tag or name)])
        self._prefix = prefix
        self.operations: list[Operation] = []
        self._undescribed: list[Callable[[], object]] = []

    def operation(
        self,
        method: str,
        rule: str,
        *refusals: int,
        scope: str | tuple[str, ...] = (),
        answer: Answers = None,
        status: int | None = None,
        nulls: bool = False,
        also: Mapping[int, Answers] | None = None,
        act: str | None = None,
        **described: Any,
    ) -> Callable[[View], View]:
        """Return a decorator that makes a view a route.

        The rule is without what the blueprint's routes are under. What a request gets that is not
        refused is the kind of document that the view returns, or `answer` where it makes its
        response itself, with `status`, by default 200, and 204 of an empty one; `also` are further
        answers by status. `refusals` are statuses of problems that do not follow from the
        parameters, see ``openapi.document``. `scope`, one or several, `nulls` and `act` are as
        :class:`~hushpoll_server.http.endpoint.Operation` has them; flask-openapi3 takes the rest.
        """
        scopes = (scope,) if isinstance(scope, str) else scope

        def declare(view: View) -> View:
            kind = answer or answer_of(view)
            operation = Operation(
                f"{self.name}.{view.__name__}",
                method,
                f"{self._prefix}{rule}",
                scopes,
                act,
                kind,
                status or (204 if kind is NoneType else 200),
                nulls,
            )
            self.operations.append(operation)
            register: Callable[..., Callable[[View], View]] = getattr(self, method.lower())
            return register(
                rule,
                responses={operation.status: kind, **(also or {}), **problems(*refusals)},
                security=[{"bearer": []}] if scopes else None,
                **described,
            )(checked(operation, view))

        return declare

    def _collect_openapi_info(self, rule: str, func: Callable[..., Any], **described: Any) -> Any:
        collect = super()._collect_openapi_info

        def describe() -> None:
            responses = {key: _described(kind) for key, kind in described["responses"].items()}
            collect(rule, func, **described | {"responses": responses})

        self._undescribed.append(describe)
        # What a request needs of it: the types of the view's parameters.
        return collect(rule, func, doc_ui=False)

    def describe(self) -> None:
        """Make the routes' part of the document, once."""
        collecting, self._undescribed = self._undescribed, []
        for collect in collecting:
            collect()


def _described(answer: Answers) -> type[BaseModel] | JsonObject | None:
    """Return an answer as flask-openapi3 takes it; models are made here, and not at the start."""
    if answer is NoneType:
        return None
    if is_typeddict(answer):
        return answer_model(answer)
    described: type[BaseModel] | JsonObject = answer() if callable(answer) else answer
    return described


_DESCRIBING = threading.Lock()


def describe(app: OpenAPI, blueprints: Sequence[Routes]) -> None:
    """Give an application the document of its routes, at the first question for it."""
    with _DESCRIBING:
        if app.spec_json:
            return
        for blueprint in blueprints:
            blueprint.describe()
            app.paths.update(blueprint.paths)
            app.components_schemas.update(blueprint.components_schemas)
            for tag in blueprint.tags:
                if tag.name not in app.tag_names:
                    app.tags.append(tag)
                    app.tag_names.append(tag.name)
        _ = app.api_doc  # makes it, and keeps it
