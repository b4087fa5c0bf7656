"""What has arrived of a request, and whether that is enough to give it a thread.

A thread that waits for a client is taken from all others, and a client can send as slowly as it
likes. So a head, and a small body, are awaited where connections are many and cost little.
"""

from __future__ import annotations

import re
from typing import Final

from gunicorn.http.errors import (  # type: ignore[import-untyped]  # none exist
    InvalidHeader,
    LimitRequestHeaders,
)

# A head that has no end by then is refused, so that who waits holds little memory.
HEAD_BYTES: Final = 65_536
# Larger bodies are read by a thread as they come, and so are bodies of unknown length.
BODY_BYTES: Final = 16_384

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH_NAME: Final = b"\r\ncontent-length:"
_LENGTH: Final = re.compile(rb"[ \t]*([0-9]{1,5})[ \t]*\r\n")
# With these the length says nothing, or the client waits to be told to send.
_NOT_AWAITED: Final = (b"\r\ntransfer-encoding:", b"\r\nexpect:")
_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")


class Arrival:
    """Bytes that were received before anybody asked for them.

    Only when they are enough is decided here, not what they say: whoever reads them decides where
    the request ends.

    Attributes
    ----------
    data : bytes
        What has arrived and was not taken.
    refusal : ParseException or None
        Why there is no end of the head to wait for; raised where more is asked for than `data`.
    """

    __slots__ = ("_needed", "data", "refusal")

    def __init__(self) -> None:
        self.data = b""
        self.refusal: Exception | None = None
        # Up to the end of what is awaited, once that is known.
        self._needed = 0

    def add(self, piece: bytes) -> bool:
        """Add bytes; return whether a thread would not wait for more of a head or a small body."""
        seen = len(self.data)
        data = self.data = self.data + piece if seen else piece
        if not self._needed:
            end = data.find(_HEAD_END, max(0, seen - 3))
            if end < 0:
                if len(data) > HEAD_BYTES:
                    self.refusal = LimitRequestHeaders("the head is too long")
                elif _BARE_LINE_FEED.search(data, seen):
                    self.refusal = InvalidHeader("bare LF as line terminator")
                return self.refusal is not None
            self._needed = end + 4 + _awaited(data[: end + 2], len(data) - end - 4)
        return len(data) >= self._needed

    def take(self, size: int) -> bytes:
        """Remove and return at most so many bytes."""
        data = self.data
        self.data, self._needed = data[size:], 0
        return data[:size]


def _awaited(head: bytes, arrived: int) -> int:
    """Return how many bytes of the body to await; `head` with the line break at its end."""
    head = head.lower()
    place = head.find(_LENGTH_NAME)
    if place < 0:
        return 0
    found = _LENGTH.match(head, place + len(_LENGTH_NAME))
    length = int(found[1]) if found else 0
    if arrived >= length or length > BODY_BYTES:
        return 0
    if head.find(_LENGTH_NAME, place + 1) >= 0 or any(name in head for name in _NOT_AWAITED):
        return 0
    return length
