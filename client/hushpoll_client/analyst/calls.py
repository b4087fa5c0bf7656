"""One request of an analyst and its answer as JSON; the other modules here build on it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from types import NoneType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, get_origin, is_typeddict

from hushpoll_client.config import ClientConfig, Endpoint
from hushpoll_client.delivery.transport import Answer, Transport
from hushpoll_protocols.errors import TransportError
from hushpoll_shared.querying.documents import alternatives, words_of
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.registry import query_named
from hushpoll_shared.querying.result import Result
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject, type_of
from hushpoll_shared.spelling.text import check_name
from hushpoll_shared.wire import paths
from hushpoll_shared.wire.answers import not_ours
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE

if TYPE_CHECKING:
    import requests

    from hushpoll_client.delivery.timing import Pacing

R = TypeVar("R", bound=Result)
D = TypeVar("D")

# Estimates of many large domains are longer than anything a device reads.
CONFIG = ClientConfig(max_response_bytes=2**28, read_timeout=120.0, exchange_timeout=600.0)


class Calls:
    """Bearer-token access to a server; see `AnalystClient` for the parameters."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        config: ClientConfig = CONFIG,
        session: requests.Session | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self._transport = Transport(
            Endpoint.parse(url), token=token, config=config, session=session, pacing=pacing
        )

    @property
    def url(self) -> str:
        """Address of the server, with no slash at its end."""
        return self._transport.endpoint.base

    def __repr__(self) -> str:
        return f"AnalystClient({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connections()

    def close_connections(self) -> None:
        """Close the client's own connections."""
        self._transport.close()

    def _post(
        self,
        document: JsonObject,
        *path: str,
        params: Mapping[str, str] | None = None,
        etag: str | None = None,
        retry: bool = True,
    ) -> JsonMembers:
        """Return the answer to a JSON body; `retry` only where a repetition changes nothing."""
        body = canonical_json(document)
        answer = self._transport.post(
            *path, body=body, media_type=JSON_MEDIA_TYPE, params=params, etag=etag, retry=retry
        )
        return object_of(answer)

    def _delete(self, *path: str) -> None:
        """Delete what is at a path; only an answer without content says that it is gone."""
        answer = self._transport.delete(*path)
        if answer.status != HTTPStatus.NO_CONTENT:
            raise not_ours(answer.status, answer.media_type)

    def _fetched(self, kind: type[D], *path: str) -> D:
        """Return the document at a path."""
        return as_document(kind, object_of(self._transport.get(*path)))

    def _listed(
        self, kind: type[D], key: str, *path: str, params: Mapping[str, str] | None = None
    ) -> list[D]:
        """Return the documents that the answer at a path lists under a key."""
        answer = object_of(self._transport.get(*path, params=params))
        return [as_document(kind, item) for item in list_in(answer, key)]

    def ask(self, name: str, version: int, query: Query[R]) -> R:
        """Return the result of a query about a survey's version; needs scope ``read``.

        Parameters
        ----------
        query : Query
            Of :mod:`hushpoll_shared.queries`.

        Raises
        ------
        TransportError
            The server's answer has another form, or there is none.
        """
        document = self.ask_json(name, version, query)
        try:
            return query.result_of(document)
        except (KeyError, TypeError, ValueError):
            raise unexpected_answer(f"result of the query {query.name}") from None

    def _answer(self, query: str, arguments: Mapping[str, object]) -> JsonMembers:
        """Return the JSON form of a query's result; a parameter that is None has its default.

        `arguments` are those of the method that asks: its survey, and the query's parameters.
        """
        name, version, parameters = survey_and_parameters(arguments)
        return self.ask_json(name, version, query_named(query).read(parameters))

    def ask_json(self, name: str, version: int, query: Query[Any]) -> JsonMembers:
        """Return the JSON form of a query's result, as the server gives it."""
        path = (*version_path(name, version), query.name)
        return object_of(self._transport.get(*path, params=query.spelled()))


def survey_and_parameters(arguments: Mapping[str, object]) -> tuple[str, int, dict[str, object]]:
    """Return a method's arguments `name` and `version`, and the others without `self`."""
    parameters = dict(arguments)
    del parameters["self"]
    name, version = parameters.pop("name"), parameters.pop("version")
    return cast("str", name), cast("int", version), parameters


def survey_path(name: str) -> tuple[str, ...]:
    """Return the path of a survey."""
    return paths.survey_path(check_name(name, field="survey"))


def version_path(name: str, version: int) -> tuple[str, ...]:
    """Return the path of a survey's version."""
    return paths.version_path(check_name(name, field="survey"), version)


def object_of(answer: Answer) -> JsonMembers:
    """Return the JSON object that an answer is, or refuse something else as a TransportError."""
    document = answer.json()
    if not isinstance(document, dict):
        raise unexpected_answer("JSON object")
    return document


def as_document(kind: type[D], members: object) -> D:
    """Return an object of an answer as a document of :mod:`hushpoll_shared.wire.documents`.

    An answer that lacks a member, or has another type of value there, is refused: a login page or
    another program may have given it, and a command must not take it for done.
    """
    if not isinstance(members, dict):
        raise unexpected_answer("JSON object")
    declared: Any = kind
    for name, types in _types_of_members(declared).items():
        if type(members.get(name)) not in types:
            raise unexpected_answer(f"valid {name}")
    return cast("D", members)


@cache
def _types_of_members(kind: type) -> dict[str, frozenset[type]]:
    """Return which types of JSON each member of a document may have; None is also "absent"."""
    declared: Any = kind
    types = {}
    for name, hint in kind.__annotations__.items():
        hints, optional = alternatives(type_of(hint))
        absent = {NoneType} if optional or name not in declared.__required_keys__ else set()
        types[name] = frozenset(absent.union(*map(_types_of_hint, hints)))
    return types


def _types_of_hint(hint: Any) -> set[type]:
    """Return which types of JSON a hint of one type stands for."""
    hint = type_of(hint)
    if words := words_of(hint):
        return {type(word) for word in words}
    if hint is float:
        return {float, int}
    origin = get_origin(hint)
    return {dict} if origin is Mapping or is_typeddict(hint) else {origin or hint}


def list_in(document: JsonObject, key: str) -> list[Any]:
    """Return the list that an answer has under a key; raises as `object_of`."""
    items = document.get(key)
    if not isinstance(items, list):
        raise unexpected_answer(key)
    return items


def unexpected_answer(missing: str) -> TransportError:
    """Return the error of an answer of another form."""
    return TransportError(
        f"the server's answer has no {missing}; check that the address is a hushpoll server's and "
        "that both sides have the same version",
        retryable=False,
    )
