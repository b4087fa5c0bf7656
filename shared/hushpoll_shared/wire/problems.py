"""The table of errors between server and client (RFC 9457): problem documents and exceptions.

The server turns a code or an exception into a problem+json document; the client turns the document
into an exception. Neither side keeps a list of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from hushpoll_protocols.errors import (
    HushpollError,
    InvalidParameter,
    MalformedRecord,
    ManifestRefused,
    TransportError,
)
from hushpoll_shared.spelling.canonical import InvalidJson
from hushpoll_shared.spelling.text import printable

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
URN_PREFIX: Final = "urn:hushpoll:problem:"


@dataclass(frozen=True)
class Problem:
    """One row of the table."""

    code: str
    """Stable short name; the last part of the URN."""
    status: int
    """Of HTTP."""
    title: str
    """What happened, the same for every occurrence."""
    remedy: str
    """What the other side can do about it."""
    retryable: bool = False
    """Whether sending the same bytes later can succeed."""

    @property
    def urn(self) -> str:
        """The problem's type, ``urn:hushpoll:problem:<code>``."""
        return URN_PREFIX + self.code


_TABLE: Final = (
    Problem("invalid-json", 400, "The body is not JSON", "Send one JSON value in UTF-8."),
    Problem(
        "malformed-request",
        400,
        "The request is not HTTP as the server reads it",
        "Send one well-formed HTTP/1.1 request; check what stands between client and server.",
    ),
    Problem(
        "request-timeout",
        408,
        "The request did not arrive in time",
        "Send the same bytes again, faster or fewer at a time.",
        True,
    ),
    Problem("invalid-request", 422, "The request is not valid", "Correct the named field."),
    Problem(
        "malformed-report",
        422,
        "The report is malformed",
        "Encode the answers with the survey's published manifest; do not alter the record.",
    ),
    Problem(
        "manifest-refused",
        422,
        "The manifest is refused",
        "Correct the named field.",
    ),
    Problem(
        "hardly-protected",
        422,
        "The survey hardly protects its respondents",
        "To publish it nevertheless, give allow_weak=true (hushpoll survey publish --allow-weak); "
        "respondents will read that they are hardly protected.",
    ),
    Problem(
        "unauthorized",
        401,
        "No valid token",
        "Give a token that this server knows; it may have expired, or be revoked or used.",
    ),
    Problem("forbidden", 403, "The token does not allow this", "Use a token with the named scope."),
    Problem("survey-not-open", 403, "The survey is not open yet", "Wait until the survey opens."),
    Problem("unknown-survey", 404, "No such survey or version", "Check its name and version."),
    Problem(
        "unknown-digest",
        404,
        "No open version of the survey has this digest",
        "Fetch the published manifest again and check its digest.",
    ),
    Problem("not-found", 404, "Nothing here", "Check the address."),
    Problem("method-not-allowed", 405, "The method is not allowed here", "See the Allow header."),
    Problem(
        "report-conflict",
        409,
        "Another report has this id",
        "Send the bytes that were first sent under this id; never reuse an id.",
    ),
    Problem(
        "token-spent",
        409,
        "The token was spent with another report",
        "A token is worth one report: send the bytes that were first sent with it.",
    ),
    Problem(
        "invitation-redeemed",
        409,
        "The invitation was redeemed before",
        "An invitation is redeemed once, by one device: answer where it was first opened.",
    ),
    Problem(
        "version-exists",
        409,
        "This version is published already",
        "A published version never changes: publish under a new version number.",
    ),
    Problem(
        "draft-changed",
        412,
        "The draft was changed meanwhile",
        "Read the draft again, put your changes into it, and save it with its new ETag.",
    ),
    Problem(
        "etag-needed",
        428,
        "The request does not say which state it changes",
        "Send the ETag with which you read it, as If-Match.",
    ),
    Problem(
        "not-enough-reports",
        409,
        "Not enough reports for this",
        "Wait until the survey has its minimum batch of reports.",
    ),
    Problem(
        "not-released",
        409,
        "Nothing is released yet",
        "Wait for the next release; publish a survey for trials with release: immediate.",
    ),
    Problem(
        "survey-not-over",
        409,
        "The survey still takes reports",
        "Close it, and wait until its grace period is over.",
    ),
    Problem("job-not-done", 409, "The job has no result", "Look at the job's state."),
    Problem("job-cancelled", 409, "The job was cancelled", "Ask for the job again."),
    Problem(
        "job-timed-out",
        409,
        "The job took too long",
        "Ask for less, such as fewer trees or folds, or ask the operator for more time.",
    ),
    Problem(
        "job-out-of-memory",
        409,
        "The job needed too much memory",
        "Ask for less, such as fewer questions or trees, or ask the operator for more memory.",
    ),
    Problem(
        "records-deleted",
        410,
        "The records were deleted",
        "Use the estimates, which are kept; the records cannot be had any more.",
    ),
    Problem(
        "results-taken-back",
        410,
        "These results were taken back",
        "Ask those who have published them.",
    ),
    Problem("survey-closed", 410, "The survey is closed", "Nothing can be sent to it any more."),
    Problem("payload-too-large", 413, "The body is too large", "Send less in one request."),
    Problem(
        "unsupported-media-type",
        415,
        "The body's media type is not supported",
        "Send one of the media types named in the detail.",
    ),
    Problem(
        "too-many-jobs",
        429,
        "Too many jobs of this token wait or run",
        "Wait until one has ended, or cancel one.",
        True,
    ),
    Problem("rate-limited", 429, "Too many requests", "Send the same bytes again later.", True),
    Problem("internal", 500, "The server failed", "Send the same bytes again later.", True),
    Problem(
        "missing-extra",
        501,
        "The server lacks an optional part",
        "Ask its operator to install the named extra.",
    ),
    Problem("unavailable", 503, "The server is busy", "Send the same bytes again later.", True),
)

