"""Sealing of inboxes and releases of sealed reports: the policy, the work and its thread.

An inbox is sealed

- when the policy says so (see `SealingPolicy`) and it holds at least the survey's minimum batch;
- when an analyst asks for what is sealed, the survey releases immediately and the inbox holds at
  least the minimum batch;
- when a period ends (see ``schedule``) and it holds at least the minimum batch;
- when the version is closed and its grace period is over, whatever it holds: no more will come.

At the end of a period what is sealed is released, if that is at least a minimum batch of new
reports; a server that was down then makes the release when it is back. What a survey that has ended
holds is released as it is sealed.

Refusals and duplicates are counted by the processes that take reports. They write their counters
every half a second while nothing arrives, and every second otherwise. A release has those that were
written by then. Later ones, at most about a second's, are in the next release; once the version is
over, its account has all of them. None is lost unless a process is killed before it writes.

`Maintenance` seals by the clock, on a thread of the web process; a request that closes a version or
asks about it seals at once, on its own thread. Where the setting ``sealing`` is ``worker``, the
server leaves all of it to ``hushpoll worker``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Final

from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.surveys.mailing import Mailing
from hushpoll_server.services.surveys.schedule import period_end
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.counts import CounterStore, ReleaseStore
from hushpoll_server.store.reports import ReportStore
from hushpoll_server.store.segment_store import SegmentStore

log = get_logger(__name__)

# Sealing costs less for each report the more there are, and devices that send reports wait for it.
# So while reports arrive one by one, sealing waits until there are so many times `seal_at`.
SINGLE_FACTOR: Final = 10
# Sealing holds the records that it moves in memory, up to four times.
SEALED_BYTES: Final = 64 * 2**20
TURN_SECONDS: Final = 1.0
SWEEP_SECONDS: Final = 5.0
STOP_SECONDS: Final = 3.0
# A version that has been due for so long counts as failing.
OVERDUE_SECONDS: Final = 60


def most_waiting(seal_at: int, record_size: int, factor: int) -> int:
    """Return the number of reports at which an inbox is sealed while more arrive.

    A factor is ``SINGLE_FACTOR``, or the database's ``BULK_FACTOR`` where reports arrive in bulk; a
    record has `record_size` bytes.
    """
    return max(seal_at, min(factor * seal_at, SEALED_BYTES // max(1, record_size)))


class SealingPolicy:
    """Remembers how many reports waited at the last look, and says which inboxes are due.

    It is asked once a second, in the web process or in ``hushpoll worker``. An inbox is due when it
    holds ``seal_at`` reports and none has arrived since the look before; when reports still arrive,
    and as many wait as `most_waiting` says: they arrived in bulk if at least ``max_bulk_reports``
    came since the look before, and one by one otherwise; and when nothing has arrived for
    ``seal_idle_seconds``. `bulk_factor` is how many times ``seal_at`` this database seals while
    reports arrive in bulk.
    """

    def __init__(self, settings: Settings, *, bulk_factor: int) -> None:
        self._settings = settings
        self._bulk_factor = bulk_factor
        # By version: the reports that waited at the last look, and since when as many wait.
        self._seen: dict[int, tuple[int, float]] = {}

    def due(self, version_id: int, record_size: int, waiting: int, now: float) -> bool:
        """Look at the inbox of a version, and return whether it is sealed now.

        `now` is of a clock that never goes back.
        """
        settings = self._settings
        before, since = self._seen.get(version_id, (-1, now))
        if before != waiting:
            since = now
        self._seen[version_id] = waiting, since
        arrived = waiting - max(before, 0)
        full = settings.seal_at
        if arrived:
            in_bulk = arrived >= settings.max_bulk_reports
            full = most_waiting(full, record_size, self._bulk_factor if in_bulk else SINGLE_FACTOR)
        return waiting >= full or now - since >= settings.seal_idle_seconds

    def tried(self, version_id: int, waiting: int, now: float) -> None:
        """Note that sealing was tried; reports that are still in the inbox wait anew."""
        self._seen[version_id] = waiting, now

    def keep_only(self, version_ids: Collection[int]) -> None:
        """Forget every other version: its inbox is empty."""
        self._seen = {key: seen for key, seen in self._seen.items() if key in version_ids}


class VersionByVersion:
    """Maintains survey versions one after the other; a failure of one holds up no other.

    A failure is logged once, by the type of its error, and again when the type changes or the
    failure has passed. The version is tried again whenever it is due.
    """

    def __init__(self, surveys: SurveyService, metrics: Metrics | None) -> None:
        self._surveys = surveys
        self._metrics = metrics
        self._failing: dict[tuple[str, int], str] = {}

    def each(
        self, act: str, version_ids: Iterable[int], work: Callable[[VersionRow], object]
    ) -> None:
        """Do one act, named in the log, for each of these versions; no other is due for it now."""
        due = set(version_ids)
        for key in list(self._failing):
            if key[0] == act and key[1] not in due:
                self._failing.pop(key, None)
        for version_id in sorted(due):
            self._do(act, version_id, work)
        if self._metrics is not None:
            self._metrics.maintenance_failing(len({key[1] for key in list(self._failing)}))

    def _do(self, act: str, version_id: int, work: Callable[[VersionRow], object]) -> None:
        named: dict[str, object] = {"act": act, "version_id": version_id}
        try:
            row = self._surveys.by_id(version_id)
            named = {"act": act, "survey": row.name, "version": row.version}
            work(row)
        except Exception as error:  # whatever it is, the other versions are maintained
            failure = type(error.__cause__ or error).__name__
            if self._failing.get((act, version_id)) != failure:
                log.error("version-not-maintained", error=failure, **named)
            self._failing[act, version_id] = failure
        else:
            if self._failing.pop((act, version_id), None) is not None:
                log.info("version-maintained-again", **named)


class Sealing:
    """Seals inboxes, and releases sealed reports."""

    def __init__(
        self,
        settings: Settings,
        *,
        surveys: SurveyService,
        reports: ReportStore,
        segments: SegmentStore,
        releases: ReleaseStore,
        counters: CounterStore,
        mailing: Mailing,
        metrics: Metrics | None = None,
    ) -> None:
        self._surveys = surveys
        self._mailing = mailing
        self._reports = reports
        self._segments = segments
        self._releases = releases
        self._counters = counters
        self._versions = VersionByVersion(surveys, metrics)
        self._policy = SealingPolicy(settings, bulk_factor=segments.bulk_factor)
        self._last_sweep = -math.inf
        # Whether requests seal; otherwise `hushpoll worker` alone does.
        self._on_request = settings.sealing == "server"

    def turn(
        self, now: float | None = None, *, prepare: Callable[[], object] = lambda: None
    ) -> None:
        """Seal inboxes that are due, make releases that are due, and vacuum, once.

        `now` is of a clock that never goes back, by default the system's. `prepare` is called,
        before any transaction that others wait for, when a report waits.
        """
        now = time.monotonic() if now is None else now
        waiting = self._reports.waiting()
        if waiting:
            prepare()

        def seal_if_due(row: VersionRow) -> None:
            if self._policy.due(row.id, row.record_size, waiting[row.id], now):
                self.seal(row)
                self._policy.tried(row.id, waiting[row.id], now)

        self._versions.each("seal", waiting, seal_if_due)
        self._policy.keep_only(waiting)
        if now - self._last_sweep >= SWEEP_SECONDS:
            self._last_sweep = now
            self.sweep(self._surveys.now())
        self._segments.vacuum()

    def before_question(self, row: VersionRow) -> None:
        """Seal what an answer may take into account: never fewer than a minimum batch at once.

        Only of a survey that releases immediately: no other answer takes it into account. Where
        nothing can be written, answers are about what is sealed already.
        """
        if self._on_request and self._segments.counts(row.id)[0] >= row.minimum_batch:
            with suppress(Refused):
                self.seal(row)

    def after_closing(self, row: VersionRow) -> None:
        """Seal what a version that was just closed holds, if it may be."""
        if self._on_request:
            self.seal(row)
            self.seal_ended()

    def sweep(self, now: int) -> None:
        """Seal what is left of ended versions, make releases that are due, forget who was invited.

        Any process may do this at any time: nothing is done twice. `now` is in seconds since 1970,
        UTC.
        """
        self._mailing.forget_closed()
        self.seal_ended()
        due = self._releases.due(now)
        if due:
            self._counters.flush()  # of this process; those of the others are written by themselves
        self._versions.each("release", due, lambda row: self._release(row, now))

    def overdue(self, now: int) -> int:
        """Return how many versions should have been released or sealed for good a minute ago.

        For a process that leaves sealing to ``hushpoll worker``, and does not see it fail.
        """
        before = now - OVERDUE_SECONDS
        late = set()
        for version_id in {*self._releases.due(before), *self._reports.over()}:
            row = self._surveys.by_id(version_id)
            ends = (row.next_release, self._surveys.accepts_until(row))
            if not row.ended and any(end is not None and end <= before for end in ends):
                late.add(version_id)
        return len(late)

    def _release(self, row: VersionRow, now: int) -> None:
        if self._surveys.state(row) is State.CLOSED:
            return
        self.seal(row)
        released = self._releases.make(
            row.id,
            row.record_size,
            minimum=row.minimum_batch,
            now=now,
            following=period_end(row.release, now),
        )
        if released:
            log.info("released", survey=row.name, version=row.version, reports=released)

    def seal_ended(self) -> None:
        """Seal the rest of every version that takes no more reports, and shuffle its segments."""
        # A version without any report is sealed too: this marks that all of it is released.
        ended = {*self._reports.waiting(), *self._reports.over(), *self._segments.unshuffled()}
        self._versions.each("end", ended, self._seal_ended)

    def _seal_ended(self, row: VersionRow) -> None:
        if self._surveys.state(row) is State.CLOSED:
            self.seal(row, last=True)

    def seal(self, row: VersionRow, *, last: bool = False) -> int:
        """Seal one version's inbox; return the number of reports moved."""
        moved = self._segments.seal(row.id, row.record_size, minimum=row.minimum_batch, last=last)
        if moved:
            log.info("sealed", survey=row.name, version=row.version, reports=moved)
        return moved


class Maintenance:
    """Takes a turn of sealing every second, on a thread of its own, until it is stopped.

    `prepare` is called once, when the first report waits, so that the first seal is as fast as
    others. A server that nobody sends a report does without what counting loads.
    """

    def __init__(self, sealing: Sealing, *, prepare: Callable[[], object] = lambda: None) -> None:
        self._sealing = sealing
        self._prepare = prepare
        self._prepared = False
        self._stopping = threading.Event()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="hushpoll-maintenance", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; a transaction that takes too long is undone."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.wait(TURN_SECONDS):
            try:
                self._sealing.turn(prepare=self._prepare_once)
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

    def _prepare_once(self) -> None:
        if not self._prepared:
            self._prepared = True
            self._prepare()
