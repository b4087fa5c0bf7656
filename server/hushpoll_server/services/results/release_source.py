"""Where queries find the counts of a release: those that sealing keeps, or the records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts, count, count_pairs
from hushpoll_analysis.records.domains import Domain
from hushpoll_analysis.records.grouped_source import OfGroups
from hushpoll_analysis.records.pairs import joint_counts
from hushpoll_analysis.records.records import RecordStream
from hushpoll_analysis.records.source import MemoryNeed, counts_of
from hushpoll_protocols import InvalidParameter
from hushpoll_server.services.results.releases import Release
from hushpoll_shared.survey.published import Published

# Indicators, one byte each, that an estimator may hold and pass through some hundred times.
LARGEST_HELD: Final = 1 << 25


@dataclass(frozen=True)
class ReleaseSource:
    """The counts of one release of a version; it is looked up once a query has been checked."""

    published: Published
    look: Callable[[], Release]
    scan: Callable[[Release], AbstractContextManager[RecordStream]]

    @cached_property
    def release(self) -> Release:
        """What analysts may learn of the version now."""
        return self.look()

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of all questions, kept or counted now."""
        del only
        return self.pairs().counts

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, in blocks or not, kept or counted now."""
        kept = self.release.counts
        counts = None if kept is None else kept.of_questions(self.published, a, b)
        if counts is None:
            with self.scanning() as records:
                counts = joint_counts(records, a, b)
        return counts

    def pairs(self) -> PairCounts:
        """Return the counts of all pairs that are kept, or count them now."""
        if self.release.counts is not None:
            return self.release.counts
        with self.scanning() as records:
            return count_pairs(records)

    def records(self, held: MemoryNeed) -> AbstractContextManager[RecordStream]:
        """Let the block hold the release's records, when it is its turn; refuse too many."""
        reports = self.release.reports
        if reports * held.widest > LARGEST_HELD:
            raise InvalidParameter(
                f"{held.field} is {held.value!r}, which works through {reports} records of up to "
                f"{held.widest} categories many times; a server does so up to {LARGEST_HELD} "
                "indicators: export the records and use hushpoll records estimate, or choose "
                f"another {held.field}",
                field=held.field,
            )
        return self.scanning()

    def within(self, domain: Domain) -> ReleaseDomain:
        """Return the source of the reports of a domain."""
        return ReleaseDomain(self, domain)

    def answering(self, names: Collection[str]) -> ReleaseAnswers:
        """Return the source of the reports that answer all of some questions."""
        return ReleaseAnswers(self, tuple(names))

    def counted(self) -> PairCounts | None:
        """Return the counts that are kept; None if there are none."""
        return self.release.counts

    def scanning(self) -> AbstractContextManager[RecordStream]:
        """Let the block read the release's records, when it is its turn."""
        return self.scan(self.release)


@dataclass(frozen=True)
class GroupedRelease(OfGroups):
    """The counts of one release, of the groups in clear that may be seen without exporting."""

    whole: ReleaseSource

    @property
    def release(self) -> Release:
        """What analysts may learn of the version now."""
        return self.whole.release


@dataclass(frozen=True)
class ReleaseDomain:
    """The counts of a domain of one release: from those that are kept, or from the records."""

    whole: ReleaseSource
    domain: Domain

    @property
    def published(self) -> Published:
        """The survey."""
        return self.whole.published

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of questions in the domain."""
        kept = self._kept
        counts = None if kept is None else counts_of(self.published, kept, only)
        if counts is None:
            with self.scanning() as records:
                counts = self.domain.some(count(records, only=only))
        return counts

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions of the domain, in blocks or not."""
        counts = None if self._kept is None else self._kept.of_questions(self.published, a, b)
        if counts is None:
            with self.scanning() as records:
                counts = self.domain.some(joint_counts(records, a, b))
        return counts

    def pairs(self) -> PairCounts:
        """Return the counts of all pairs in the domain."""
        return self._pairs

    @contextmanager
    def records(self, held: MemoryNeed) -> Iterator[RecordStream]:
        """Let the block hold the domain's records; raises as of all of them."""
        with self.whole.records(held) as records:
            yield self.domain.stream(records)

    def within(self, domain: Domain) -> ReleaseDomain:
        """Refuse: a query has one domain."""
        raise InvalidParameter(
            f"{domain.words} is a second domain; give all conditions at once", field="where"
        )

    def answering(self, names: Collection[str]) -> ReleaseAnswers:
        """Return the source of the domain's reports that answer all of some questions."""
        return ReleaseAnswers(self, tuple(names))

    def counted(self) -> PairCounts | None:
        """Return those counts of the domain that follow from kept ones."""
        return self._kept

    @cached_property
    def _kept(self) -> PairCounts | None:
        counts = self.whole.release.counts
        return None if counts is None else self.domain.counted(counts)

    @cached_property
    def _pairs(self) -> PairCounts:
        with self.scanning() as records:
            return self.domain.some(count_pairs(records))

    @contextmanager
    def scanning(self) -> Iterator[RecordStream]:
        """Let the block read the domain's records, when it is its turn."""
        with self.whole.scanning() as records:
            yield self.domain.stream(records)


@dataclass(frozen=True)
class ReleaseAnswers:
    """The counts of the reports of a release, or of a domain of it, that answer some questions."""

    whole: ReleaseSource | ReleaseDomain
    names: tuple[str, ...]

    @cached_property
    def published(self) -> Published:
        """The survey, with the blocks of these questions in no draw."""
        return self.whole.published.answering(self.names)

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of questions of these reports."""
        counts = None if self._kept is None else counts_of(self.published, self._kept, only)
        if counts is None:
            with self._scanning() as records:
                counts = count(records, only=only)
        return counts

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions of these reports, in blocks or not."""
        counts = None if self._kept is None else self._kept.of_questions(self.published, a, b)
        if counts is None:
            with self._scanning() as records:
                counts = joint_counts(records, a, b)
        return counts

    def pairs(self) -> PairCounts:
        """Return the counts of all pairs of these reports; refuses questions of other draws."""
        with self._scanning() as records:
            return count_pairs(records)

    @contextmanager
    def records(self, held: MemoryNeed) -> Iterator[RecordStream]:
        """Let the block hold these records; raises as of all of them."""
        with self.whole.records(held) as records:
            yield records.answering(self.names)

    def within(self, domain: Domain) -> ReleaseAnswers:
        """Return the source of the reports of a domain that answer the questions."""
        return ReleaseAnswers(self.whole.within(domain), self.names)

    def answering(self, names: Collection[str]) -> ReleaseAnswers:
        """Return the source of those that answer these questions, too."""
        return ReleaseAnswers(self.whole, tuple(dict.fromkeys((*self.names, *names))))

    @cached_property
    def _kept(self) -> PairCounts | None:
        counts = self.whole.counted()
        return None if counts is None else counts.answering(self.whole.published, self.names)

    @contextmanager
    def _scanning(self) -> Iterator[RecordStream]:
        with self.whole.scanning() as records:
            yield records.answering(self.names)
