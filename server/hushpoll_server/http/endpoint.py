"""What every view goes through: authorisation, then path, query and body; and how it answers.

flask-openapi3 documents a view from its annotations; its own validation is not used because it
reads bodies leniently (duplicate keys, any media type) and before anything can be authorised.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, Generic, Protocol, TypeVar, get_args, get_origin, get_type_hints

from flask import Flask, Response, current_app, g, request
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import HTTPException

from hushpoll_server import answering
from hushpoll_server.answering import JSON_MEDIA_TYPE
from hushpoll_server.compression import TooLarge, expand
from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import checked_document
from hushpoll_server.http.bodies import BodySize, Parameters
from hushpoll_server.http.wording import WANTED, words_of
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.access import Grant
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json
from hushpoll_shared.spelling.text import show

EXTENSION: Final = "hushpoll"
BYTES_MEDIA_TYPE: Final = "application/octet-stream"
# What Flask and Werkzeug refuse by themselves, in the terms of the problem table.
CODE_OF_STATUS: Final[Mapping[int, str]] = {
    400: "invalid-request",
    404: "not-found",
    405: "method-not-allowed",
    413: "payload-too-large",
    415: "unsupported-media-type",
}

MOST_UNKNOWN: Final = 64
LONGEST_FIELD: Final = 200

D = TypeVar("D")
View = Callable[..., Any]
"""Its parameters are the request's `path`, or the `row` of a version that the path names, `query`
and `body`. It returns a document, one that is `Answered` in a way of its own, None (204), or a
response that it has made."""


class SurveyPath(Parameters):
    """A survey by name."""

    name: str = Field(description="The survey's name.")


class VersionPath(SurveyPath):
    """A survey version."""

    version: int = Field(ge=1, le=2**31 - 1, description="The version's number.")


def init_app(app: Flask, services: Services) -> None:
    """Give an application its services, and let it answer every exception with a problem."""
    app.extensions[EXTENSION] = services
    app.register_error_handler(Exception, problem_answer)


def services() -> Services:
    """Return the services of the current application."""
    present: Services = current_app.extensions[EXTENSION]
    return present


@dataclass(frozen=True)
class Operation:
    """An operation of the API, as its route declares it."""

    name: str
    """Of its blueprint and its view."""
    method: str
    rule: str
    scopes: tuple[str, ...]
    """Of which the request's bearer token needs one, the first of them if it is asked for one; none
    for a public view. Where the path names a survey, the token must be for it; `admin` without a
    survey in the path is refused to a token that is for some surveys alone.
    """
    act: str | None
    """The code in the action log of what it does: one of ``act_words.ACT_WORDS``, or their
    beginning.
    """
    answer: Any
    """The kind of document that a request gets that is not refused."""
    status: int
    """Of that answer."""
    nulls: bool = False
    """Whether members of its answer that are None are null, and not left out."""


@dataclass(frozen=True)
class Answered(Generic[D]):
    """A document whose answer has another status, or headers of its own."""

    document: D
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    """If a request that reads names it, it is answered 304."""


def answer_of(view: View) -> Any:
    """Return the kind of document that a view returns; `Response` if it makes its response."""
    kind = get_type_hints(view)["return"]
    return get_args(kind)[0] if get_origin(kind) is Answered else kind


class OfVersion(Protocol):
    """What is of a survey's version."""

    @property
    def name(self) -> str:
        """The survey's name."""

    @property
    def version(self) -> int:
        """The version's number."""


def checked(operation: Operation, view: View) -> Callable[..., Response]:
    """Return a view that checks a request's token and form before it answers."""
    hints = get_type_hints(view)
    of_version = hints.pop("row", None) is not None
    if of_version:
        hints["path"] = VersionPath

    @wraps(view)
    def answer(**path: Any) -> Response:
        g.operation = operation
        if operation.scopes:
            header = request.headers.get("Authorization")
            grant = services().access.require(header, *operation.scopes)
            if "admin" in operation.scopes or "name" in path:
                grant.require_survey(path.get("name"))
            g.grant = grant
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
        if of_version:
            named = arguments.pop("path")
            arguments["row"] = services().surveys.version(named.name, named.version)
        return _rendered(operation, view(**arguments))

    answer.__annotations__ = hints
    # The mark by which flask-openapi3 leaves validation to the view.
    vars(answer)["__delay_validate_request__"] = True
    return answer


def _rendered(operation: Operation, answer: Any) -> Response:
    """Return the response of what a view returned; no cache keeps it."""
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status=204, headers={"Cache-Control": "no-store"})
    if not isinstance(answer, Answered):
        answer = Answered(answer)
    if answer.etag is not None and request.method == "GET":
        unchanged = not_modified(answer.etag)
        if unchanged is not None:
            return unchanged
    document = checked_document(operation.answer, answer.document, nulls=operation.nulls)
    response = json_response(document, answer.status or operation.status, answer.headers)
    if answer.etag is not None:
        response.set_etag(answer.etag)
    return response


def log_act(
    row: OfVersion | None = None,
    *,
    survey: str | None = None,
    subject: str | None = None,
    kind: str | None = None,
) -> None:
    """Write the operation's act into the action log, about a version or a survey.

    `kind` is the end of the act's code, where the declaration has its beginning.
    """
    operation: Operation = g.operation
    actions, actor, act = services().actions, current_grant().actor, operation.act
    if act is None:
        raise LookupError(f"{operation.name} declares no act")
    if row is not None:
        survey, version = row.name, row.version
        if act.startswith(LOOKED):
            view = act.removeprefix(LOOKED)
            actions.looked(actor, view, survey, version, subject)
            return
    else:
        version = None
    act = act if kind is None else f"{act}-{kind}"
    actions.record(actor, act, survey=survey, version=version, subject=subject)


