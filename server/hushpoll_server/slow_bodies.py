"""How many threads may wait for their clients at a time."""

from __future__ import annotations

import threading
from typing import Final, Protocol


class Sender(Protocol):
    """A client whose request is awaited by a thread."""

    def pace(self) -> float:
        """Return the bytes a second that it has sent since its request began."""

    def send_away(self) -> None:
        """Wake the thread that waits for it, which gives up."""


class SlowBodies:
    """Clients for whose bodies threads wait; where they are too many, the slowest is sent away.

    So a few that send nothing, or a byte now and then, leave threads to the others, whatever they
    do: to be kept, a client has to send faster than some other that is waited for.

    Parameters
    ----------
    most : int
        Threads that may wait, 1 or more.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._lock: Final = threading.Lock()
        self._awaited: set[Sender] = set()

    def enter(self, sender: Sender) -> None:
        """Begin to wait, which may send this one away or another."""
        with self._lock:
            self._awaited.add(sender)
            if len(self._awaited) > self._most:
                slowest = min(self._awaited, key=lambda one: one.pace())
                self._awaited.remove(slowest)
                slowest.send_away()

    def leave(self, sender: Sender) -> None:
        """End the wait; from here on nobody sends it away."""
        with self._lock:
            self._awaited.discard(sender)
