"""The counts of a report as a source: those that its results need, and those who answer draws."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Protocol

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts, paired
from hushpoll_analysis.records.domains import Domain
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import MemoryNeed, Source
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published


class OfReport(Protocol):
    """What has the counts of a report."""

    @property
    def published(self) -> Published:
        """The survey."""

    @property
    def counts(self) -> Counts:
        """Return those of its questions."""

    def answered_by_both(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, of the records that answer both."""

    def within(self, domain: Domain) -> Source:
        """Refuse."""

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse."""


@dataclass(frozen=True)
class ReportAnswers:
    """The counts of a report, of the records that answer one question or two."""

    whole: OfReport
    names: tuple[str, ...]

    @cached_property
    def published(self) -> Published:
        """The survey, with the blocks of these questions in no draw."""
        return self.whole.published.answering(self.names)

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of these questions."""
        del only
        survey = self.whole.published
        fields = fields_of(survey, self.names)
        if len(fields) > 1:
            first, second = self._two()
            both = self.whole.answered_by_both(first, second)
            return Counts(both.n, {first: both.first, second: both.second})
        (field,) = fields
        counts = self.whole.counts
        n = counts.answered.get(field.name, counts.n)
        return Counts(n, {field.name: counts.support[field.name]})

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of the two questions."""
        return self.whole.answered_by_both(a, b)

    def pairs(self) -> PairCounts:
        """Return the counts of these questions alone."""
        return PairCounts(self.questions(), {})

    def within(self, domain: Domain) -> Source:
        """Refuse, as the report does."""
        return self.whole.within(domain)

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse, as the report does."""
        return self.whole.records(held)

    def answering(self, names: Collection[str]) -> ReportAnswers:
        """Return those of them that answer other questions, too."""
        return ReportAnswers(self.whole, tuple(dict.fromkeys((*self.names, *names))))

    def _two(self) -> tuple[str, str]:
        if len(self.names) != 2:
            raise InvalidParameter(
                f"results asks for {', '.join(self.names)}, and some of these are in a draw; a "
                "report keeps the counts of those who answer two questions: ask for fewer together",
                field="results",
            )
        return self.names[0], self.names[1]


@dataclass(frozen=True)
class Needed:
    """A source of counts that keeps the pairs that it was asked for."""

    published: Published
    counts: Counts
    count_pair: Callable[[str, str], JointCounts]
    """Gives the joint counts of two questions, in draws of those who answer both."""
    count_pairs: Callable[[], PairCounts]
    joint: dict[tuple[str, str], JointCounts] = field(default_factory=dict)
    """By pair; those that a report has anyway, and those that were asked for."""

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts, which a report has of all questions."""
        del only
        return self.counts

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, and note them."""
        counts = self.joint.get((a, b))
        if counts is None:
            counts = self.count_pair(a, b)
            if (b, a) not in self.joint:
                self.joint[a, b] = counts
        return counts

    def pairs(self) -> PairCounts:
        """Return the joint counts of all pairs, and note them."""
        counts = self.count_pairs()
        for first, second in combinations(paired(self.published), 2):
            if self.published.share_answering([first.name, second.name]):
                self.pair(first.name, second.name)
        return counts

    def answered_by_both(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, of those who answer both, and note them."""
        return self.pair(a, b)

    def within(self, domain: Domain) -> Source:
        """Refuse: a report keeps no counts of a part of the reports."""
        raise InvalidParameter(
            f"results asks for the reports where {domain.words}, and a report is about all of "
            "them; leave out where",
            field="results",
        )

    def answering(self, names: Collection[str]) -> Source:
        """Return the source of the records that answer one question or two."""
        return ReportAnswers(self, tuple(names))

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse: a report is made from counts alone."""
        raise InvalidParameter(
            f"results asks for {held.field} {held.value!r}, which reads the records themselves, "
            f"and a report is made from counts; choose another {held.field}",
            field="results",
        )
