"""Connections that wait for a request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any


class KeptConnections:
    """Connections that wait for a request, in the order in which they time out.

    As much of a deque as gunicorn uses, but one that does not look for a connection among all of
    them to remove it.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[Any, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held)

    def __getitem__(self, place: int) -> Any:
        if place != 0:
            raise IndexError(f"connection {place} was asked for, and only the first is known")
        return next(iter(self._held))

    def append(self, conn: Any) -> None:
        """Add a connection that times out after all others."""
        self._held[conn] = None
        self._held.move_to_end(conn)

    def remove(self, conn: Any) -> None:
        """Remove a connection; raises KeyError if it is not there."""
        del self._held[conn]

    def popleft(self) -> Any:
        """Remove and return the connection that times out first."""
        return self._held.popitem(last=False)[0]
