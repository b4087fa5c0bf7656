"""Sealing, over and over, on a thread of its own."""

from __future__ import annotations

import threading
from typing import Final

from hushpoll_server.logs import get_logger
from hushpoll_server.services.container import Services
from hushpoll_server.services.maintenance.turns import Folder

log = get_logger(__name__)

TURN_SECONDS: Final = 1.0
STOP_SECONDS: Final = 3.0


class Maintenance:
    """Seals by the server's rules until it is stopped.

    Parameters
    ----------
    services : Services
        Of this process.
    """

    def __init__(self, services: Services) -> None:
        self._folder = Folder(services)
        self._stopping = threading.Event()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="hushpoll-maintenance", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what it does within a transaction is undone if it takes too long."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.wait(TURN_SECONDS):
            try:
                self._folder.turn()
            except Exception as error:  # a database that is away comes back
                failure = type(error.__cause__ or error).__name__
                # Said once: it is tried every second, and a database may be away for hours.
                if failure != self._failure:
                    log.error("maintenance-failed", error=failure)
                self._failure = failure
            else:
                if self._failure is not None:
                    log.info("maintenance-works-again")
                self._failure = None
