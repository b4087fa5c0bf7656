"""Waiting for what a server's workers do in the background."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from hushpoll_protocols.errors import HushpollError, TransportError

PAUSE_SECONDS: Final = 0.5
TIMEOUT_SECONDS: Final = 600.0
_ENDED: Final = frozenset({"done", "failed", "cancelled"})

OnLook: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Told the job at every look at it."""


class JobFailed(HushpollError):
    """A job that ended without a result, or has not ended in time."""


def wait_for(
    look: Callable[[str], dict[str, Any]],
    job: dict[str, Any],
    *,
    timeout: float = TIMEOUT_SECONDS,
    on_look: OnLook | None = None,
) -> dict[str, Any]:
    """Look at a job until it is done, and return it.

    Parameters
    ----------
    look : callable
        Returns the job of an id, such as ``AnalystClient.job``.
    job : dict
        As it was when it was asked for.
    timeout : float
        Seconds, at least 0.
    on_look : callable, optional
        Told the job each time.

    Raises
    ------
    JobFailed
        If it has failed, with the server's reason, or was cancelled; or if it has not ended in
        time: it then goes on.
    TransportError
        If the server refuses to tell, or is away when time is up.
    """
    end = time.monotonic() + timeout
    while job.get("state") not in _ENDED:
        if on_look is not None:
            on_look(job)
        if time.monotonic() >= end:
            raise JobFailed(
                f"job {job.get('id')} is {job.get('state')} after {timeout:g} s; it goes on: "
                f"see hushpoll job show {job.get('id')}. If it stays queued, no hushpoll worker "
                "runs"
            )
        time.sleep(PAUSE_SECONDS)
        try:
            job = look(str(job.get("id")))
        except TransportError as error:
            # The job is the worker's: a server that is restarted meanwhile does not end it.
            if not error.retryable or time.monotonic() >= end:
                raise
    if job["state"] == "failed":
        why = job.get("error") or {}
        raise JobFailed(f"job {job.get('id')} failed: {why.get('detail')} ({why.get('code')})")
    if job["state"] == "cancelled":
        raise JobFailed(f"job {job.get('id')} was cancelled; start it again if you still want it")
    return job
