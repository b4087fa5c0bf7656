"""Which requests can be refused without a thread, and with which bytes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hushpoll_server.errors import Refused
from hushpoll_server.plain_answer import answer

RETRY_AFTER_SECONDS: Final = 1

ROUTE: Final = "/api/v1/surveys/<name>/reports"

# Any page may read it, also one of an origin that the survey does not name: to find that out takes
# a thread, and it says nothing of the survey.
CROWDED: Final = answer(
    Refused(
        "unavailable",
        f"too many requests wait; send the same bytes again after {RETRY_AFTER_SECONDS} s",
        retry_after=RETRY_AFTER_SECONDS,
    ),
    **{"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"},
)

# A head that leaves no doubt where the request ends; whatever looks otherwise is parsed in full.
# One pattern, without a choice to come back to: many are looked at where there is no time.
_OTHERS: Final = (
    rb"(?:(?!content-length|transfer-encoding|expect|upgrade)[a-z0-9-]+:[^\r\n\0]*\r\n)*"
)
_REPORT: Final = re.compile(
    rb"(?-i:POST) (?-i:/api/v1/surveys/[a-z0-9_-]+/reports HTTP/1\.1)\r\n"
    + _OTHERS
    + rb"content-length:[ \t]*([0-9]{1,5})[ \t]*\r\n"
    + _OTHERS
    + rb"\r\n",
    re.IGNORECASE,
)
_CLOSE: Final = re.compile(rb"\r\nconnection:[^\r\n]*close", re.IGNORECASE)


class WholeReport(NamedTuple):
    """A request that submits reports.

    Attributes
    ----------
    last : bool
        Whether its client wants the connection closed after the answer.
    """

    last: bool


def whole_report(data: bytes) -> WholeReport | None:
    """Recognise one whole submission; None for anything else, or for part of one, or for more."""
    found = _REPORT.match(data)
    if found is None or found.end() + int(found[1]) != len(data):
        return None
    last = b"close" in found[0].lower() and _CLOSE.search(found[0]) is not None
    return WholeReport(last)
