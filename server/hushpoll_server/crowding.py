"""Which requests can be refused without a thread, and with which bytes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hushpoll_server.errors import Refused
from hushpoll_server.plain_answer import answer

RETRY_AFTER_SECONDS: Final = 1
# Beyond it a request is left to a thread.
LARGEST: Final = 16_384

CROWDED: Final = answer(
    Refused(
        "unavailable",
        f"too many requests wait; send the same bytes again after {RETRY_AFTER_SECONDS} s",
        retry_after=RETRY_AFTER_SECONDS,
    )
)

# A head that leaves no doubt where the request ends. Whatever looks otherwise is parsed in full.
_SUBMISSION: Final = re.compile(rb"POST /api/v1/surveys/[a-z0-9_-]+/reports HTTP/1\.1\r\n")
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,5})[ \t]*(?=\r\n)", re.IGNORECASE)
_UNCLEAR: Final = re.compile(
    rb"\r\n(?:transfer-encoding|expect|upgrade)[ \t]*:|\n[ \t]|[^\r]\n|\r[^\n]", re.IGNORECASE
)
_CLOSE: Final = re.compile(rb"\r\nconnection:[^\r\n]*close", re.IGNORECASE)


class WholeReport(NamedTuple):
    """A request that submits reports.

    Attributes
    ----------
    size : int
        Its bytes.
    last : bool
        Whether its client wants the connection closed after the answer.
    """

    size: int
    last: bool


def whole_report(data: bytes) -> WholeReport | None:
    """Recognise one whole submission; None for anything else, or for part of one, or for more."""
    if not _SUBMISSION.match(data):
        return None
    end = data.find(b"\r\n\r\n")
    head = data[: end + 2]
    lengths = _LENGTH.findall(head)
    named = head.lower().count(b"content-length")
    if end < 0 or named != 1 or len(lengths) != 1 or _UNCLEAR.search(head):
        return None
    size = end + 4 + int(lengths[0])
    return WholeReport(size, _CLOSE.search(head) is not None) if size == len(data) else None
