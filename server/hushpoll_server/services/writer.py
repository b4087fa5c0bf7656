"""Group commit: one thread stores the reports of many requests in one durable transaction."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.store.reports import Batch, Outcome, Upload

log = get_logger(__name__)

RETRY_AFTER_SECONDS = 1
# A request gives up waiting after this; its report may still be stored, and the retry finds it.
ACKNOWLEDGE_SECONDS = 30.0
IDLE_SECONDS = 0.5
# How long the requests of a group that failed are tried one by one. A fault of one report shows in
# milliseconds; a full disk or a locked database would hold everybody up.
APART_SECONDS = 5.0


@dataclass(eq=False)
class _Job:
    """The reports of one request, and where their outcomes are put."""

    upload: Upload
    outcomes: Sequence[Outcome] | None = None
    settled: bool = False
    # Held until then: an Event would make two more locks and a condition for each report.
    pending: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.pending.acquire()

    def settle(self, outcomes: Sequence[Outcome] | None) -> None:
        """Let the request go on; None: not stored."""
        self.outcomes = outcomes
        self.settled = True
        self.pending.release()


@dataclass(frozen=True)
class WriterState:
    """What a writer is doing.

    Parameters
    ----------
    waiting : int
        Reports that wait for their commit, those in the present group included.
    most : int
        Reports that may wait.
    stopping : bool
        Whether new reports are refused.
    died : bool
        Whether its thread ended without being told to; the next report starts another.
    """

    waiting: int
    most: int
    stopping: bool
    died: bool


class Writer:
    """Collects concurrent reports into groups and acknowledges each only after its commit.

    A report that arrives alone is committed at once: the writer waits for company only while the
    group before had more than one request, and then no longer than until this group is as large
    as that one. While a commit lasts, the next group forms by itself.

    Where a group cannot be stored, each of its requests is tried by itself, so that only the one
    at fault is refused. Nothing is acknowledged that was not committed.

    Parameters
    ----------
    commit : callable
        Stores a group of uploads durably and returns an outcome for each report of each, or None
        for an upload whose outcomes it does not know.
    after : callable
        Told how many reports of which version each committed group has brought, after the
        acknowledgements.
    idle : callable
        Called when nothing has arrived for half a second, and once when the writer stops.
    group_reports : int
        Reports at which a group is committed without waiting further.
    group_seconds : float
        Longest wait for company, in seconds.
    queue_reports : int
        Reports that may wait; past it a request is refused with ``unavailable``.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Upload]], Sequence[Sequence[Outcome] | None]],
        *,
        after: Callable[[Counter[int]], None],
        idle: Callable[[], None],
        group_reports: int,
        group_seconds: float,
        queue_reports: int,
    ) -> None:
        self._commit = commit
        self._after = after
        self._idle = idle
        self._group_reports = group_reports
        self._group_seconds = group_seconds
        self._queue_reports = queue_reports
        self._jobs: deque[_Job] = deque()
        self._state = threading.Condition()
        # Requests at which the thread is woken. While it waits for company, waking it for each
        # would have it contend with the very requests that it waits for.
        self._wanted = 1
        self._waiting = 0
        self._stopping = False
        self._last_group = 1
        self._failure: str | None = None
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> WriterState:
        """What it is doing now."""
        with self._state:
            died = self._thread is not None and not self._thread.is_alive()
            return WriterState(self._waiting, self._queue_reports, self._stopping, died)

    def start(self) -> None:
        """Start the thread, unless it runs or the writer is stopping."""
        with self._state:
            self._start()

    def submit(self, upload: Upload) -> Sequence[Outcome]:
        """Store reports and return their outcomes once they are durable.

        Raises
        ------
        Refused
            ``unavailable``: the queue is full, the writer is stopping, or the database failed.
            Sending the same bytes again is safe.
        """
        job = _Job(upload)
        with self._state:
            if self._stopping:
                raise _unavailable("the server is stopping")
            if self._waiting + len(upload) > self._queue_reports:
                raise _unavailable(
                    f"{self._waiting} reports wait to be stored, of at most {self._queue_reports}"
                )
            self._waiting += len(upload)
            self._start()
            self._jobs.append(job)
            if len(self._jobs) >= self._wanted or len(upload) >= self._group_reports:
                self._state.notify()
        if not job.pending.acquire(timeout=ACKNOWLEDGE_SECONDS):
            raise _unavailable(f"the report was not stored within {ACKNOWLEDGE_SECONDS:g} s")
        if job.outcomes is None:
            raise _unavailable("the database did not take the report")
        return job.outcomes

    def stop(self, timeout: float | None = None) -> None:
        """Store what has been submitted, refuse what comes after, and end the thread."""
        with self._state:
            if self._waiting:  # a thread that died must not take along what waits
                self._start()
            self._stopping = True
            thread = self._thread
            self._state.notify()
        if thread is not None:
            thread.join(timeout)

    def _start(self) -> None:
        if not self._stopping and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name="hushpoll-writer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            if group:
                self._store(group)
            else:
                self._contained(self._idle)
        self._contained(self._idle)

    def _next_group(self) -> list[_Job] | None:
        """Return what is committed next; nothing after a quiet moment, None at the end."""
        with self._state:
            self._wanted = 1
            self._state.wait_for(lambda: self._jobs or self._stopping, IDLE_SECONDS)
            if not self._jobs:
                return None if self._stopping else []
            if self._last_group > 1:
                self._wanted = self._last_group
                self._state.wait_for(self._enough, self._group_seconds)
            group: list[_Job] = []
            size = 0
            while self._jobs and size < self._group_reports:
                group.append(self._jobs.popleft())
                size += len(group[-1].upload)
            self._last_group = len(group)
        return group

    def _enough(self) -> bool:
        reports = sum(len(job.upload) for job in self._jobs)
        return len(self._jobs) >= self._wanted or reports >= self._group_reports or self._stopping

    def _store(self, group: list[_Job]) -> None:
        try:
            if not self._stored(group) and len(group) > 1:
                self._store_apart(group)
        finally:  # whatever ends the thread, no request waits for it in vain
            with self._state:
                self._waiting -= sum(len(job.upload) for job in group)
            for job in group:
                if not job.settled:
                    job.settle(None)

    def _store_apart(self, group: list[_Job]) -> None:
        end = time.monotonic() + APART_SECONDS
        for job in group:
            if time.monotonic() >= end:
                break
            self._stored([job])

    def _stored(self, group: list[_Job]) -> bool:
        uploads = [job.upload for job in group]
        try:
            found = self._commit(uploads)
        except Exception as error:  # the thread must outlive a full disk; the requests are told
            cause = type(error.__cause__ or error).__name__
            log.error("group-not-stored", reports=sum(map(len, uploads)), error=cause)
            return False
        for job, outcomes in zip(group, found, strict=True):
            job.settle(outcomes)
        self._contained(lambda: self._after(_accepted(uploads, found)))
        return True

    def _contained(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # upkeep is tried again later; ingest goes on
            failure = type(error.__cause__ or error).__name__
            # Said once: it is tried twice a second, and a database may be away for hours.
            if failure != self._failure:
                log.error("upkeep-failed", error=failure)
            self._failure = failure
        else:
            if self._failure is not None:
                log.info("upkeep-works-again")
            self._failure = None


def _accepted(uploads: Sequence[Upload], found: Sequence[Sequence[Outcome] | None]) -> Counter[int]:
    """Return the number of accepted reports by version."""
    accepted: Counter[int] = Counter()
    for upload, outcomes in zip(uploads, found, strict=True):
        if outcomes is None:
            continue
        if isinstance(upload, Batch):
            accepted[upload.version_id] += outcomes.count(Outcome.ACCEPTED)
        else:
            accepted.update(
                arrival.version_id
                for arrival, outcome in zip(upload, outcomes, strict=True)
                if outcome is Outcome.ACCEPTED
            )
    return +accepted


def _unavailable(why: str) -> Refused:
    return Refused(
        "unavailable",
        f"{why}; send the same bytes again after {RETRY_AFTER_SECONDS} s",
        retry_after=RETRY_AFTER_SECONDS,
    )