def current_grant() -> Grant:
    """Return what the request's token may do, in a view that needs a scope."""
    grant: Grant = g.grant
    return grant


def json_body(limit: int | None = None) -> bytes:
    """Return the request's body, expanded and not parsed yet, if its media type is JSON's.

    It has at most `limit` bytes, where that is less than the server's, as it was sent and expanded;
    a larger one, a damaged one and another media type are refused.
    """
    if request.mimetype != JSON_MEDIA_TYPE:
        raise answering.unsupported_type(request.mimetype, JSON_MEDIA_TYPE)
    most = services().settings.max_body_bytes if limit is None else limit
    header = request.headers.get("Content-Encoding")
    coding = None if header is None else answering.coding_of(header)
    body = request.get_data()
    if len(body) > most:
        raise answering.too_large(most)
    if coding is None:
        return body
    try:
        return b"".join(expand(coding, [body], most))
    except TooLarge:
        raise answering.too_large(most) from None


def raw_body(limit: int) -> bytes:
    """Return the request's body, of at most `limit` bytes, if its media type is any bytes."""
    if request.mimetype != BYTES_MEDIA_TYPE:
        raise answering.unsupported_type(request.mimetype, BYTES_MEDIA_TYPE)
    if request.headers.get("Content-Encoding") is not None:
        raise answering.unsupported_type("compressed", f"{BYTES_MEDIA_TYPE} that is not")
    body = request.get_data()
    if len(body) > limit:
        raise answering.too_large(limit)
    return body


def parse_body(body: bytes) -> Any:
    """Return strictly parsed JSON; refuse what is none, or has a key twice: ``invalid-json``.

    A byte order mark before it, which editors write into files, is no part of it.
    """
    try:
        return parse_json(body.removeprefix(BOM_UTF8))
    except InvalidJson as error:
        raise Refused("invalid-json", str(error), field=error.member[:200] or "body") from error


def read_model(model: type[BaseModel]) -> BaseModel:
    """Return the request's JSON body as a model; an absent body is an empty object.

    The model's ``BODY`` says how large it may be; it is small where the model says nothing.
    """
    if request.content_length in (None, 0) and not request.headers.get("Transfer-Encoding"):
        return model.model_validate({})
    size: BodySize = getattr(model, "BODY", BodySize.SMALL)
    document = parse_body(json_body(size.most(services().settings)))
    _refuse_many_unknown(model, document, "")
    return model.model_validate(document)


def _refuse_many_unknown(model: type[BaseModel], document: object, path: str) -> None:
    """Refuse a key that no field has where there are many: pydantic makes an error of each."""
    if not isinstance(document, dict):
        return
    fields = model.model_fields
    if len(document) > len(fields) + MOST_UNKNOWN and model.model_config.get("extra") == "forbid":
        key = next(key for key in document if key not in fields)
        where = f"{path}{key}"
        raise Refused(
            "invalid-request",
            f"{show(where)} is {show(document[key])}; {WANTED['extra_forbidden']}",
            field=where[:LONGEST_FIELD],
        )
    for name, known in fields.items():
        value, inner = document.get(name), _model_in(known.annotation)
        if inner is None:
            continue
        _refuse_many_unknown(inner, value, f"{path}{name}.")
        if isinstance(value, list):
            for index, item in enumerate(value):
                _refuse_many_unknown(inner, item, f"{path}{name}.{index}.")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a field that holds one, or a list of some, or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)


def not_modified(etag: str) -> Response | None:
    """Return 304 if the request's If-None-Match holds `etag`.

    Compared weakly (RFC 9110, section 13.1.2): a proxy that compresses weakens the tags it passes.
    """
    if request.if_none_match.contains_weak(etag):
        answer = Response(status=304)
        answer.set_etag(etag)
        return answer
    return None


def file_answer(
    content: bytes | Iterable[bytes], media_type: str, name: str, size: int | None = None
) -> Response:
    """Return a file that is saved under a name and that no cache keeps; `size` is in bytes."""
    answer = Response(content, mimetype=media_type)
    if size is not None:
        answer.headers["Content-Length"] = str(size)
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Render a value that no answer model describes, or JSON of one that is ready."""
    body = value if isinstance(value, bytes) else json.dumps(value)
    answer = Response(body, status=status, mimetype="application/json")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(headers or {})
    return answer


def problem_answer(error: Exception) -> Response:
    """Render any exception as problem+json."""
    if isinstance(error, HTTPException):
        error = _refusal(error)
    status, body, headers = answering.problem_answer(error)
    answer = Response(body, status=status, headers=dict(headers))
    answer.headers["Cache-Control"] = "no-store"
    return answer


def invalid_answer(error: ValidationError) -> Response:
    """Render what pydantic refuses as ``invalid-request``, naming the field."""
    # Reports are not read by models, so this never shows a respondent's answer.
    field, words = words_of(error)
    return problem_answer(Refused("invalid-request", words, field=field))


def _refusal(error: HTTPException) -> Exception:
    status = error.code or 500
    match status:
        case 404:
            return Refused(
                "not-found",
                f"nothing is at {show(request.path)}; /api/v1/openapi.json lists all addresses",
            )
        case 405:
            allowed = dict(error.get_headers()).get("Allow", "")
            return answering.not_allowed(request.method, allowed)
        case 413:
            return answering.too_large(request.max_content_length or 0)
        case _ if status in CODE_OF_STATUS:
            return Refused(CODE_OF_STATUS[status], error.description or error.name)
        case _ if status < 500:
            return Refused("invalid-request", error.name)
        case _:
            return error
