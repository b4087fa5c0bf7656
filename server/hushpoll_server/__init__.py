"""The collection server: publishes surveys, takes reports, answers with estimates."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hushpoll_protocols.errors import MissingExtra

if TYPE_CHECKING:
    from flask import Flask

    from hushpoll_server.asgi import Whole

# Looked for and not loaded: the process that takes reports has no use for it.
if importlib.util.find_spec("flask") is None:
    raise MissingExtra("server", "the collection server")

__all__ = ["create_app", "create_asgi"]


def create_app(config: Mapping[str, object] | None = None) -> Flask:
    """Build the application of analysts, administrators and pages on its database.

    The routes of devices are not in it; `create_asgi` has all.

    Parameters
    ----------
    config : mapping or None
        Upper-case keys of ``hushpoll_server.config.settings.Settings``, such as ``DATABASE_URL``;
        and ``TESTING``.

    Raises
    ------
    InvalidParameter
        Unknown key, value outside its interval, or a database that cannot be used.
    NotDurable, SchemaRefused
        The database cannot keep the server's promises, or has an unknown schema version.
    """
    from hushpoll_server.config.settings import Settings
    from hushpoll_server.services.services import Services
    from hushpoll_server.web_application import build

    settings = Settings.from_mapping(config)
    return build(settings, Services(settings), testing=bool((config or {}).get("TESTING")))


def create_asgi(config: Mapping[str, object] | None = None) -> Whole:
    """Build the whole server as one ASGI application on its database.

    Parameters, exceptions
        As `create_app`.
    """
    from hushpoll_server.asgi import Whole
    from hushpoll_server.config.settings import Settings

    return Whole(Settings.from_mapping(config), testing=bool((config or {}).get("TESTING")))
