"""The table of the server's settings, from their declarations."""

from __future__ import annotations

import json

from directives.markdown import table
from hushpoll_server.config.settings import SETTINGS


def text() -> str:
    """Return the table of all settings, in the order of their declaration."""
    return table(
        ("key", "default", "allowed", ""),
        (
            (
                f"`{setting.name}`",
                "" if setting.default is None else f"`{json.dumps(setting.default)}`",
                setting.interval,
                f"{setting.description}{' *Secret.*' if setting.secret else ''}",
            )
            for setting in SETTINGS.values()
        ),
    )
