"""A server's answer, whose body is read as JSON without surprises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from hushpoll_protocols.errors import TransportError


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refused)


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: status in [200, 299], headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str | None:
        """The body's media type, as the header says."""
        return self.headers.get("Content-Type")

    def json(self) -> Any:
        """Return the body as JSON.

        Raises
        ------
        TransportError
            If it is not JSON; not retryable.
        """
        try:
            # The decoder refuses NaN and Infinity; deep nesting ends in a RecursionError.
            return _DECODER.decode(self.body.decode())
        except (ValueError, RecursionError):
            raise TransportError(
                "the server's answer is not JSON; check that the address is a hushpoll server's",
                retryable=False,
                status=self.status,
            ) from None
