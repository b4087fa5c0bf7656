"""Whether an answer is the server's own, and what it says then.

What stands between a device and its server answers in the server's name: the login page of a
network with 200, 302, 403 or 511, a proxy with an error page of its own. Only what is recognised
here ends anything. The groups of ``tests/vectors/answers.json`` hold both clients to one table.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, NoReturn

from hushpoll_protocols.errors import InvalidParameter, TransportError
from hushpoll_shared.wire.invitations import parse_evaluation
from hushpoll_shared.wire.problems import (
    PROBLEM_MEDIA_TYPE,
    PROBLEMS,
    RETRYABLE_STATUSES,
    URN_PREFIX,
)
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE
from hushpoll_shared.wire.withdrawals import WITHDRAWN, Withdrawn

Acknowledgement = Literal["accepted", "duplicate"]

ACKNOWLEDGEMENTS: Final[dict[int, Acknowledgement]] = {201: "accepted", 200: "duplicate"}
"""What the server says of a report, by the status that it says it with."""

SurveyState = Literal["scheduled", "open", "closing", "closed"]
"""``closing`` takes the reports of devices that were offline, and asks nobody any more."""

SURVEY_STATES: Final[tuple[SurveyState, ...]] = ("scheduled", "open", "closing", "closed")
STATE_HEADER: Final = "Survey-State"
"""Header of the survey that a new respondent answers: one of the states."""

DEPTH: Final = 16
"""Nesting of an answer that is read; ours have less."""

_EXACT_DIGITS: Final = 15


def own_problem(status: int, media_type: str | None, content: bytes) -> dict[str, object] | None:
    """Return the problem of an answer outside 2xx, if its media type, type and status fit."""
    document = _object(PROBLEM_MEDIA_TYPE, media_type, content)
    kind = document.get("type") if document else None
    if not document or not isinstance(kind, str) or not kind.startswith(URN_PREFIX):
        return None
    row = PROBLEMS.get(kind.removeprefix(URN_PREFIX))
    return {**document, "code": row.code} if row and row.status == status else None


def acknowledgement(status: int, media_type: str | None, content: bytes) -> Acknowledgement | None:
    """Return what an answer says of the report that was sent, or None if it acknowledges none."""
    document = _object(JSON_MEDIA_TYPE, media_type, content)
    wanted = ACKNOWLEDGEMENTS.get(status)
    return wanted if document and wanted and document.get("status") == wanted else None


def withdrawn(status: int, media_type: str | None, content: bytes) -> Withdrawn | None:
    """Return what an answer says of the report that was taken back, or None if it says nothing."""
    document = _object(JSON_MEDIA_TYPE, media_type, content) if status == 200 else None
    said = document.get("status") if document else None
    return next((word for word in WITHDRAWN if said == word), None)


def evaluation(status: int, media_type: str | None, content: bytes) -> tuple[bytes, bytes] | None:
    """Return what an answer says of a redeemed invitation; None if it is no evaluation."""
    document = _object(JSON_MEDIA_TYPE, media_type, content) if status == 200 else None
    if document is None:
        return None
    try:
        return parse_evaluation(document)
    except InvalidParameter:
        return None


def offers_manifest(status: int, media_type: str | None, content: bytes) -> bool:
    """Whether an answer may be a published survey: an object with attributes, not checked yet."""
    document = _object(JSON_MEDIA_TYPE, media_type, content) if status == 200 else None
    return document is not None and isinstance(document.get("attributes"), list)


def not_ours(status: int, media_type: str | None) -> TransportError:
    """Return the error of an answer that is not recognised as the server's."""
    if 300 <= status < 400:
        message = (
            f"the server redirects (HTTP {status}), which is not followed; give the final address "
            "as url"
        )
    else:
        kind = "" if media_type is None or not _PLAIN.fullmatch(media_type) else f", {media_type}"
        message = (
            f"the answer (HTTP {status}{kind}) is not a hushpoll server's; check the address, and "
            "that no network's login page and no proxy is in between"
        )
    return TransportError(message, retryable=status in RETRYABLE_STATUSES, status=status)


_PLAIN: Final = re.compile(r"[\w.+/; =-]{1,80}", re.ASCII)


def _is(wanted: str, media_type: str | None) -> bool:
    given = (media_type or "").partition(";")[0]
    return given.strip(" \t").lower() == wanted


def _object(wanted: str, media_type: str | None, content: bytes) -> dict[str, object] | None:
    """Return a body of the wanted type as an object; None if it is another or nests too deep."""
    if not _is(wanted, media_type):
        return None
    try:
        value = _DECODER.decode(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _nests(value, DEPTH) else None


def _nests(value: object, levels: int) -> bool:
    """Whether a value has at most so many levels of objects and lists."""
    if not isinstance(value, dict | list):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_nests(part, levels - 1) for part in parts)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _integer(text: str) -> int | float:
    # JavaScript reads a number of any length, and Python refuses one of more than 4300 digits.
    return int(text) if len(text) <= _EXACT_DIGITS else float(text)


_DECODER: Final = json.JSONDecoder(parse_constant=_refused, parse_int=_integer)
