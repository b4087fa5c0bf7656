"""The collection server: publishes surveys, takes reports, answers with estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_protocols.errors import MissingExtra

try:
    from flask import Flask
except ImportError as error:
    raise MissingExtra("server", "the collection server") from error

__all__ = ["create_app"]


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Build the application on its database.

    Parameters
    ----------
    config : mapping or None
        Upper-case keys of ``hushpoll_server.settings.Settings``, such as ``DATABASE_URL``; and
        ``TESTING``.

    Raises
    ------
    InvalidParameter
        Unknown key, value outside its interval, or a database that cannot be used.
    NotDurable, SchemaRefused
        The database cannot keep the server's promises, or has an unknown schema version.
    """
    from hushpoll_server.http.application import build
    from hushpoll_server.settings import Settings

    return build(Settings.from_mapping(config), testing=bool((config or {}).get("TESTING")))
