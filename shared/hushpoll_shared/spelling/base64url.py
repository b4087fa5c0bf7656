"""base64url without padding, in its one spelling (RFC 4648, sections 3.5 and 5)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from hushpoll_protocols.errors import refusal_of

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")
_LAST: Final[Mapping[int, bytes]] = {2: b"AQgw", 3: b"AEIMQUYcgkosw048"}
"""By the characters after the last four: those that end a text whose unused bits are zero."""
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


def b64encode(data: bytes) -> str:
    """Write bytes as base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decoded(letters: bytes) -> bytes | None:
    """Return the bytes of letters of the alphabet; None if they are not their one spelling."""
    left = len(letters) % 4
    if not left or letters[-1] in _LAST.get(left, b""):
        return binascii.a2b_base64(letters.translate(_STANDARD) + b"==")
    return None


def b64decode(text: object, *, field: str) -> bytes:
    """Read base64url without padding, in its one spelling; a refusal does not show the text."""
    if not isinstance(text, str):
        raise refusal_of(field)(f"is of type {type(text).__name__}; it must be a base64url string")
    if _BASE64URL.fullmatch(text) and (data := decoded(text.encode("ascii"))) is not None:
        return data
    raise refusal_of(field)(
        f"is not canonical base64url ({len(text)} characters given); use the alphabet A-Z a-z 0-9 "
        "- _ without padding or whitespace, and leave unused bits zero"
    )
