"""Refusals that the server's parts raise and that the HTTP layer renders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_protocols.errors import HushpollError


class Refused(HushpollError):
    """A request that is answered with an entry of the problem table.

    Parameters
    ----------
    code : str
        Code in ``hushpoll_shared.wire.problems.PROBLEMS``.
    detail : str
        What is wrong with this request: value, allowed interval and remedy. Never an answer of
        a respondent.
    field : str or None
        Field at fault.
    retry_after : int or None
        Seconds after which the same request may succeed.
    headers : mapping of str to str or None
        Further headers of the answer.
    extra : Any
        Further members of the problem document.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.field = field
        self.retry_after = retry_after
        self.headers = dict(headers or {})
        self.extra = extra


class SchemaRefused(HushpollError):
    """The database has a schema version that this program does not know."""


class NotDurable(HushpollError):
    """The database does not promise that a committed transaction survives."""
