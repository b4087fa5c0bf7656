"""How many threads may wait for their clients at a time."""

from __future__ import annotations

import threading
from typing import Final, Protocol

# Until then nobody can tell how fast a client is.
YOUNG_SECONDS: Final = 0.25


class Sender(Protocol):
    """A client whose request is awaited by a thread."""

    def age(self) -> float:
        """Return the seconds since a thread began with its request."""

    def pace(self) -> float:
        """Return the bytes a second that it has sent since."""

    def send_away(self) -> None:
        """Wake the thread that waits for it, which gives up."""


class SlowBodies:
    """Clients for whose bodies threads wait, of which the slowest can be sent away.

    So a few that send nothing, or a byte now and then, leave threads to the others, whatever they
    do: to be kept, a client has to send faster than some other that is waited for.
    """

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._awaited: set[Sender] = set()

    def enter(self, sender: Sender) -> None:
        """Begin to wait."""
        with self._lock:
            self._awaited.add(sender)

    def leave(self, sender: Sender) -> None:
        """End the wait; from here on nobody sends it away."""
        with self._lock:
            self._awaited.discard(sender)

    def relieve(self, most: int, enough: float) -> None:
        """Send the slowest away until no more than `most` are waited for.

        Parameters
        ----------
        most : int
            Threads that may go on waiting, 1 or more.
        enough : float
            Bytes a second at which a client is not sent away in any case.
        """
        with self._lock:
            for sender in sorted(self._awaited, key=lambda one: one.pace())[:-most]:
                if sender.age() >= YOUNG_SECONDS and sender.pace() < enough:
                    self._awaited.remove(sender)
                    sender.send_away()
