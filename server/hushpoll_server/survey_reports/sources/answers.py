"""The counts of a report as a source of those who answer questions that are in draws."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts
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
