"""When an inbox is folded into sealed segments, and when counts are written.

An inbox is folded

- when it holds ``fold_at`` reports (and at least the survey's minimum batch) and none has arrived
  for half a second; while more arrive, as soon as ``most_waiting`` of them wait;
- when nothing has arrived for ``fold_idle_seconds`` and it holds at least the minimum batch;
- when an analyst asks for what is sealed, the survey releases immediately and it holds at least the
  minimum batch;
- when a period ends (see ``releases``) and it holds at least the minimum batch;
- when the version is closed and its grace period is over, whatever it holds: no more will come.

At the end of a period what is sealed is released, if that is at least a minimum batch of new
reports; a server that was down then releases when it is back. What a survey that has ended holds is
released as it is sealed.

All of it runs on the writer's thread, so that a fold never competes with a commit; only closing
and asking fold at once, on their request's thread. Where ``folding`` is ``worker``, the server
leaves all of it to ``hushpoll worker``. What goes by the clock is one call, ``sweep``.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.schedule import period_end
from hushpoll_server.services.surveys import State, SurveyService
from hushpoll_server.settings import Settings
from hushpoll_server.store.releases import ReleaseStore
from hushpoll_server.store.reports import ReportStore
from hushpoll_server.store.segments import SegmentStore
from hushpoll_server.store.surveys import VersionRow
from hushpoll_server.store.tallies import TallyStore

log = get_logger(__name__)

SWEEP_SECONDS = 5.0
# A fold takes less for each report the more there are, and whoever sends reports waits for it. So
# while they arrive one by one it waits until there are so many times `fold_at`.
UNDER_LOAD: Final = 10
# A fold holds the records that it moves in memory, up to four times.
FOLDED_BYTES: Final = 64 * 2**20


def most_waiting(fold_at: int, record_size: int, times: int) -> int:
    """Return the number of reports at which an inbox is folded while more arrive.

    Parameters
    ----------
    fold_at : int
        The setting.
    record_size : int
        L of the version, in bytes.
    times : int
        ``UNDER_LOAD``, or the database's ``BULK_FOLDS`` where the last did not come one by one.
    """
    return max(fold_at, min(times * fold_at, FOLDED_BYTES // max(1, record_size)))


class Upkeep:
    """Keeps inboxes short and counts written.

    Parameters
    ----------
    settings : Settings
        ``folding``, ``fold_at`` and ``fold_idle_seconds``.
    surveys, reports, segments, releases, tallies
        Where the work is.
    monotonic : callable
        Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        surveys: SurveyService,
        reports: ReportStore,
        segments: SegmentStore,
        releases: ReleaseStore,
        tallies: TallyStore,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._surveys = surveys
        self._reports = reports
        self._segments = segments
        self._releases = releases
        self._tallies = tallies
        self._monotonic = monotonic
        # An estimate of what each inbox holds, so that no group has to count rows.
        self._lock = threading.Lock()
        self._waiting: Counter[int] | None = None
        # They never change, and asking for one costs a group a statement.
        self._record_sizes: dict[int, int] = {}
        self._last_arrival = monotonic()
        self._last_sweep = -SWEEP_SECONDS
        self._folded_since_arrival = False

    @property
    def folds(self) -> bool:
        """Whether this process folds by itself."""
        return self._settings.folding == "server"

    def after_group(self, accepted: Counter[int]) -> None:
        """Fold the inboxes that a committed group has overfilled: reports accepted, by version."""
        if not self.folds:
            return
        self._last_arrival = self._monotonic()
        self._folded_since_arrival = False
        with self._lock:
            if self._waiting is None:  # the first group of this process is in the store already
                self._waiting = Counter(self._reports.waiting())
            else:
                self._waiting.update(accepted)
            waiting = {one: self._waiting[one] for one in accepted}
        for version_id, count in waiting.items():
            in_bulk = accepted[version_id] > self._settings.group_commit_reports
            times = self._segments.bulk_folds if in_bulk else UNDER_LOAD
            size = self._record_size(version_id)
            if count >= most_waiting(self._settings.fold_at, size, times):
                self.fold(self._surveys.by_id(version_id))
        self._sweep_in_time()

    def idle(self) -> None:
        """Write the counts, clear the log; fold what a quiet moment or a survey's end allows."""
        self._tallies.flush()
        self._segments.tidy()
        if not self.folds:
            return
        now = self._monotonic()
        self._sweep_in_time()
        with self._lock:
            waiting = dict(self._waiting or {})
        for version_id, count in waiting.items():
            if count >= self._settings.fold_at:
                self.fold(self._surveys.by_id(version_id))
        quiet = now - self._last_arrival >= self._settings.fold_idle_seconds
        if quiet and not self._folded_since_arrival:
            for version_id in self._reports.waiting():
                self.fold(self._surveys.by_id(version_id))
            self._folded_since_arrival = True

    def before_question(self, row: VersionRow) -> None:
        """Seal what an answer may take into account: never fewer than a minimum batch at once.

        Only of a survey that releases immediately: no other answer takes it into account. Where
        nothing can be written, answers are about what is sealed already.
        """
        if self.folds and self._segments.counts(row.id)[0] >= row.minimum_batch:
            with suppress(Refused):
                self.fold(row)

    def after_closing(self, row: VersionRow) -> None:
        """Fold what a version that was just closed holds, if it may be."""
        if self.folds:
            self.fold(row)
            self.fold_ended()

    def sweep(self, now: int) -> None:
        """Do what the clock asks for, in any process and as often as one likes.

        Fold the rest of versions that are over, and release what has come in by the end of a period
        that is over.

        Parameters
        ----------
        now : int
            Seconds since 1970, UTC.
        """
        self.fold_ended()
        due = self._releases.due(now)
        if due:
            self._tallies.flush()  # a release tells of the refusals until then
        for version_id in due:
            row = self._surveys.by_id(version_id)
            if self._surveys.state(row) is not State.CLOSED:
                self._release(row, now)

    def _sweep_in_time(self) -> None:
        now = self._monotonic()
        if now - self._last_sweep >= SWEEP_SECONDS:
            self._last_sweep = now
            self.sweep(self._surveys.now())

    def _release(self, row: VersionRow, now: int) -> None:
        self.fold(row)
        released = self._releases.make(
            row.id,
            row.record_size,
            minimum=row.minimum_batch,
            now=now,
            following=period_end(row.release, now),
        )
        if released:
            log.info("released", survey=row.name, version=row.version, reports=released)

    def fold_ended(self) -> None:
        """Fold the rest of every version that takes no more reports, and mix its segments."""
        for version_id in sorted({*self._reports.waiting(), *self._segments.unmixed()}):
            row = self._surveys.by_id(version_id)
            if self._surveys.state(row) is State.CLOSED:
                self.fold(row, last=True)

    def _record_size(self, version_id: int) -> int:
        if version_id not in self._record_sizes:
            self._record_sizes[version_id] = self._surveys.by_id(version_id).record_size
        return self._record_sizes[version_id]

    def fold(self, row: VersionRow, *, last: bool = False) -> int:
        """Fold one version's inbox; return the number of reports moved."""
        moved = self._segments.fold(row.id, row.record_size, minimum=row.minimum_batch, last=last)
        if moved:
            log.info("folded", survey=row.name, version=row.version, reports=moved)
        with self._lock:
            if self._waiting is not None:
                # Also where nothing was moved, or what other processes took: too few wait, or
                # another has folded, and that is not to be tried again with each group.
                self._waiting[row.id] = 0
        return moved
