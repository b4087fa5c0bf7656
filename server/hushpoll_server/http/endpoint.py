"""What every view goes through: authorisation first, then path, query and body.

flask-openapi3 documents a view from its annotations; its own validation is not used because it
reads bodies leniently (duplicate keys, any media type) and before anything can be authorised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Final, get_type_hints

from flask import Response, g, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import invalid_answer
from hushpoll_server.http.compression import CODINGS, TooLarge, expand
from hushpoll_server.services.access import Grant
from hushpoll_server.services.collector import collector
from hushpoll_shared.canonical import InvalidJson, parse_json

JSON_MEDIA_TYPE = "application/json"
# Bytes of a body that are read at a time.
PIECE: Final = 262_144

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
                g.grant = collector().access.require(request.headers.get("Authorization"), scope)
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


def read_json(limit: int | None = None) -> Any:
    """Return the request's body, strictly parsed.

    Parameters
    ----------
    limit : int or None
        Largest body, in bytes, if smaller than the app's; both as it was sent and expanded.

    Raises
    ------
    Refused
        ``unsupported-media-type``; ``invalid-json`` for what is not JSON in UTF-8, or has an object
        with a key twice.
    """
    return parse_body(json_body(limit))


def json_body(limit: int | None = None) -> bytes:
    """Return the request's body, whole and not parsed yet, if its media type is JSON's."""
    if request.mimetype != JSON_MEDIA_TYPE:
        raise unsupported(JSON_MEDIA_TYPE)
    return read_body(limit)


def parse_body(body: bytes) -> Any:
    """Return strictly parsed JSON; raise ``invalid-json`` for what is none."""
    try:
        return parse_json(body)
    except InvalidJson as error:
        raise Refused("invalid-json", str(error), field="body") from error


def read_body(limit: int | None = None) -> bytes:
    """Return the request's body, whole; see ``arriving_body``."""
    with arriving_body(limit) as pieces:
        return b"".join(pieces)


@contextmanager
def arriving_body(limit: int | None = None) -> Iterator[Iterator[bytes]]:
    """Give the request's body in pieces, expanded, each of which is read when it is asked for.

    At the end of the block what is left is read and thrown away: whoever still sends would not see
    an answer.

    Parameters
    ----------
    limit : int or None
        Largest body, in bytes, if smaller than the app's; both as it was sent and expanded.

    Raises
    ------
    RequestEntityTooLarge
        It is larger, as it was sent or expanded.
    Refused
        ``unsupported-media-type``: it is compressed in another way than gzip or zstd.
        ``invalid-request``: it is compressed and damaged.
        ``malformed-request``: it ends before its length.
    """
    coding = _coding()
    most = collector().settings.max_body_bytes if limit is None else limit
    pieces = _pieces(most)
    try:
        yield pieces if coding is None else expand(coding, pieces, most)
    except Exception as error:
        with suppress(Exception):  # the first refusal is the one to tell
            _read_to_end(pieces)
        if isinstance(error, TooLarge):
            raise RequestEntityTooLarge from None
        raise
    _read_to_end(pieces)


def _read_to_end(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass


def _pieces(most: int) -> Iterator[bytes]:
    request.max_content_length = most
    if (request.content_length or 0) > most:
        raise RequestEntityTooLarge
    # At its limit Werkzeug takes a body for larger, or cuts it off without a word, so it is given
    # one byte more than is taken.
    request.max_content_length = most + 1
    stream = request.stream
    request.max_content_length = most
    size = 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if size > most:
            raise RequestEntityTooLarge
        yield piece
    # gunicorn and Werkzeug take a connection's end for the body's.
    if size < (request.content_length or 0):
        raise Refused(
            "malformed-request",
            f"the body ended after {size} of {request.content_length} bytes; send it again, whole",
            field="body",
        )


def read_model(model: type[BaseModel]) -> BaseModel:
    """Return the request's JSON body as a model; an absent body is an empty object."""
    if request.content_length in (None, 0) and not request.headers.get("Transfer-Encoding"):
        return model.model_validate({})
    return model.model_validate(read_json())


def unsupported(*accepted: str) -> Refused:
    """Return the refusal of a body in another media type."""
    given = request.mimetype[:100] or "none"
    return Refused(
        "unsupported-media-type",
        f"the body's media type is {given!r}; send {' or '.join(accepted)}",
        field="Content-Type",
    )


def _coding() -> str | None:
    given = request.headers.get("Content-Encoding", "").strip()
    coding = given.lower()
    if coding in ("", "identity"):
        return None
    if coding in CODINGS:
        return coding
    raise Refused(
        "unsupported-media-type",
        f"the body's Content-Encoding is {given[:100]!r}; compress it once, with "
        f"{' or '.join(CODINGS)}, or send it as it is, without Content-Encoding",
        field="Content-Encoding",
    )


def not_modified(etag: str) -> Response | None:
    """Return 304 if the request's If-None-Match holds `etag`.

    Compared weakly (RFC 9110, section 13.1.2): a proxy that compresses weakens the tags it passes.
    """
    if request.if_none_match.contains_weak(etag):
        answer = Response(status=304)
        answer.set_etag(etag)
        return answer
    return None
