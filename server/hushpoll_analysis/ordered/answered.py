"""Shares among those who answered, or were asked: ratios of two estimates, with Fieller's sets.

A skipped or refused question is an answer: the missing category, which is perturbed like any other.
So how many have answered is itself an estimate, and P(A = a | answered) is f_a/(1 - f_missing). A
follow-up has the category of who is not asked besides: its shares are those among the people who
were asked, of whom those who skipped it are a part, and then those among them who answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.set_shares import group_share
from hushpoll_analysis.frames.tabular import ArrayResult
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.ordered.statistics import Bounded, bounded_share
from hushpoll_analysis.records.counts import Counts
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import verdict_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.answered_shares import Answered as Query
from hushpoll_shared.queries.answered_shares import AnsweredAttribute as AttributeRow
from hushpoll_shared.queries.answered_shares import AnsweredCategory, SharesOfAnswered
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED

ASSUMPTION = (
    "The shares are of those who answered. They are shares of everybody only if those who skipped "
    "the question would have answered like the others, which no record can tell."
)
ASKED = (
    "Shares of a follow-up are of those who were asked it: the people with the answers after which "
    "it is asked."
)


@dataclass(frozen=True, slots=True)
class AnsweredAttribute:
    """The distribution of an attribute among those who answered, or were asked."""

    name: str
    missing: str
    """Category of skipped answers; of shares among those asked that of who was not."""
    categories: tuple[str, ...]
    """The others, in code order."""
    n: int
    """Records behind it."""
    confidence: float
    answered: Bounded
    """Share of all people who answered, or were asked."""
    shares: tuple[Bounded, ...]
    """Shares of those in each category; not projected, so one may fall outside [0, 1]."""

    def row(self) -> AttributeRow:
        """Return the shares as a part of a result."""
        return AttributeRow(
            name=self.name,
            missing=self.missing,
            answered=self.answered.summary(),
            categories=tuple(
                AnsweredCategory(
                    category=category,
                    **share.numbers(),
                    bound=share.bound,
                    says_nothing=share.says_nothing,
                )
                for category, share in zip(self.categories, self.shares, strict=True)
            ),
        )

    def to_dict(self) -> JsonMembers:
        """Return the shares as JSON."""
        entry: JsonMembers = to_json(self.row())
        return entry


class AnsweredShares(ArrayResult, list[AnsweredAttribute]):
    """Shares among those who answered, of attributes, at least one, from the same records."""

    verdict: Verdict | None = None
    n: int = 0
    """Records behind it, of which fewer may answer an attribute."""

    def result(self) -> SharesOfAnswered:
        """Return the shares attribute by attribute."""
        first = self[0]
        shown = sum(1 + len(attribute.categories) for attribute in self)
        return SharesOfAnswered(
            verdict=self.verdict,
            n=self.n or first.n,
            confidence=first.confidence,
            intervals=how_to_read(shown, first.confidence),
            assumption=" ".join(
                words
                for words, asked in ((ASKED, True), (ASSUMPTION, False))
                if any((one.missing == NOT_ASKED) is asked for one in self)
            ),
            attributes=tuple(
                replace(one.row(), n=None if one.n == (self.n or first.n) else one.n)
                for one in self
            ),
        )


def answered_shares(
    records: Records | RecordStream,
    *,
    attributes: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> AnsweredShares:
    """Estimate the shares of each answer among those who answered.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol. Nothing is assumed of those who skipped a question, so nothing is said of them.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    attributes : sequence of str, optional
        Each with a missing category, or a follow-up; by default all of them.
    confidence : float
        Of each interval, in (0, 1).

    Returns
    -------
    AnsweredShares
        In the order of the manifest; of a follow-up among those asked, and then, where it may be
        skipped, among those who answered. A set has no bound where so few have answered, as far as
        the records tell, that their share may be 0; one that holds all of [0, 1] says nothing.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, one that is no follow-up and has no missing category, a survey
        without such an attribute, a confidence outside (0, 1), or no records.

    References
    ----------
    Fieller, JRSS B 16, 1954; see :mod:`hushpoll_analysis.ordered.ratios`.
    """
    return _answered(OfRecords(records), attributes, confidence)


def shares_of_answered(query: Query, source: Source) -> AnsweredShares:
    """Estimate from support counts; see :func:`answered_shares`."""
    names = None if query.attribute is None else [query.attribute]
    return _answered(source, names, query.confidence)


def _answered(source: Source, names: Sequence[str] | None, confidence: float) -> AnsweredShares:
    found = _estimated(source, names, confidence)
    found.verdict = verdict_of(
        Query(confidence=confidence),
        [Expected(source.published, found.n)],
        lambda _, sides: tuple(_estimated(sides[0], names, confidence).result().reaches()),
        names,
    )
    return found


def _estimated(source: Source, names: Sequence[str] | None, confidence: float) -> AnsweredShares:
    chosen = optional_attributes(source.published, names)
    normal_quantile(confidence)
    counts = source.questions([attribute.name for attribute in chosen])
    require_rows(counts.n)
    found = AnsweredShares(
        _shares(source.published, view, counts, confidence=confidence)
        for attribute in chosen
        for view in _views(attribute)
    )
    found.n = counts.n
    return found


def _views(attribute: PublishedAttribute) -> Iterator[PublishedAttribute]:
    """Yield an attribute as those asked answer it, and as those do who did not skip it."""
    if attribute.ask_if is not None:
        skipped = () if attribute.missing is None else (attribute.missing,)
        yield replace(attribute, categories=(*attribute.categories, *skipped), missing=None)
    if attribute.missing is not None:
        yield attribute


def optional_attributes(
    published: Published, names: Sequence[str] | None
) -> list[PublishedAttribute]:
    """Return the attributes, of all or of those named, that some may not have answered."""
    if names is not None:
        for name in names:
            if not has_shares_among(published.attribute(name)):
                raise InvalidParameter(
                    f"{name} has no category for a missing answer, so everybody has answered it; "
                    "ask for its estimates, or name another attribute",
                    field="attribute",
                )
    chosen = [
        attribute
        for attribute in published.attributes
        if has_shares_among(attribute) and (names is None or attribute.name in names)
    ]
    if not chosen:
        raise InvalidParameter(
            f"no attribute of {published.name} has a category for a missing answer, so everybody "
            "has answered everything; ask for the estimates",
            field="attribute",
        )
    return chosen


def has_shares_among(attribute: PublishedAttribute) -> bool:
    """Return whether there may be people who have not answered an attribute, or were not asked."""
    return attribute.missing is not None or attribute.ask_if is not None


def _shares(
    published: Published, attribute: PublishedAttribute, counts: Counts, *, confidence: float
) -> AnsweredAttribute:
    # where it is in a draw, those are meant who answer it
    counts = counts.answering(published, attribute.name)
    published = published.answering([attribute.name])
    attribute = replace(attribute, draw=None)
    require_rows(counts.n)
    support, n = counts.of(published, attribute.name), counts.n
    answers = Answers.alone(attribute, support, n)
    m = answers.categories
    ratios = Ratios.of_sets(answers, answers.combinations, answers.shares[:m], answers.overall[:m])
    sets = ratios.sets(normal_quantile(confidence))
    answered = group_share(attribute, support, n, range(m), confidence=confidence)
    return AnsweredAttribute(
        name=attribute.name,
        missing=attribute.missing or NOT_ASKED,
        categories=attribute.categories,
        n=n,
        confidence=confidence,
        answered=bounded_share(answered),
        shares=tuple(bounded_share(sets.interval(place, 0)) for place in range(m)),
    )
