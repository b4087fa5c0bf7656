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

Refusals and duplicates are counted by the processes that take reports, which write their counts
every half a second while nothing arrives, and every second otherwise. A release has those that were
written by then. Later ones, at most about a second's, are in the next release; once the version is
over, its account has all of them. None is lost unless a process is killed before it writes.

``jobs.folder`` decides when, on a thread of the web process; closing and asking fold at once, on
their request's thread. Where ``folding`` is ``worker``, the server leaves all of it to ``hushpoll
worker``. What goes by the clock is one call, ``sweep``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.surveys.schedule import period_end
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.tables.counters import TallyStore
from hushpoll_server.store.tables.releases import ReleaseStore
from hushpoll_server.store.tables.reports import ReportStore
from hushpoll_server.store.tables.segments import SegmentStore
from hushpoll_server.store.tables.surveys import VersionRow

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


class VersionByVersion:
    """Maintains survey versions one after the other; one that fails holds up no other.

    What failed is tried again whenever it is due. A failure is logged once, by the type of its
    error, and again when it is another or has passed.

    Parameters
    ----------
    surveys : SurveyService
        Knows the versions.
    metrics : Metrics or None
        Told how many versions fail.
    """

    def __init__(self, surveys: SurveyService, metrics: Metrics | None) -> None:
        self._surveys = surveys
        self._metrics = metrics
        self._failing: dict[tuple[str, int], str] = {}

    def each(
        self, act: str, version_ids: Iterable[int], work: Callable[[VersionRow], object]
    ) -> None:
        """Do one act for each of these versions; no other is due for it now.

        Parameters
        ----------
        act : str
            What is done, for the log.
        version_ids : iterable of int
            The versions.
        work : callable
            Does it to a version.
        """
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


class Upkeep:
    """Keeps inboxes short and counts written.

    Parameters
    ----------
    settings : Settings
        ``folding``, ``fold_at`` and ``fold_idle_seconds``.
    surveys, reports, segments, releases, tallies
        Where the work is.
    metrics : Metrics or None
        Told how many versions cannot be maintained.

    Attributes
    ----------
    versions : VersionByVersion
        Keeps the failure of one version from the others.
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
        metrics: Metrics | None = None,
    ) -> None:
        self._settings = settings
        self._surveys = surveys
        self._reports = reports
        self._segments = segments
        self._releases = releases
        self._tallies = tallies
        self.versions = VersionByVersion(surveys, metrics)

    @property
    def folds(self) -> bool:
        """Whether this process folds by itself."""
        return self._settings.folding == "server"

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
            self._tallies.flush()  # of this process; those of the others are written by themselves
        self.versions.each("release", due, lambda row: self._release(row, now))

    def _release(self, row: VersionRow, now: int) -> None:
        if self._surveys.state(row) is State.CLOSED:
            return
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
        # Of a version without any report, too: nothing else says that all of it is released.
        found = {*self._reports.waiting(), *self._reports.over(), *self._segments.unmixed()}
        self.versions.each("end", found, self._fold_ended)

    def _fold_ended(self, row: VersionRow) -> None:
        if self._surveys.state(row) is State.CLOSED:
            self.fold(row, last=True)

    def fold(self, row: VersionRow, *, last: bool = False) -> int:
        """Fold one version's inbox; return the number of reports moved."""
        moved = self._segments.fold(row.id, row.record_size, minimum=row.minimum_batch, last=last)
        if moved:
            log.info("folded", survey=row.name, version=row.version, reports=moved)
        return moved
