"""Withdrawals: a device takes back a report that the server has not sealed.

The report's id is the first 16 bytes of SHA-256 of a secret of 32 random bytes, which the device
keeps. A client that knows the secret sent the report; the id alone, which the server has,
takes nothing back. A server cannot tell such an id from one that was drawn at random.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Final, Literal

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.wire.reports import ID_SIZE, body_with, check_digest

SECRET_SIZE: Final = 32

Withdrawn = Literal["deleted", "not-here"]
"""What the server says: it had the report and has deleted it; or it has it no longer (released) or
never received it. It tells nothing more, and from then on takes no report under this id."""

WITHDRAWN: Final[tuple[Withdrawn, ...]] = ("deleted", "not-here")

_KEYS: Final = ("digest", "secret")


def new_secret() -> bytes:
    """Draw the 32 random bytes of a new report's secret from the operating system."""
    return os.urandom(SECRET_SIZE)


def id_of(secret: bytes) -> bytes:
    """Return the id of the report that a secret takes back: 16 bytes of its SHA-256."""
    if len(secret) != SECRET_SIZE:
        raise InvalidParameter(
            f"the secret has {len(secret)} bytes; a report's secret has {SECRET_SIZE}: send the "
            "one that the device has kept",
            field="secret",
        )
    return sha256(secret).digest()[:ID_SIZE]


def encode_withdrawal_json(digest: str, secret: bytes) -> dict[str, str]:
    """Return the JSON body of a withdrawal: ``digest`` of the version and ``secret``."""
    id_of(secret)
    return {"digest": check_digest(digest), "secret": b64encode(secret)}


def parse_withdrawal_json(value: object) -> tuple[str, bytes]:
    """Read the body of a withdrawal: the digest, and the id of the report that is taken back."""
    body = body_with(value, _KEYS, "the withdrawal", field="withdrawal", joiner=" and ")
    digest = check_digest(body["digest"])
    return digest, id_of(b64decode(body["secret"], field="secret"))