PROBLEMS: Final[Mapping[str, Problem]] = MappingProxyType({row.code: row for row in _TABLE})
"""Every problem by its code."""

_SAY_THEIR_REMEDY: Final = frozenset({"invalid-request", "manifest-refused"})
"""Problems of so many kinds that each one's detail ends with its own remedy."""

_SAY_MORE: Final = "hardly-protected"
"""The problem whose remedy tells a way that its details do not."""

RETRYABLE_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same bytes may succeed later."""


def problem_document(
    code: str, *, detail: str, field: str | None = None, **extra: Any
) -> dict[str, Any]:
    """Return the problem+json document of one occurrence of a code, with its `extra` members.

    Its remedy is that of the code, or of a refused field the one that `detail` names, which never
    has an answer of a respondent.
    """
    row = PROBLEMS[code]
    document: dict[str, Any] = {
        "type": row.urn,
        "title": row.title,
        "status": row.status,
        "detail": detail,
        "code": row.code,
        "remedy": (code in _SAY_THEIR_REMEDY and remedy_in(detail)) or row.remedy,
        "retryable": row.retryable,
    }
    if field is not None:
        document["field"] = field
    for name, value in extra.items():
        if name in document:
            raise InvalidParameter(
                f"{name} is a member that the table fills in; give the extra another name",
                field=name,
            )
        document[name] = value
    return document


def remedy_in(message: str) -> str | None:
    """Return the remedy that an error's message ends with, as a sentence; None if it has none.

    Messages of ours say what is wrong, then a semicolon, then what is right or what to do.
    """
    remedy = message.rpartition("; ")[2] if "; " in message else ""
    return f"{remedy[0].upper()}{remedy[1:].rstrip('.')}." if remedy else None


def problem_from(error: HushpollError) -> dict[str, Any]:
    """Return the problem+json document of an exception of ours, as the server answers it.

    An error with no row of its own is ``internal``, and then its message is withheld.
    """
    match error:
        case InvalidJson():
            return problem_document("invalid-json", detail=str(error))
        case MalformedRecord():
            return problem_document(
                "malformed-report", detail=str(error), field=error.field, reason=error.reason
            )
        case ManifestRefused():
            return problem_document("manifest-refused", detail=str(error), field=error.field)
        case InvalidParameter():
            return problem_document("invalid-request", detail=str(error), field=error.field)
        case _:
            return problem_document("internal", detail="The server could not complete the request.")


def exception_from(document: object, status: int) -> HushpollError:
    """Return the exception that a problem+json document stands for, as the client raises it.

    The document comes from a server that is not trusted: every member is checked and cut before it
    reaches a message, and a document that is no problem of ours is judged by its status alone.
    """
    problem = dict(document) if isinstance(document, Mapping) else {}
    row = PROBLEMS.get(_text(problem.get("type")).removeprefix(URN_PREFIX))
    row = row if row and row.status == status else None
    title = row.title if row else _text(problem.get("title")) or "the server refused the request"
    detail = _text(problem.get("detail"))
    field = _text(problem.get("field")) or None
    # the header is the client's own; no caller has a field of this name
    where = f", field {field}" if field and field != "Authorization" else ""
    message = f"{title} (HTTP {status}{where})"
    if detail:
        message += f": {detail}"
    if row and (row.code == _SAY_MORE or not remedy_in(detail)):
        message += f"{'' if message.endswith('.') else '.'} Remedy: {row.remedy}"
    match row.code if row else None:
        case "manifest-refused":
            return ManifestRefused(message, field=field or "manifest")
        case "malformed-report":
            reason = _text(problem.get("reason")) or "range"
            return MalformedRecord(message, reason=reason, field=field)
        case "invalid-json":
            return InvalidJson(message)
        case "invalid-request":
            return InvalidParameter(message, field=field or "request")
    return TransportError(
        message,
        retryable=row.retryable if row else status in RETRYABLE_STATUSES,
        status=status,
        problem=problem or None,
    )


def _text(value: object) -> str:
    """Return printable text of at most 500 characters, or nothing for anything but a string."""
    if not isinstance(value, str):
        return ""
    return printable(value[:500])
