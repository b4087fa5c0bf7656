"""What every view goes through: authorisation first, then path, query and body.

flask-openapi3 documents a view from its annotations; its own validation is not used because it
reads bodies leniently (duplicate keys, any media type) and before anything can be authorised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, get_type_hints

from flask import Response, g, request
from pydantic import BaseModel, ValidationError

from hushpoll_server import answering
from hushpoll_server.answering import JSON_MEDIA_TYPE
from hushpoll_server.compression import TooLarge, expand
from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import invalid_answer
from hushpoll_server.http.current import services
from hushpoll_server.services.surveys.access import Grant
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json

View = Callable[..., Response]


def endpoint(scope: str | None = None) -> Callable[[View], View]:
    """Return a decorator that checks a request before its view.

    Parameters
    ----------
    scope : str or None
        Scope that the request's bearer token needs; None for a public view.
    """

    def decorate(view: View) -> View:
        hints = get_type_hints(view)

        @wraps(view)
        def checked(**path: Any) -> Response:
            if scope is not None:
                g.grant = services().access.require(request.headers.get("Authorization"), scope)
            arguments: dict[str, Any] = {}
            try:
                if "path" in hints:
                    arguments["path"] = hints["path"].model_validate(path)
                if "query" in hints:
                    arguments["query"] = hints["query"].model_validate(request.args.to_dict())
                if "body" in hints:
                    arguments["body"] = read_model(hints["body"])
            except ValidationError as error:
                return invalid_answer(error)
            return view(**arguments)

        # The mark by which flask-openapi3 leaves validation to the view.
        checked.__delay_validate_request__ = True  # type: ignore[attr-defined]  # its protocol
        return checked

    return decorate


def current_grant() -> Grant:
    """Return what the request's token may do, in a view that needs a scope."""
    found: Grant = g.grant
    return found


def read_json() -> Any:
    """Return the request's body, strictly parsed.

    Raises
    ------
    Refused
        ``payload-too-large``; ``unsupported-media-type``; ``invalid-request`` for what is
        compressed and damaged;
        ``invalid-json`` for what is not JSON in UTF-8, or has an object with a key twice.
    """
    return parse_body(json_body())


def json_body(limit: int | None = None) -> bytes:
    """Return the request's body, expanded and not parsed yet, if its media type is JSON's.

    Parameters
    ----------
    limit : int or None
        Largest body, in bytes, if smaller than the server's; both as it was sent and expanded.
    """
    if request.mimetype != JSON_MEDIA_TYPE:
        raise answering.unsupported_type(request.mimetype, JSON_MEDIA_TYPE)
    most = services().settings.max_body_bytes if limit is None else limit
    coding = answering.coding_of(request.headers.get("Content-Encoding"))
    body = request.get_data()
    if len(body) > most:
        raise answering.too_large(most)
    if coding is None:
        return body
    try:
        return b"".join(expand(coding, [body], most))
    except TooLarge:
        raise answering.too_large(most) from None


def parse_body(body: bytes) -> Any:
    """Return strictly parsed JSON; raise ``invalid-json`` for what is none."""
    try:
        return parse_json(body)
    except InvalidJson as error:
        raise Refused("invalid-json", str(error), field="body") from error


def read_model(model: type[BaseModel]) -> BaseModel:
    """Return the request's JSON body as a model; an absent body is an empty object."""
    if request.content_length in (None, 0) and not request.headers.get("Transfer-Encoding"):
        return model.model_validate({})
    return model.model_validate(read_json())


def not_modified(etag: str) -> Response | None:
    """Return 304 if the request's If-None-Match holds `etag`.

    Compared weakly (RFC 9110, section 13.1.2): a proxy that compresses weakens the tags it passes.
    """
    if request.if_none_match.contains_weak(etag):
        answer = Response(status=304)
        answer.set_etag(etag)
        return answer
    return None
