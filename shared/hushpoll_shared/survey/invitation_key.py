"""The public key of a survey that is answered by invitation, as its manifest spells it."""

from __future__ import annotations

from typing import Final

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.base64url import b64decode
from hushpoll_shared.spelling.text import show

KEY_SIZE: Final = 32


def check_key(value: object, *, field: str = "invitation_key") -> str:
    """Return the public key of a manifest as it is spelled.

    Raises
    ------
    InvalidParameter
        If it is not `KEY_SIZE` bytes in base64url. Whether they are an element of the group is
        found out where the key is used.
    """
    if isinstance(value, str) and len(value) <= 64:
        try:
            if len(b64decode(value, field=field)) == KEY_SIZE:
                return value
        except InvalidParameter:
            pass
    raise InvalidParameter(
        f"{field} is {show(value)}; it is {KEY_SIZE} bytes in base64url, which the server fills in "
        "as it publishes a survey with submission invited: leave it out of a draft",
        field=field,
    )
