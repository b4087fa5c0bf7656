"""Pages that were rendered, kept in bounded memory: a published version never changes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 64 * 2**20


@dataclass(frozen=True)
class Rendered:
    """A page.

    Parameters
    ----------
    body : bytes
        HTML in UTF-8.
    etag : str
        Hash of the body.
    """

    body: bytes
    etag: str


class RenderedPages:
    """The pages that were asked for last.

    Parameters
    ----------
    most_bytes : int
        Of all bodies together; the page that was not asked for the longest goes first.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._rendering = threading.Lock()
        self._pages: OrderedDict[Hashable, Rendered] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, render: Callable[[], str]) -> Rendered:
        """Return the page of a key, rendered unless it is kept; one is rendered at a time."""
        found = self._find(key)
        if found is not None:
            return found
        with self._rendering:
            found = self._find(key)  # another request has rendered it meanwhile
            if found is not None:
                return found
            body = render().encode()
            page = Rendered(body, hashlib.sha256(body).hexdigest())
            self._keep(key, page)
        return page

    def _find(self, key: Hashable) -> Rendered | None:
        with self._lock:
            found = self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
            return found

    def _keep(self, key: Hashable, page: Rendered) -> None:
        with self._lock:
            self._pages[key] = page
            self._bytes += len(page.body)
            while self._bytes > self._most_bytes:
                _, gone = self._pages.popitem(last=False)
                self._bytes -= len(gone.body)
