"""The path below which a proxy serves this server: off what arrives, and before what is answered.

Some proxies take it off and some do not; routes never see it. Pages, redirects and cookies take it
from ``SCRIPT_NAME``, as WSGI has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Application = Callable[[dict[str, object], Any], Iterable[bytes]]


def below_prefix(scope: Scope, prefix: str) -> Scope:
    """Return the scope of an ASGI request with its path as the routes know it."""
    path: str = scope["path"]
    if not prefix or not f"{path}/".startswith(f"{prefix}/"):
        return scope
    raw: bytes = scope.get("raw_path") or path.encode()
    # By its slashes: a proxy may have escaped letters of the prefix, which need not be.
    parts = raw.split(b"/", prefix.count("/") + 1)
    rest = b"/" + parts[-1] if len(parts) > prefix.count("/") + 1 else b"/"
    return {**scope, "path": path[len(prefix) :] or "/", "raw_path": rest}


def placed(application: Application, prefix: str, *, behind_tls: bool) -> Application:
    """Tell a WSGI application where browsers find it: below the prefix, and over TLS."""

    def answer(environ: dict[str, object], start_response: Any) -> Iterable[bytes]:
        if prefix:  # else a host that embeds the application has said it
            environ["SCRIPT_NAME"] = prefix
        if behind_tls:
            environ["wsgi.url_scheme"] = "https"
        return application(environ, start_response)

    return answer
