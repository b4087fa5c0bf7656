"""Frequencies of an attribute's categories: value, standard error, interval.

The truth is the population that respondents are drawn from. By default values are unbiased; then an
attribute in clear has Wilson's interval for a proportion, a perturbed one that of
:func:`hushpoll_protocols.estimation.frequencies.estimate`. Other estimators are chosen by name
(:mod:`hushpoll_analysis.estimates.estimators`) and have no interval.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.estimators import (
    ESTIMATORS,
    AttributeData,
    needs_records,
    terms_of,
)
from hushpoll_analysis.estimates.influence import Influence, influence_of
from hushpoll_analysis.estimates.precision import widest
from hushpoll_analysis.frames.tabular import ArrayResult, Tabular, filled
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import MemoryNeed, OfRecords, Source
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import verdict_of
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.estimators import UNBIASED
from hushpoll_shared.qualifying.verdict import Reach, Verdict, reach_of_share
from hushpoll_shared.queries.answered_shares import AnsweredAttribute
from hushpoll_shared.queries.estimates import AttributeEstimates as AttributeRow
from hushpoll_shared.queries.estimates import EstimatedShares, OptionOf
from hushpoll_shared.queries.estimates import Estimates as Query
from hushpoll_shared.queries.parts import CategoryEstimate, SummaryEstimate
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.option_texts import epsilon_of_options, named_attributes, text_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.tables.result_table import ResultTable


@dataclass(frozen=True, slots=True)
class AttributeEstimate(Tabular):
    """The estimated distribution of one attribute.

    Attributes
    ----------
    name, role : str
        As in the manifest.
    protocol, epsilon : str or None
        How it was perturbed; None in clear. Epsilon is what a respondent was charged.
    categories : tuple of str
        In code order, the missing one last.
    n : int
        Records behind it.
    confidence : float
        Of the intervals.
    estimator : str
        Of :data:`hushpoll_analysis.estimates.estimators.ESTIMATORS`.
    frequency : f64[k]
        They sum to 1. Unbiased ones are not projected, so one may fall outside [0, 1].
    standard_error, lower, upper : f64[k] or None
        None where the estimator has no interval.
    poisoning : Influence or None
        What one fake report can count as in the unbiased estimate; no interval knows of fakes.
        None for another estimator, where it depends on the other reports.
    drawn : bool
        Whether it is a question of a draw, so that `n` of the reports answer it.
    option : OptionOf or None
        Which option of a select-all it is; None of a question of its own.
    mean : SummaryEstimate or None
        Of a number whose records have anchors, where a query asked for it.
    asked : AnsweredAttribute or None
        Of a follow-up its shares among those who were asked, where a query asked for it.
    """

    statistic_name: ClassVar[str] = "estimates"

    name: str
    role: str
    protocol: str | None
    epsilon: str | None
    categories: tuple[str, ...]
    n: int
    confidence: float
    estimator: str
    frequency: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64] | None
    lower: npt.NDArray[np.float64] | None
    upper: npt.NDArray[np.float64] | None
    poisoning: Influence | None
    drawn: bool = False
    option: OptionOf | None = None
    mean: SummaryEstimate | None = None
    asked: AnsweredAttribute | None = None

    def row(self) -> AttributeRow:
        """Return the estimate as a part of a result; an absent interval is None."""
        none = [None] * len(self.categories)
        columns = (
            none if column is None else column.tolist()
            for column in (self.frequency, self.standard_error, self.lower, self.upper)
        )
        return filled(
            AttributeRow,
            self,
            role=cast(Literal["sensitive", "plain", "target"], self.role),
            categories=tuple(
                CategoryEstimate(
                    category=category, frequency=share, standard_error=error, lower=low, upper=high
                )
                for category, share, error, low, high in zip(self.categories, *columns, strict=True)
            ),
            poisoning=None if self.poisoning is None else self.poisoning.row(),
            n=self.n if self.drawn else None,
        )

    def to_dict(self) -> JsonMembers:
        """Return the estimate as the API and ``--json`` give it; an absent interval is null."""
        entry: JsonMembers = to_json(self.row())
        return entry

    def to_table(self) -> ResultTable:
        """Return the estimate as rows, one per category."""
        return Estimates([self]).to_table()


class Estimates(ArrayResult, list[AttributeEstimate]):
    """Estimates of attributes, at least one, by one estimator from the same records.

    Attributes
    ----------
    verdict : Verdict or None
        Whether they can tell anything.
    reports : int
        Records behind them; those that answer a question of a draw are fewer.
    """

    verdict: Verdict | None = None
    reports: int = 0

    def of(self, names: Collection[str], published: Published) -> Estimates:
        """Return those of some attributes, at least one, with the verdict on these.

        The name of a select-all stands for its options.
        """
        wanted = named_attributes(published, names)
        for name in wanted:
            published.attribute(name)
        chosen = Estimates(one for one in self if one.name in wanted)
        return _judged(chosen, published, self.reports)

    def result(self, *, shape: bool = False) -> EstimatedShares:
        """Return the estimates; `shape` says whether the test of the shape stands beside them."""
        first = self[0]
        shown = sum(1 if one.option is not None else len(one.categories) for one in self)
        return EstimatedShares(
            verdict=self.verdict,
            n=self.reports or first.n,
            confidence=first.confidence,
            estimator=first.estimator,
            intervals=terms_of(first.estimator).no_interval
            or how_to_read(shown, first.confidence, shape=shape),
            attributes=tuple(estimate.row() for estimate in self),
        )

    def to_dict(self, *, shape: bool = False) -> JsonMembers:
        """Return the estimates as the API and ``--json`` give them."""
        return self.result(shape=shape).to_dict()


def frequencies(
    records: Records | RecordStream, *, confidence: float = 0.95, estimator: str = UNBIASED
) -> Estimates:
    """Estimate every attribute of a survey from its records.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks; for the estimator ``likelihood`` they are all held at once.
    confidence : float
        Of the intervals, in (0, 1).
    estimator : {"unbiased", "projected", "likelihood", "shrunk"}
        All but the first have no interval.

    Raises
    ------
    InvalidParameter
        If there are no records, or for another estimator.
    hushpoll_protocols.estimation.likelihood.NotConverged
        If the maximum of the likelihood is not found.
    """
    query = Query.read({"confidence": confidence, "estimator": estimator})
    return estimated(query, OfRecords(records))


def estimated(query: Query, source: Source) -> Estimates:
    """Estimate every attribute; see :func:`frequencies`."""
    published, held = source.published, None
    if needs_records(query.estimator):
        widest = max((attribute.k for attribute in published.perturbed), default=1)
        with source.records(MemoryNeed("estimator", query.estimator, widest)) as records:
            held = records.joined() if isinstance(records, RecordStream) else records
    return frequencies_from_counts(
        published,
        source.questions() if held is None else count(held),
        confidence=query.confidence,
        estimator=query.estimator,
        records=held,
    )


def frequencies_from_counts(
    published: Published,
    counts: Counts,
    *,
    confidence: float = 0.95,
    estimator: str = UNBIASED,
    records: Records | None = None,
    only: Collection[str] | None = None,
) -> Estimates:
    """Estimate attributes from support counts; see :func:`frequencies`.

    Parameters
    ----------
    published : Published
        The survey.
    counts : Counts
        Of its records.
    confidence, estimator
        See :func:`frequencies`.
    records : Records, optional
        The same records, which the estimator ``likelihood`` needs.
    only : collection of str, optional
        Attributes to estimate, at least one; all of them by default.

    Raises
    ------
    InvalidParameter
        As :func:`frequencies`, and where the estimator needs records and there are none.
    """
    require_rows(counts.n)
    terms_of(estimator)
    options = _options(published)
    found = Estimates(
        replace(
            _estimate(_data(published, counts, attribute, confidence, records), estimator),
            option=options.get(attribute.name),
        )
        for attribute in published.attributes
        if only is None or attribute.name in only
    )
    return _judged(found, published, counts.n)


def _options(published: Published) -> dict[str, OptionOf]:
    """Return which options of select-alls a survey's attributes are, by name."""
    return {
        name: OptionOf(
            question=select.name,
            text=text_of(published, name),
            epsilon=epsilon_of_options(published, select),
        )
        for select in published.selects
        for name in select.attributes
    }


