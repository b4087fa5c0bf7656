"""Ordered answers, and shares among those who answered, from the counts that sealing makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushpoll_analysis.ordered.answered import answered_from_counts, optional_attributes
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_analysis.ordered.summary import Question, summary_of
from hushpoll_server.services.results.analysis import Analysis
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.spelling.scores import parse_quantiles, parse_scores


class Ordered:
    """What an analyst can ask of the order of a question's answers, and of those who answered."""

    def __init__(self, *, surveys: SurveyService, analysis: Analysis) -> None:
        self._surveys = surveys
        self._analysis = analysis

    def summary(
        self,
        row: VersionRow,
        attribute: str,
        *,
        scores: str | None = None,
        quantiles: str = "0.25,0.5,0.75",
        threshold: float | None = None,
        given: str | None = None,
        interpolation: str = "none",
        confidence: float = 0.95,
    ) -> dict[str, Any]:
        """Estimate mean, quantiles, share at a threshold and NPS.

        Parameters
        ----------
        row : VersionRow
            Of the survey.
        attribute, threshold, given, interpolation, confidence
            See :func:`hushpoll_analysis.ordered.summary.ordered_summary`.
        scores, quantiles : str
            With commas between them.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates`` and ``Analysis.cross_table``; a question that
            :func:`~hushpoll_analysis.ordered.summary.ordered_summary` refuses.
        """
        published = self._surveys.published(row)
        question = Question(
            attribute,
            None if scores is None else parse_scores(scores),
            parse_quantiles(quantiles),
            threshold,
            given,
            interpolation,
            confidence,
        )
        question.scale(published)
        asked = published.attribute(attribute)
        if given is None:
            release, pairs = self._analysis.all_counts(row)
            counts = pairs.counts
            answers = Answers.alone(asked, counts.support[attribute], counts.n)
        else:
            release, joint = self._analysis.pair_counts(row, attribute, given)
            answers = Answers.in_groups(asked, published.attribute(given), joint)
        found = summary_of(question, published, answers)
        return {**self._analysis.heading(row, release), **found.to_dict()}

    def answered(
        self, row: VersionRow, attribute: str | None, *, confidence: float = 0.95
    ) -> dict[str, Any]:
        """Estimate the shares among those who answered one question, or each optional one.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates``; an attribute that everybody answers.
        """
        published = self._surveys.published(row)
        names = None if attribute is None else [attribute]
        optional_attributes(published, names)
        release, pairs = self._analysis.all_counts(row)
        found = answered_from_counts(
            published, pairs.counts, attributes=names, confidence=confidence
        )
        return {**self._analysis.heading(row, release), **found.to_dict()}

    def of_questions(
        self, row: VersionRow, names: Sequence[str], *, confidence: float
    ) -> dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]]:
        """Return for each question its summary, and the shares of those who answered it.

        The summary is None where labels give no scale, the shares where everybody answers.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates``.
        """
        published = self._surveys.published(row)
        counts = self._analysis.all_counts(row)[1].counts
        found = {}
        for name in names:
            asked = published.attribute(name)
            summary = answered = None
            if is_ordered(asked):
                answers = Answers.alone(asked, counts.support[name], counts.n)
                question = Question(name, confidence=confidence)
                summary = summary_of(question, published, answers).to_dict()
            if asked.missing is not None:
                shares = answered_from_counts(
                    published, counts, attributes=[name], confidence=confidence
                )
                answered = shares[0].to_dict()
            found[name] = summary, answered
        return found
