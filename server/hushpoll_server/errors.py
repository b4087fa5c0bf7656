"""Refusals that the server's parts raise and that the HTTP layer renders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_protocols.errors import HushpollError


class Refused(HushpollError):
    """A request that is answered with an entry, `code`, of the problem table.

    `detail` is what is wrong with this request: value, allowed interval and remedy, and never an
    answer of a respondent. The same request may succeed after `retry_after` seconds. `extra` are
    further members of the problem document.
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
