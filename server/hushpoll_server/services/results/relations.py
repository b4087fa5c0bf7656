"""How answers to two questions depend on each other, from the counts that sealing makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from hushpoll_analysis.multiplicity.dependencies import check_pairs, dependencies_from_counts
from hushpoll_analysis.multiplicity.simultaneous import (
    Method,
    chosen_attributes,
    simultaneous_from_counts,
)
from hushpoll_analysis.records.counts import Counts
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.relations.changes import Wave, change_of_waves, matched_labels
from hushpoll_analysis.relations.independence import independence_from_counts
from hushpoll_analysis.survey_design.design import CheckedDesign, SurveyDesign, checked
from hushpoll_analysis.survey_design.estimation import (
    needs_records,
    shares_from_counts,
    weighted_shares,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.results.analysis import Analysis, require_two_versions
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.survey.published import Published

LARGEST_SAMPLE: Final = 1 << 24
"""Bytes of records that are read for one answer, several times."""

MOST_SCORES: Final = 1 << 25
"""Numbers that are computed for one answer, several times: of each record one for each category of
the design's attributes and of the outcome, and one for each cell."""


class Relations:
    """What an analyst can ask of two attributes of a survey version, beside their cross-table."""

    def __init__(self, *, surveys: SurveyService, analysis: Analysis) -> None:
        self._surveys = surveys
        self._analysis = analysis

    def change(
        self,
        before: VersionRow,
        after: VersionRow,
        attributes: tuple[str, str],
        mappings: tuple[Mapping[str, str], Mapping[str, str]],
        *,
        confidence: float,
        simultaneous: bool,
    ) -> dict[str, Any]:
        """Estimate how the shares of an attribute have changed.

        Parameters
        ----------
        before, after : VersionRow
            Two different versions, of one survey or of two.
        attributes, mappings
            Attribute, and labels of its categories, before and after.
        confidence, simultaneous
            See :func:`hushpoll_analysis.relations.changes.change`.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates``; the same version twice, or labels that do not match.
        """
        require_two_versions(before, after)
        pairs = list(zip((before, after), attributes, mappings, strict=True))
        published = [self._surveys.published(row) for row in (before, after)]
        # labels are compared before any record is read
        matched_labels(
            *(
                Wave(one, Counts.none(one), name, labels)
                for one, (_, name, labels) in zip(published, pairs, strict=True)
            )
        )
        waves = (
            Wave(one, self._analysis.all_counts(row)[1].counts, name, labels)
            for one, (row, name, labels) in zip(published, pairs, strict=True)
        )
        found = change_of_waves(*waves, confidence=confidence, simultaneous=simultaneous)
        return found.to_dict()

    def weighted_shares(
        self, row: VersionRow, attribute: str, design: SurveyDesign, *, confidence: float
    ) -> dict[str, Any]:
        """Estimate shares of the population; several attributes of a design need the records.

        Raises
        ------
        InvalidParameter
            As :func:`hushpoll_analysis.survey_design.estimation.weighted_shares`; too many records.
        Refused
            As ``Analysis.cross_table``.
        """
        published = self._surveys.published(row)
        plan = checked(design, published, attribute)
        names = plan.attributes()
        if needs_records(plan, attribute):
            release = self._analysis.release(row)
            scores = _scores_of_a_record(published, plan, attribute)
            size = row.record_size
            if release.reports * size > LARGEST_SAMPLE or release.reports * scores > MOST_SCORES:
                raise InvalidParameter(
                    f"the design names {', '.join(names)}, of which no joint counts are kept, and "
                    f"{release.reports} records of {size} bytes with {scores} categories and cells "
                    "each are too many to read while you wait: ask for the job weight (hushpoll "
                    "weight --job), export them and use hushpoll records weight, or give a design "
                    "with one attribute",
                    field="design",
                )
            with self._analysis.scanning(row, release) as records:
                shares = weighted_shares(records.joined(), attribute, design, confidence=confidence)
        else:
            joint = None
            if names:
                release, joint = self._analysis.pair_counts(row, attribute, names[0])
                support, n = joint.first, joint.n
            else:
                release, counts = self._analysis.all_counts(row)
                support, n = counts.counts.support[attribute], counts.counts.n
            shares = shares_from_counts(
                published, support, n, joint, plan, attribute, confidence=confidence
            )
        heading = self._analysis.heading(row, release)
        return {**heading, **shares.to_dict()}

    def simultaneous_estimates(
        self, row: VersionRow, attribute: str | None, *, method: Method, confidence: float
    ) -> dict[str, Any]:
        """Estimate one attribute, or all, with intervals that hold together.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates``; an unknown attribute.
        """
        published = self._surveys.published(row)
        only = None if attribute is None else [attribute]
        chosen_attributes(published, only, method)
        release, counts = self._analysis.all_counts(row)
        found = simultaneous_from_counts(
            published, counts.counts, only=only, method=method, confidence=confidence
        )
        return {**self._analysis.heading(row, release), **found.to_dict()}

    def dependencies(self, row: VersionRow, *, rate: float) -> dict[str, Any]:
        """Test all pairs of attributes whose counts are kept for independence.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.estimates``; a survey without such a pair.
        """
        published = self._surveys.published(row)
        check_pairs(published, rate)
        release, counts = self._analysis.all_counts(row)
        found = dependencies_from_counts(published, counts, rate=rate)
        return {**self._analysis.heading(row, release), **found.to_dict()}

    def independence(self, row: VersionRow, a: str, b: str, *, alpha: float) -> dict[str, Any]:
        """Test whether two attributes are independent.

        Raises
        ------
        InvalidParameter, Refused
            As ``Analysis.cross_table``.
        """
        published = self._surveys.published(row)
        pair(published, a, b)
        release, counts = self._analysis.pair_counts(row, a, b)
        tested = independence_from_counts(published, counts, a, b, alpha=alpha)
        return {**self._analysis.heading(row, release), **tested.to_dict()}


def _scores_of_a_record(published: Published, plan: CheckedDesign, outcome: str) -> int:
    """Return the categories of the design's attributes and of the outcome, and the cells."""
    of_cells = {name for target in plan.targets for name in target.attributes}
    return sum(published.attribute(name).k for name in (*plan.attributes(), outcome)) + math.prod(
        published.attribute(name).k for name in of_cells
    )