def _data(
    whole: Published,
    all_counts: Counts,
    asked: PublishedAttribute,
    confidence: float,
    records: Records | None,
) -> AttributeData:
    """Return what an estimator works on; of a question of a draw, of those who answer it."""
    name = asked.name
    published, counts = whole.answering([name]), all_counts.answering(whole, name)
    if counts.n == 0:
        raise InvalidParameter(
            f"none of the {all_counts.n} records answers {name}, of the draw {asked.draw}, and an "
            "estimate needs at least 1; wait for reports to arrive",
            field="records",
        )
    attribute = published.attribute(name)
    block = None if attribute.block is None else published.block_of(name)
    return AttributeData(
        attribute,
        counts.of(published, name),
        counts.n,
        confidence,
        records if records is None or published is whole else records.answering([name]),
        block,
        None if block is None else counts.support[block.name],
        whole.draw_of(attribute.block or name) if asked.draw is not None else None,
    )


def _judged(found: Estimates, published: Published, reports: int) -> Estimates:
    """Return estimates with their verdict, which is that on unbiased ones: others have no interval.

    Of a question of a draw as many reports are taken to answer as do on average.
    """
    confidence, names = found[0].confidence, tuple(one.name for one in found)

    def foresee(_: Query, sides: Sequence[Expected]) -> list[Reach]:
        (side,) = sides
        asked = [side.published.answering([name]).attribute(name) for name in names]
        answers = [max(1, round(side.n * side.published.share_answering([n]))) for n in names]
        return [
            reach_of_share(one.name, widest(one, 1 / one.k, n, confidence) / 2, one.k)
            for one, n in zip(asked, answers, strict=True)
        ]

    query = Query(confidence=confidence)
    found.reports = reports
    found.verdict = verdict_of(query, [Expected(published, reports)], foresee, names)
    return found


def require_rows(n: int) -> None:
    """Refuse to estimate from nothing."""
    if n == 0:
        raise InvalidParameter(
            "there are 0 records, and an estimate needs at least 1; wait for reports to arrive",
            field="records",
        )


def _estimate(data: AttributeData, estimator: str) -> AttributeEstimate:
    estimated = ESTIMATORS[estimator](data)
    attribute = data.attribute
    return filled(
        AttributeEstimate,
        estimated,
        name=attribute.name,
        role=attribute.role,
        protocol=None if attribute.oracle is None else attribute.oracle.name,
        epsilon=None if attribute.oracle is None else format_epsilon(attribute.oracle.epsilon),
        categories=attribute.domain,
        n=data.n,
        confidence=data.confidence,
        drawn=data.drawn is not None,
        poisoning=influence_of(attribute, data.drawn) if estimator == UNBIASED else None,
    )
