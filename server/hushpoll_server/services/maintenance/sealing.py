"""Sealing the inbox of a survey version, and releasing what is sealed.

An inbox is sealed

- when the sealing policy says so (see ``policy``) and it holds at least the survey's minimum batch;
- when an analyst asks for what is sealed, the survey releases immediately and it holds at least the
  minimum batch;
- when a period ends (see ``releases``) and it holds at least the minimum batch;
- when the version is closed and its grace period is over, whatever it holds: no more will come.

At the end of a period what is sealed is released, if that is at least a minimum batch of new
reports; a server that was down then releases when it is back. What a survey that has ended holds is
released as it is sealed.

Refusals and duplicates are counted by the processes that take reports. They write their counters
every half a second while nothing arrives, and every second otherwise. A release has those that were
written by then. Later ones, at most about a second's, are in the next release; once the version is
over, its account has all of them. None is lost unless a process is killed before it writes.

``maintenance.loop`` seals by the clock, on a thread of the web process; closing and asking seal at
once, on their request's thread. Where the setting ``sealing`` is ``worker``, the server leaves all
of it to ``hushpoll worker``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.surveys.schedule import period_end
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.tables.counters import CounterStore
from hushpoll_server.store.tables.releases import ReleaseStore
from hushpoll_server.store.tables.reports import ReportStore
from hushpoll_server.store.tables.segments import SegmentStore
from hushpoll_server.store.tables.surveys import VersionRow

log = get_logger(__name__)


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


class Sealing:
    """Seals inboxes, and releases what is sealed.

    Parameters
    ----------
    settings : Settings
        ``sealing``.
    surveys, reports, segments, releases, counters
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
        counters: CounterStore,
        metrics: Metrics | None = None,
    ) -> None:
        self._settings = settings
        self._surveys = surveys
        self._reports = reports
        self._segments = segments
        self._releases = releases
        self._counters = counters
        self.versions = VersionByVersion(surveys, metrics)

    @property
    def seals(self) -> bool:
        """Whether this process seals by itself."""
        return self._settings.sealing == "server"

    def before_question(self, row: VersionRow) -> None:
        """Seal what an answer may take into account: never fewer than a minimum batch at once.

        Only of a survey that releases immediately: no other answer takes it into account. Where
        nothing can be written, answers are about what is sealed already.
        """
        if self.seals and self._segments.counts(row.id)[0] >= row.minimum_batch:
            with suppress(Refused):
                self.seal(row)

    def after_closing(self, row: VersionRow) -> None:
        """Seal what a version that was just closed holds, if it may be."""
        if self.seals:
            self.seal(row)
            self.seal_ended()

    def sweep(self, now: int) -> None:
        """Do what the clock asks for, in any process and as often as one likes.

        Seal the rest of versions that are over, and release what has come in by the end of a period
        that is over.

        Parameters
        ----------
        now : int
            Seconds since 1970, UTC.
        """
        self.seal_ended()
        due = self._releases.due(now)
        if due:
            self._counters.flush()  # of this process; those of the others are written by themselves
        self.versions.each("release", due, lambda row: self._release(row, now))

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
        """Seal the rest of every version that takes no more reports, and mix its segments."""
        # Of a version without any report, too: nothing else says that all of it is released.
        found = {*self._reports.waiting(), *self._reports.over(), *self._segments.unmixed()}
        self.versions.each("end", found, self._seal_ended)

    def _seal_ended(self, row: VersionRow) -> None:
        if self._surveys.state(row) is State.CLOSED:
            self.seal(row, last=True)

    def seal(self, row: VersionRow, *, last: bool = False) -> int:
        """Seal one version's inbox; return the number of reports moved."""
        moved = self._segments.seal(row.id, row.record_size, minimum=row.minimum_batch, last=last)
        if moved:
            log.info("sealed", survey=row.name, version=row.version, reports=moved)
        return moved
