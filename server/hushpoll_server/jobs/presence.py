"""A worker's word that it is alive, and whether it is its turn to take jobs."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

from hushpoll_server.store.workers import WorkerStore


class Presence:
    """Keeps a worker's row in the table of workers.

    A worker that a server started takes jobs only while no other is alive before it: an operator's
    worker, which may come later, is never doubled. A word holds for `lease` seconds. `takes_jobs`
    says whether it is its turn, as of the last `renew`.
    """

    def __init__(
        self,
        store: WorkerStore,
        *,
        lease: int,
        now: Callable[[], int],
        worker_id: str | None = None,
        of_server: bool = False,
    ) -> None:
        self._store = store
        self._lease = lease
        self._now = now
        self._id = worker_id or secrets.token_hex(16)
        self._of_server = of_server
        self._lock = threading.Lock()
        self._said_at = float("-inf")
        self._left = False
        self.takes_jobs = False

    def renew(self) -> None:
        """Say that the worker is alive where it is time to, and look whose turn it is."""
        with self._lock:
            if self._left:
                return
            if time.monotonic() - self._said_at >= self._lease / 3:
                now = self._now()
                self._store.hold(
                    self._id, of_server=self._of_server, now=now, until=now + self._lease
                )
                self._said_at = time.monotonic()
            self.takes_jobs = not self._of_server or not self._store.any_before(
                self._id, now=self._now()
            )

    def leave(self) -> None:
        """Say that the worker ends."""
        with self._lock:
            self._left = True
            self.takes_jobs = False
            self._store.leave(self._id)
