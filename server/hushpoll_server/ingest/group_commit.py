"""Group commit: one thread stores the reports that have arrived, in one durable transaction.

The thread itself takes the next group and frees the places of the last one. If the event loop did,
a queue that is shorter than the number of clients would stay full while the loop answers thousands
of ready sockets, and almost every report would be refused although the disk is idle.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.readiness import CommitState
from hushpoll_server.store.reports import Outcome, Upload

log = get_logger(__name__)

RETRY_AFTER_SECONDS: Final = 1
# A request gives up waiting after this; its report may still be stored, and the retry finds it.
ACKNOWLEDGE_SECONDS: Final = 30.0
COMPANY_SECONDS: Final = 0.002
# How often counts are written while reports arrive, and how soon after the last one.
IDLE_SECONDS: Final = 0.5
# How long the requests of a group that failed are tried one by one. A fault of one report shows in
# milliseconds; a full disk or a locked database would hold every client up.
APART_SECONDS: Final = 5.0

Commit = Callable[[Sequence[Upload]], Sequence[Sequence[Outcome] | None]]
Outcomes = Sequence[Outcome]


class _Job(NamedTuple):
    """The reports of one request, and the future of their outcomes; None: not stored."""

    upload: Upload
    settled: asyncio.Future[Outcomes | None]


class GroupCommit:
    """Stores reports in groups and acknowledges each only after its commit.

    A report that arrives alone is committed at once. While a commit lasts, the next group forms by
    itself; after a group of several the next one waits for company, for two milliseconds at most:
    clients that were just answered send their next reports within this time. Where a group cannot
    be stored, each of its requests is tried by itself, so that only the one at fault is refused.
    Nothing is acknowledged that was not committed.

    `commit` stores a group of uploads durably on the thread and returns an outcome for each report
    of each, or None for an upload whose outcomes it does not know. `idle` is called on the thread
    when nothing has arrived for half a second, once a second while reports arrive, and at the end.
    A group has at most `group_reports`, unless one upload has more; past `queue_reports` that wait
    a request is refused.
    """

    def __init__(
        self,
        commit: Commit,
        *,
        idle: Callable[[], None],
        group_reports: int,
        queue_reports: int,
        metrics: Metrics | None = None,
    ) -> None:
        self._commit = commit
        self._idle = idle
        self._group_reports = group_reports
        self._queue_reports = queue_reports
        self._metrics = metrics
        # Shared by the loop and the thread, guarded by the condition. The thread alone removes
        # requests from the front of `_arrived`, and the loop when it gives up.
        self._condition = threading.Condition(threading.Lock())
        self._arrived: deque[_Job] = deque()
        self._group: list[_Job] = []
        self._waiting = 0
        # How many requests wake the thread.
        self._wanted = 1
        self._stopping = False
        # When the present group was taken, in seconds of the monotonic clock.
        self._taken: float | None = None
        self._watch: asyncio.TimerHandle | None = None
        # Whether the last commit failed, and when it ended.
        self._failed, self._ended_at = False, -math.inf
        self._failure: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> CommitState:
        """The present state; for any thread."""
        died = self._thread is not None and not self._thread.is_alive() and not self._stopping
        return CommitState(
            waiting=self._waiting,
            most=self._queue_reports,
            stopping=self._stopping,
            died=died,
            failed=self._failed,
            ended_at=self._ended_at,
        )

    def start(self) -> asyncio.AbstractEventLoop:
        """Start the thread unless it runs; return the running loop, to which it reports."""
        loop = self._loop = asyncio.get_running_loop()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._run, args=(loop,), name="hushpoll-commit", daemon=True
            )
            self._thread.start()
        return loop

    def submit(self, upload: Upload) -> asyncio.Future[Outcomes | None]:
        """Store reports; the future has their outcomes once they are durable, or None.

        Where too many wait, or the server is stopping, they are refused. Sending the same bytes
        again is safe.
        """
        self.check_room(len(upload))
        loop = self._loop
        if loop is None or self._thread is None or not self._thread.is_alive():
            loop = self.start()
        settled: asyncio.Future[Outcomes | None] = loop.create_future()
        with self._condition:
            self._waiting += len(upload)
            self._arrived.append(_Job(upload, settled))
            if len(self._arrived) == self._wanted:
                self._condition.notify()
        if self._watch is None:
            self._watch = loop.call_later(ACKNOWLEDGE_SECONDS, self._give_up, loop)
        return settled

    def check_room(self, reports: int) -> None:
        """Refuse reports for which there is no room now."""
        if self._stopping:
            raise unavailable("the server is stopping")
        if self._waiting + reports > self._queue_reports:
            raise unavailable(
                f"{self._waiting} reports wait to be stored, of at most {self._queue_reports}"
            )

    async def stop(self) -> None:
        """Store the submitted reports, refuse later ones, and end the thread."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        while self._waiting and self._thread is not None and self._thread.is_alive():
            await asyncio.sleep(0.01)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, ACKNOWLEDGE_SECONDS)
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _give_up(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let every request go if the present group takes too long."""
        with self._condition:
            taken = self._taken
            left, late = ACKNOWLEDGE_SECONDS, list[_Job]()
            if taken is not None:
                left += taken - time.monotonic()
            if left <= 0:
                left, late = ACKNOWLEDGE_SECONDS, [*self._group, *self._arrived]
                # The group's reports keep their places until its commit ends.
                self._waiting -= sum(len(job.upload) for job in self._arrived)
                self._arrived.clear()
            busy = bool(self._group or self._arrived)
            lost = bool(self._arrived) and self._thread is not None and not self._thread.is_alive()
        for job in late:
            if not job.settled.done():
                job.settled.set_exception(
                    unavailable(f"the report was not stored within {ACKNOWLEDGE_SECONDS:g} s")
                )
        if lost:  # reports arrived while the thread was dying; a new thread stores them
            self.start()
        self._watch = loop.call_later(left, self._give_up, loop) if busy else None

    @staticmethod
    def _settle(group: list[_Job], stored: list[Outcomes | None]) -> None:
        """Give the requests of a group their outcomes; called on the loop."""
        for job, outcomes in zip(group, stored, strict=True):
            if not job.settled.done():
                job.settled.set_result(outcomes)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Store groups until `stop`; runs on the thread."""
        quiet_since = time.monotonic()
        group: list[_Job] = []
        while True:
            group = self._next_group(len(group))
            if not group:
                self._contained()
                if self._stopping:
                    return
                continue
            stored: list[Outcomes | None] = [None] * len(group)
            try:
                self._store(group, stored)
            finally:  # even if the thread ends here, no request waits for it in vain
                with self._condition:
                    self._waiting -= sum(len(job.upload) for job in group)
                    self._group, self._taken = [], None
                loop.call_soon_threadsafe(self._settle, group, stored)
            if time.monotonic() - quiet_since >= 2 * IDLE_SECONDS:
                quiet_since = time.monotonic()
                self._contained()

    def _next_group(self, last: int) -> list[_Job]:
        """Wait for reports; return none after half a second, or if it is time to end.

        `last` are requests of the group before, whose clients may send their next reports now.
        """
        with self._condition:
            if last > 1:
                self._wait_for(last, COMPANY_SECONDS)
            self._wait_for(1, IDLE_SECONDS)
            size = 0
            while self._arrived and size < self._group_reports:
                self._group.append(self._arrived.popleft())
                size += len(self._group[-1].upload)
            self._taken = time.monotonic() if self._group else None
            return self._group

    def _wait_for(self, requests: int, seconds: float) -> None:
        self._wanted = requests
        self._condition.wait_for(
            lambda: len(self._arrived) >= requests or self._stopping, timeout=seconds
        )

    def _store(self, group: list[_Job], stored: list[Outcomes | None]) -> None:
        uploads = [job.upload for job in group]
        together = self._stored(uploads)
        if together is not None:
            stored[:] = together
        elif len(group) > 1:
            end = time.monotonic() + APART_SECONDS
            for place, upload in enumerate(uploads):
                if time.monotonic() >= end:
                    break
                alone = self._stored([upload])
                stored[place] = None if alone is None else alone[0]

    def _stored(self, uploads: Sequence[Upload]) -> Sequence[Outcomes | None] | None:
        started = time.perf_counter()
        try:
            outcomes = self._commit(uploads)
        except Exception as error:  # the thread must outlive a full disk; the requests are told
            self._failed, self._ended_at = True, time.monotonic()
            cause = type(error.__cause__ or error).__name__
            log.error("group-not-stored", reports=sum(map(len, uploads)), error=cause)
            return None
        self._failed, self._ended_at = False, time.monotonic()
        try:
            self._observe(outcomes, time.perf_counter() - started)
        except Exception as error:  # the reports are stored, whatever becomes of their metrics
            log.error("metrics-not-written", error=type(error).__name__)
        return outcomes

    def _observe(self, outcomes: Sequence[Outcomes | None], seconds: float) -> None:
        if self._metrics is not None:
            known = [of_upload for of_upload in outcomes if of_upload is not None]
            self._metrics.committed(sum(map(len, known)), seconds)
            if accepted := sum(of_upload.count(Outcome.ACCEPTED) for of_upload in known):
                self._metrics.reports(Outcome.ACCEPTED.value, accepted)

    def _contained(self) -> None:
        try:
            self._idle()
        except Exception as error:  # it is tried again later; reports are taken meanwhile
            failure = type(error.__cause__ or error).__name__
            # Logged once: it is tried twice a second, and a database may be away for hours.
            if failure != self._failure:
                log.error("counts-not-written", error=failure)
            self._failure = failure
        else:
            if self._failure is not None:
                log.info("counts-written-again")
            self._failure = None


def unavailable(why: str) -> Refused:
    """Return the refusal of a request that can be sent again after a second."""
    return Refused(
        "unavailable",
        f"{why}; send the same bytes again after {RETRY_AFTER_SECONDS} s",
        retry_after=RETRY_AFTER_SECONDS,
    )
