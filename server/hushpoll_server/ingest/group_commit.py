"""Group commit: what has arrived on the loop is stored by one thread in one durable transaction."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics
from hushpoll_server.store.tables.reports import Outcome, Upload

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
    """The reports of one request, and where their outcomes are put; None: not stored."""

    upload: Upload
    settled: asyncio.Future[Outcomes | None]


class CommitState(NamedTuple):
    """What the group commit is doing.

    Attributes
    ----------
    waiting : int
        Reports that wait for their commit, those in the present group included.
    most : int
        Reports that may wait.
    stopping : bool
        Whether new reports are refused.
    died : bool
        Whether its thread ended without being told to.
    """

    waiting: int
    most: int
    stopping: bool
    died: bool


class GroupCommit:
    """Stores reports in groups and acknowledges each only after its commit.

    A report that arrives alone is committed at once. While a commit lasts, the next group forms by
    itself; after a group of several the next one waits for company, for two milliseconds at most.
    Where a group cannot be stored, each of its requests is tried by itself, so that only the one at
    fault is refused. Nothing is acknowledged that was not committed.

    Parameters
    ----------
    commit : callable
        Stores a group of uploads durably and returns an outcome for each report of each, or None
        for an upload whose outcomes it does not know. Called on the thread.
    idle : callable
        Called on the thread when nothing has arrived for half a second, once a second while
        reports arrive, and at the end.
    group_reports : int
        Most reports of a group, unless one upload has more.
    queue_reports : int
        Reports that may wait; past it a request is refused with ``unavailable``.
    metrics : Metrics or None
        Told every group that was stored.
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
        # The loop's own; nothing of it is touched by the thread.
        self._arrived: deque[_Job] = deque()
        self._group: list[_Job] = []
        self._waiting = 0
        self._late: asyncio.TimerHandle | None = None
        # Set while a group waits for company, until as many as the group before have arrived.
        self._gathering: asyncio.TimerHandle | None = None
        self._wanted = 1
        self._stopping = False
        self._failure: str | None = None
        # One group at a time; None ends the thread.
        self._groups: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> CommitState:
        """What it is doing now; for any thread."""
        died = self._thread is not None and not self._thread.is_alive() and not self._stopping
        return CommitState(self._waiting, self._queue_reports, self._stopping, died)

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

        Raises
        ------
        Refused
            ``unavailable``: too many wait, or the server is stopping. Sending the same bytes again
            is safe.
        """
        self.check_room(len(upload))
        loop = self._loop
        if loop is None or self._thread is None or not self._thread.is_alive():
            loop = self.start()
        self._waiting += len(upload)
        settled: asyncio.Future[Outcomes | None] = loop.create_future()
        self._arrived.append(_Job(upload, settled))
        if self._gathering is not None:
            if len(self._arrived) >= self._wanted:
                self._hand_over(loop)
        elif not self._group and len(self._arrived) == 1:
            # What arrives with the same look at the sockets comes along.
            loop.call_soon(self._hand_over, loop)
        return settled

    def check_room(self, reports: int) -> None:
        """Refuse reports for which there is no room now.

        Raises
        ------
        Refused
            ``unavailable``: too many wait, or the server is stopping.
        """
        if self._stopping:
            raise unavailable("the server is stopping")
        if self._waiting + reports > self._queue_reports:
            raise unavailable(
                f"{self._waiting} reports wait to be stored, of at most {self._queue_reports}"
            )

    async def stop(self) -> None:
        """Store what has been submitted, refuse what comes after, and end the thread."""
        self._stopping = True
        while self._waiting and self._thread is not None and self._thread.is_alive():
            await asyncio.sleep(0.01)
        if self._thread is not None:
            self._groups.put(None)
            await asyncio.to_thread(self._thread.join, ACKNOWLEDGE_SECONDS)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        if self._group or not self._arrived:
            return
        group, size = self._group, 0
        while self._arrived and size < self._group_reports:
            group.append(self._arrived.popleft())
            size += len(group[-1].upload)
        self._late = loop.call_later(ACKNOWLEDGE_SECONDS, self._give_up)
        self._groups.put(group)

    def _give_up(self) -> None:
        """Let every request go whose group, or the one before, takes too long."""
        for job in (*self._group, *self._arrived):
            if not job.settled.done():
                job.settled.set_exception(
                    unavailable(f"the report was not stored within {ACKNOWLEDGE_SECONDS:g} s")
                )
        # Those of the group are the thread's until it ends.
        self._waiting -= sum(len(job.upload) for job in self._arrived)
        self._arrived.clear()
        if self._loop is not None:  # others may arrive while the group still lasts
            self._late = self._loop.call_later(ACKNOWLEDGE_SECONDS, self._give_up)

    def _done(
        self,
        loop: asyncio.AbstractEventLoop,
        group: list[_Job],
        found: list[Outcomes | None],
    ) -> None:
        if self._late is not None:
            self._late.cancel()
        for job, outcomes in zip(group, found, strict=True):
            if not job.settled.done():
                job.settled.set_result(outcomes)
        self._waiting -= sum(len(job.upload) for job in group)
        self._wanted, self._group = len(group), []
        if self._wanted > len(self._arrived) and self._wanted > 1 and not self._stopping:
            # Clients that were just answered send their next reports within this time. Without it
            # the first of them is a group of its own, and the others wait for a second commit.
            self._gathering = loop.call_later(COMPANY_SECONDS, self._hand_over, loop)
        else:
            self._hand_over(loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work on the thread until it is told to end."""
        quiet_since = time.monotonic()
        while True:
            try:
                group = self._groups.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                self._contained()
                continue
            if group is None:
                self._contained()
                return
            found: list[Outcomes | None] = [None] * len(group)
            try:
                self._store(group, found)
            finally:  # whatever ends the thread, no request waits for it in vain
                loop.call_soon_threadsafe(self._done, loop, group, found)
            if time.monotonic() - quiet_since >= 2 * IDLE_SECONDS:
                quiet_since = time.monotonic()
                self._contained()

    def _store(self, group: list[_Job], found: list[Outcomes | None]) -> None:
        uploads = [job.upload for job in group]
        stored = self._stored(uploads)
        if stored is not None:
            found[:] = stored
        elif len(group) > 1:
            end = time.monotonic() + APART_SECONDS
            for place, upload in enumerate(uploads):
                if time.monotonic() >= end:
                    break
                alone = self._stored([upload])
                found[place] = None if alone is None else alone[0]

    def _stored(self, uploads: Sequence[Upload]) -> Sequence[Outcomes | None] | None:
        started = time.perf_counter()
        try:
            found = self._commit(uploads)
        except Exception as error:  # the thread must outlive a full disk; the requests are told
            cause = type(error.__cause__ or error).__name__
            log.error("group-not-stored", reports=sum(map(len, uploads)), error=cause)
            return None
        if self._metrics is not None:
            known = [one for one in found if one is not None]
            self._metrics.committed(sum(map(len, known)), time.perf_counter() - started)
            if accepted := sum(one.count(Outcome.ACCEPTED) for one in known):
                self._metrics.reports(Outcome.ACCEPTED.value, accepted)
        return found

    def _contained(self) -> None:
        try:
            self._idle()
        except Exception as error:  # it is tried again later; reports are taken meanwhile
            failure = type(error.__cause__ or error).__name__
            # Said once: it is tried twice a second, and a database may be away for hours.
            if failure != self._failure:
                log.error("counts-not-written", error=failure)
            self._failure = failure
        else:
            if self._failure is not None:
                log.info("counts-written-again")
            self._failure = None


def unavailable(why: str) -> Refused:
    """Return the refusal of what can be sent again after a second."""
    return Refused(
        "unavailable",
        f"{why}; send the same bytes again after {RETRY_AFTER_SECONDS} s",
        retry_after=RETRY_AFTER_SECONDS,
    )
