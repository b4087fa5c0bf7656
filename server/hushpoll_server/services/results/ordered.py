"""Ordered answers, and shares among those who answered, from the counts that sealing makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushpoll_analysis.ordered.answered import answered_from_counts, optional_attributes
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.changes import ChangeQuestion, ordered_change_of_waves
from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_analysis.ordered.summary import Question, summary_of
from hushpoll_analysis.ordered.together import means_of, scales_together
from hushpoll_analysis.relations.changes import Wave
from hushpoll_server.services.results.analysis import Analysis, require_two_versions
from hushpoll_server.services.results.releases import Release
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.spelling.scores import parse_quantiles, parse_scores, parse_scores_of


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
        reference: str | None = None,
        simultaneous: bool = False,
    ) -> dict[str, Any]:
        """Estimate mean, quantiles, share at a threshold and NPS.

        Parameters
        ----------
        row : VersionRow
            Of the survey.
        attribute, threshold, given, interpolation, confidence, reference, simultaneous
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
            reference,
            simultaneous,
        )
        question.scale(published)
        release, answers = self._answers(row, attribute, given)
        found = summary_of(question, published, answers)
        return {**self._analysis.heading(row, release), **found.to_dict()}

    def _answers(
        self, row: VersionRow, attribute: str, given: str | None
    ) -> tuple[Release, Answers]:
        asked = self._surveys.published(row).attribute
        if given is None:
            release, pairs = self._analysis.all_counts(row)
            counts = pairs.counts
            answers = Answers.alone(asked(attribute), counts.support[attribute], counts.n)
        else:
            release, joint = self._analysis.pair_counts(row, attribute, given)
            answers = Answers.in_groups(asked(attribute), asked(given), joint)
        return release, answers

    def means(
        self,
        row: VersionRow,
        attributes: Sequence[str] | None,
        *,
        given: str | None,
        scores: str | None,
        confidence: float,
    ) -> dict[str, Any]:
        """Estimate means of several attributes or groups, with intervals that hold together.

        Parameters
        ----------
        row : VersionRow
            Of the survey.
        attributes, given, confidence
            See :func:`hushpoll_analysis.ordered.together.simultaneous_means`.
        scores : str or None
            As :func:`hushpoll_shared.spelling.scores.parse_scores_of` reads them.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates`` and ``Analysis.cross_table``; attributes or scores that the
            function refuses.
        """
        named = {} if scores is None else parse_scores_of(scores)
        scales = scales_together(self._surveys.published(row), attributes, given, named)
        found = {name: self._answers(row, name, given) for name in scales}
        release = next(iter(found.values()))[0]
        answers = {name: each for name, (_, each) in found.items()}
        means = means_of(answers, scales, given, confidence)
        return {**self._analysis.heading(row, release), **means.to_dict()}

    def change(
        self,
        before: VersionRow,
        after: VersionRow,
        attributes: tuple[str, str],
        *,
        scores: str | None,
        before_scores: str | None,
        threshold: float | None,
        confidence: float,
        simultaneous: bool,
    ) -> dict[str, Any]:
        """Estimate how mean, share at a threshold and NPS have changed.

        Parameters
        ----------
        before, after : VersionRow
            Two different versions, of one survey or of two.
        attributes : (str, str)
            Before and after.
        scores, before_scores : str or None
            With commas between them.
        threshold, confidence, simultaneous
            See :func:`hushpoll_analysis.ordered.changes.ordered_change`.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates``; the same version twice, or what the function refuses.
        """
        require_two_versions(before, after)
        old, new = (self._surveys.published(row) for row in (before, after))
        question = ChangeQuestion(
            None if scores is None else parse_scores(scores),
            None if before_scores is None else parse_scores(before_scores),
            threshold=threshold,
            confidence=confidence,
            simultaneous=simultaneous,
        )
        question.scales((old, attributes[0]), (new, attributes[1]))
        earlier, later = (
            Wave(published, self._analysis.all_counts(row)[1].counts, name, {})
            for published, row, name in zip((old, new), (before, after), attributes, strict=True)
        )
        return ordered_change_of_waves(earlier, later, question).to_dict()

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
