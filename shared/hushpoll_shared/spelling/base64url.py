"""base64url without padding, in its one spelling (RFC 4648, sections 3.5 and 5)."""

from __future__ import annotations

import base64
import re
from typing import Final

from hushpoll_protocols import InvalidParameter

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")


def b64encode(data: bytes) -> str:
    """Write bytes as base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def b64decode(text: object, *, field: str) -> bytes:
    """Read base64url without padding, in its one spelling; a refusal does not show the text."""
    if not isinstance(text, str):
        raise InvalidParameter(
            f"{field} is of type {type(text).__name__}; it must be a base64url string", field=field
        )
    if _BASE64URL.fullmatch(text) and len(text) % 4 != 1:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        # Bits after the last byte decode to nothing: only writing again tells whether they were
        # zero.
        if b64encode(data) == text:
            return data
    raise InvalidParameter(
        f"{field} is not canonical base64url ({len(text)} characters given); use the alphabet "
        "A-Z a-z 0-9 - _ without padding or whitespace, and leave unused bits zero",
        field=field,
    )
