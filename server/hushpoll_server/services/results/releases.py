"""What analysts may learn of a version now: its last release, and when the next one is due.

A release is the same for every analyst. It is made by the clock (see ``Sealing.sweep``), never by a
question, a job or an upload, so that no analyst chooses which reports lie between two releases. A
version that releases immediately is the exception: its answers are about what is sealed now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from hushpoll_analysis.records.counts import PairCounts
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.rows import ReleasedDay
from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.surveys import State, SurveyService, timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.counts import Aggregate, CounterStore, ReleaseStore
from hushpoll_server.store.segment_store import SegmentStore
from hushpoll_server.store.withdrawals import COUNTED_AS
from hushpoll_shared.survey.terms import AT_THE_END, IMMEDIATE
from hushpoll_shared.wire.documents.surveys import (
    ReleaseKind,
    ReleaseSummary,
    ReleaseTimes,
    ReportCounts,
)


@dataclass(frozen=True)
class Release:
    """What analysts may learn of a version now."""

    counts: PairCounts | None
    """Of its reports; None where they were not kept yet, or by another release of this program."""
    reports: int
    """At least the minimum batch."""
    pending: int | None
    """Reports that wait to be sealed; None of a version that releases on a schedule."""
    released_at: int | None
    """Seconds since 1970, UTC; None of a version that releases immediately."""
    records_deleted_at: int | None
    """Seconds since 1970, UTC."""


class Releases:
    """Reads releases.

    Before an answer about a version that releases immediately, `before` seals what the answer may
    take into account.
    """

    def __init__(
        self,
        *,
        surveys: SurveyService,
        segments: SegmentStore,
        counters: CounterStore,
        store: ReleaseStore,
        before: Callable[[VersionRow], None],
    ) -> None:
        self._surveys = surveys
        self._segments = segments
        self._counters = counters
        self._store = store
        self._before = before

    def current(self, row: VersionRow) -> Release:
        """Return what analysts may learn of a version; below its minimum batch that is refused."""
        if row.release == IMMEDIATE:
            return self._immediate(row)
        released = self._store.read(row.id)
        if released is None and not row.ended:
            raise self._not_released(row)
        reports = 0 if released is None else released.aggregate.reports
        if released is None or reports < row.minimum_batch:
            raise _too_few(row, reports, 0)
        return Release(
            self._pair_counts(row, released.aggregate),
            reports,
            None,
            released.at,
            self._deleted_at(row),
        )

    def reports(self, row: VersionRow) -> int:
        """Return the number of a version's released reports."""
        if row.release == IMMEDIATE:
            return sum(self._segments.counts(row.id))
        released = self._store.read(row.id)
        return 0 if released is None else released.aggregate.reports

    def counted(self, row: VersionRow) -> int | None:
        """Return the number of reports whose counts are kept; None below the minimum batch.

        Nothing is sealed for it, and of a scheduled version it is about the last release.
        """
        if row.release == IMMEDIATE:
            held = self._segments.sealed(row.id)
            aggregate = None if held is None else held.aggregate
        else:
            released = self._store.read(row.id)
            aggregate = None if released is None else released.aggregate
        if aggregate is None or aggregate.reports < row.minimum_batch:
            return None
        return aggregate.reports

    def account(self, row: VersionRow) -> ReportCounts:
        """Return the counts of a version's reports, as the API gives them.

        Of a version that releases on a schedule they are those of the last release, refusals too.
        Once it is over and all is released, they are as of now.
        """
        inbox: int | None
        if row.release == IMMEDIATE:
            inbox, sealed = self._segments.counts(row.id)
            refused = self._counters.totals(row.id)
        else:
            released = self._store.read(row.id)
            inbox, sealed = None, 0 if released is None else released.aggregate.reports
            refused = {} if released is None else dict(released.refused)
            if row.ended:
                refused = self._counters.totals(row.id)
        return {
            "accepted": (inbox or 0) + sealed,
            "inbox": inbox,
            "sealed": sealed,
            "withdrawn": refused.pop(COUNTED_AS, 0),
            "duplicate": refused.pop("duplicate", 0),
            "rejected": refused,
            **self.describe(row),
        }

    def describe(self, row: VersionRow) -> ReleaseTimes:
        """Return when a version releases, did last and will next, as the API gives it."""
        released = None if row.release == IMMEDIATE else self._store.read(row.id)
        following = self.following(row)
        return {
            "release": cast("ReleaseKind", row.release),
            "released_at": None if released is None else timestamp(released.at),
            "next_release": None if following is None else timestamp(following),
        }

    def by_day(self, row: VersionRow) -> list[ReleasedDay]:
        """Return how many reports were released on each day, as the API gives it.

        Of a version that releases immediately these are the days on which reports were sealed.
        """
        before = 0
        days: list[ReleasedDay] = []
        for day, reports in self._store.days(row.id):
            days.append({"day": day, "reports": reports, "added": reports - before})
            before = reports
        return days

    def summaries(self, rows: Sequence[VersionRow]) -> list[ReleaseSummary]:
        """Return the number of released reports of many versions, and what `describe` returns.

        Only numbers and dates are read, and not the counts behind estimates.
        """
        dates = self._store.dates()
        summaries: list[ReleaseSummary] = []
        for row in rows:
            at, reports = dates.get(row.id, (None, 0))
            if row.release == IMMEDIATE:
                at, reports = None, sum(self._segments.counts(row.id))
            following = self.following(row)
            summaries.append(
                {
                    "reports": reports,
                    "release": cast("ReleaseKind", row.release),
                    "released_at": None if at is None else timestamp(at),
                    "next_release": None if following is None else timestamp(following),
                }
            )
        return summaries

    def records_deleted_at(self, row: VersionRow) -> str | None:
        """Return when a version's records were deleted, as the API gives it; None if they exist."""
        at = self._deleted_at(row)
        return None if at is None else timestamp(at)

    def following(self, row: VersionRow) -> int | None:
        """Return the second of the next release; None where it is not known, or there is none."""
        if row.release == IMMEDIATE or row.ended:
            return None
        ends = self._surveys.accepts_until(row)
        return min((end for end in (row.next_release, ends) if end is not None), default=None)

    def _immediate(self, row: VersionRow) -> Release:
        self._before(row)
        held = self._segments.sealed(row.id)
        pending, reports = self._segments.counts(row.id)
        if held is not None:
            reports = held.aggregate.reports
        if reports < row.minimum_batch:
            raise _too_few(row, reports, pending)
        counts = None if held is None else self._pair_counts(row, held.aggregate)
        deleted = None if held is None else held.records_deleted_at
        return Release(counts, reports, pending, None, deleted)

    def _pair_counts(self, row: VersionRow, aggregate: Aggregate) -> PairCounts | None:
        published = self._surveys.published(row)
        try:
            return PairCounts.unpack(
                published, aggregate.reports, aggregate.support, aggregate.joint
            )
        except InvalidParameter:  # a release of this program that kept other pairs has written them
            return None  # the segments are read until they are counted again

    def _deleted_at(self, row: VersionRow) -> int | None:
        held = self._segments.sealed(row.id)
        return None if held is None else held.records_deleted_at

    def _not_released(self, row: VersionRow) -> Refused:
        following = self.following(row)
        if self._surveys.state(row) is State.CLOSED:
            when = "it is over, and its reports are released within seconds"
        elif following is None:
            when = "its reports are released once it was closed and its grace period is over"
        else:
            when = f"the next release is due at {timestamp(following)}"
            if following == row.next_release:
                when += (
                    f", if at least {row.minimum_batch} reports (its minimum batch) are sealed by "
                    "then"
                )
        how = "at its end" if row.release == AT_THE_END else row.release
        return Refused(
            "not-released",
            f"{row.name} version {row.version} releases its reports {how}, and nothing is released "
            f"yet: {when}; a survey for trials declares release: immediate",
            release=row.release,
            next_release=None if following is None else timestamp(following),
        )


def _too_few(row: VersionRow, reports: int, pending: int) -> Refused:
    waiting = f" and {pending} that wait to be sealed" if reports and pending else ""
    there = reports or pending
    are = f"{there} report{'' if there == 1 else 's'}{waiting}"
    return Refused(
        "not-enough-reports",
        f"{row.name} version {row.version} has {are}, fewer than its minimum batch of "
        f"{row.minimum_batch} sealed ones; nothing is computed from so few: wait for more",
        reports=reports + pending,
        minimum_batch=row.minimum_batch,
    )
