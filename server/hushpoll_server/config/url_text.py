"""The texts of URLs with passwords: read so that no part of a password passes for another part."""

from __future__ import annotations

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError


def read_url(text: str) -> URL | None:
    """Return a URL; None if it is none, or if it cannot be told where its password ends.

    A password with an ``@`` that is not percent-encoded ends there for every parser: the rest would
    be read as host, port or database, and be shown in errors.
    """
    try:
        parsed = make_url(text)
    except (ArgumentError, ValueError):
        return None
    values = "".join(
        value if isinstance(value, str) else "".join(value) for value in parsed.query.values()
    )
    if text.count("@") > 1 + values.count("@"):
        return None
    if "@" in f"{parsed.host or ''}{parsed.database or ''}" and parsed.host is not None:
        return None
    return parsed
