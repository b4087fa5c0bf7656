"""Which web pages may answer a survey: those of the origins that its publisher names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store.catalogue import OriginStore, VersionRow
from hushpoll_shared.spelling.text import is_name, show

MOST_ORIGINS: Final = 50
LONGEST_ORIGIN: Final = 255
# How long an answer may come from memory: another process may have changed it.
CACHE_SECONDS: Final = 1.0
CACHED_NAMES: Final = 1000

_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]", re.ASCII)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def check_origin(origin: str) -> str:
    """Return an origin if it is spelt as browsers send it (RFC 6454, section 6.1).

    Refused are a wildcard, and what is not https (http is for this machine's own pages).
    """
    if _is_origin(origin):
        return origin
    raise InvalidParameter(
        f"origins has {show(origin)}, which is no origin as browsers send it; write scheme, host "
        "in lower case and a port that is not the usual one, such as https://survey.example.org "
        "or http://localhost:8080 (http for this machine alone)",
        field="origins",
    )


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host, port = parts.netloc, parts.port
    except ValueError:
        return False
    bare = host if port is None else host.removesuffix(f":{port}")
    safe = parts.scheme == "https" or (parts.scheme == "http" and bare in _LOOPBACK)
    return (
        safe
        and _HOST.fullmatch(bare) is not None
        and port != _DEFAULT_PORTS[parts.scheme]
        and text == f"{parts.scheme}://{bare}{'' if port is None else f':{port}'}"
        and len(text) <= LONGEST_ORIGIN
    )


class Origins:
    """Names, looks up and remembers the origins of surveys."""

    def __init__(
        self, store: OriginStore, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._monotonic = monotonic
        self._cache: dict[str, tuple[float, frozenset[str]]] = {}

    def named(self, name: str) -> list[str]:
        """Return the origins of a survey, sorted."""
        return self._store.named(name)

    def replace(self, row: VersionRow, origins: Sequence[str]) -> list[str]:
        """Let these be the origins of all versions of a survey; return each once, sorted.

        There are at most `MOST_ORIGINS`.
        """
        if len(origins) > MOST_ORIGINS:
            raise InvalidParameter(
                f"origins has {len(origins)} entries, more than {MOST_ORIGINS}; name fewer",
                field="origins",
            )
        checked = sorted({check_origin(origin) for origin in origins})
        self._store.replace(row.survey_id, checked)
        self._cache.pop(row.name, None)
        return checked

    def remembered(self, name: str, origin: str) -> bool | None:
        """Return what `allows` would, without asking the database; None if it must be asked."""
        if not is_name(name):
            return False
        cached = self._cache.get(name)
        if cached is None or self._monotonic() - cached[0] >= CACHE_SECONDS:
            return None
        return origin in cached[1]

    def allows(self, name: str, origin: str) -> bool:
        """Return whether pages of an origin may answer a survey."""
        if not is_name(name):
            return False
        now = self._monotonic()
        cached = self._cache.get(name)
        if cached is None or now - cached[0] >= CACHE_SECONDS:
            if len(self._cache) >= CACHED_NAMES:  # names are the sender's choice
                self._cache.clear()
            cached = self._cache[name] = now, frozenset(self._store.named(name))
        return origin in cached[1]
