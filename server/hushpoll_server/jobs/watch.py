"""Whether a running job may go on: it was not cancelled, and its time is not over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from hushpoll_server.errors import Refused

LOOK_SECONDS: Final = 0.5


class JobCancelled(Exception):
    """The job is not this worker's any more: it was cancelled, deleted, or taken over."""


class JobWatch:
    """Asks, at most twice a second, whether a job may go on.

    Parameters
    ----------
    held : callable
        Returns whether the job is still this worker's.
    seconds : float
        Time limit of one attempt, from now on.
    monotonic : callable
        Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        held: Callable[[], bool],
        *,
        seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._held = held
        self._seconds = seconds
        self._monotonic = monotonic
        self._end = monotonic() + seconds
        self._look_at = monotonic()

    def check(self) -> None:
        """Return if the job may go on.

        Raises
        ------
        JobCancelled
            It is not this worker's any more.
        Refused
            ``job-timed-out``: its time is over.
        """
        now = self._monotonic()
        if now >= self._end:
            raise Refused("job-timed-out", f"it was ended after {self._seconds:g} s")
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            if not self._held():
                raise JobCancelled

    def over(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield blocks, checking before each of them."""
        for block in blocks:
            self.check()
            yield block
