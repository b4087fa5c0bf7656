"""Maintenance: sealing by the policy, releases and vacuum, once a second on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from hushpoll_server.logs import get_logger
from hushpoll_server.services.maintenance.policy import SealingPolicy
from hushpoll_server.services.services import Services
from hushpoll_server.store.tables.surveys import VersionRow

log = get_logger(__name__)

TURN_SECONDS: Final = 1.0
SWEEP_SECONDS: Final = 5.0
STOP_SECONDS: Final = 3.0


class Maintenance:
    """Seals by the server's policy until it is stopped.

    Parameters
    ----------
    services : Services
        Of this process.
    monotonic : callable
        Seconds of a clock that never goes back.
    """

    def __init__(
        self, services: Services, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._services = services
        self._monotonic = monotonic
        self._policy = SealingPolicy(services.settings, bulk_factor=services.segments.bulk_factor)
        self._last_sweep = -SWEEP_SECONDS
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

    def turn(self) -> None:
        """Seal what is due or has ended, make releases, and vacuum, once."""
        services, now = self._services, self._monotonic()
        waiting = services.reports.waiting()

        def look(row: VersionRow) -> None:
            if self._policy.due(row.id, row.record_size, waiting[row.id], now):
                services.sealing.seal(row)
                self._policy.tried(row.id, waiting[row.id], now)

        services.sealing.versions.each("seal", waiting, look)
        self._policy.keep_only(waiting)
        if now - self._last_sweep >= SWEEP_SECONDS:
            self._last_sweep = now
            services.sealing.sweep(services.surveys.now())
        services.segments.tidy()

    def _run(self) -> None:
        while not self._stopping.wait(TURN_SECONDS):
            try:
                self.turn()
            except Exception as error:  # a database that is away comes back
                failure = type(error.__cause__ or error).__name__
                # Logged once: it is tried every second, and a database may be away for hours.
                if failure != self._failure:
                    log.error("maintenance-failed", error=failure)
                self._failure = failure
            else:
                if self._failure is not None:
                    log.info("maintenance-works-again")
                self._failure = None
