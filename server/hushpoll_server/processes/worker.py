"""The worker of ``hushpoll serve``: it waits with little in memory until there is work for it.

It yields to the processes that answer requests: it has a low priority and a limit of memory. What
jobs need is loaded with the first one.
"""

from __future__ import annotations

import os
import time
from typing import Final

from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs import memory
from hushpoll_server.jobs.presence import Presence
from hushpoll_server.logs import get_logger
from hushpoll_server.processes import children
from hushpoll_server.store.database import Database
from hushpoll_server.store.jobs import JobStore
from hushpoll_server.store.lock import adopt
from hushpoll_server.store.workers import WorkerStore

log = get_logger(__name__)

NICENESS: Final = 10
POLL_SECONDS: Final = 1.0
# Less than the parent waits: jobs that are released go on in the next worker.
STOP_SECONDS: Final = 5.0


def run() -> None:
    """Wait for jobs and run them until SIGTERM or SIGINT."""
    orders, settings = children.begin()
    os.nice(NICENESS)
    memory.bound(settings.job_memory or memory.half())
    lock = adopt(settings.database_url, orders.lock)
    children.end_on_signal()
    children.ready()
    try:
        _wait_for_work(settings, orders.server)
        # Only now: it brings numpy, pandas and all that jobs may need.
        from hushpoll_server.jobs.runner import WorkerProcess

        WorkerProcess(settings, server=orders.server, stop_seconds=STOP_SECONDS).run()
    finally:
        lock.close()
        children.end()


def _wait_for_work(settings: Settings, server: str) -> None:
    """Return once it is this worker's turn, and there is something to do."""

    def now() -> int:
        return int(settings.clock.now().timestamp())

    database = Database(settings.database_url, pool_size=1)
    presence = Presence(
        WorkerStore(database),
        lease=settings.job_lease_seconds,
        now=now,
        worker_id=server,
        of_server=True,
    )
    jobs = JobStore(database)
    failure = None
    try:
        while True:
            try:
                presence.renew()
                if presence.takes_jobs and (
                    settings.sealing == "worker" or jobs.any_waiting(now=now())
                ):
                    return
            except Exception as error:  # the database may be away, and come back
                if failure != (failure := type(error).__name__):
                    log.error("turn-failed", turn="wait", error=failure)
            else:
                failure = None
            time.sleep(POLL_SECONDS)
    except SystemExit:
        presence.leave()
        raise
    finally:
        database.close()
