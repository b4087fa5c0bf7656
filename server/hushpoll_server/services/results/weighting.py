"""Shares of the population by what is known of it: weights, strata and margins."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from hushpoll_analysis.records.answering import answering
from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.survey_design.design import CheckedDesign, SurveyDesign, checked
from hushpoll_analysis.survey_design.estimation import (
    needs_records,
    shares_from_counts,
    weighted_shares,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.results.analysis import Analysis
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.survey.published import Published

LARGEST_SAMPLE: Final = 1 << 24
"""Bytes of records that are read for one answer, several times."""

MOST_SCORES: Final = 1 << 25
"""Numbers that are computed for one answer, several times: of each record one for each category of
the design's attributes and of the outcome, and one for each cell."""


class Weighting:
    """Estimates shares of the population from the counts that sealing makes, or from records."""

    def __init__(self, *, surveys: SurveyService, analysis: Analysis) -> None:
        self._surveys = surveys
        self._analysis = analysis

    def weighted_shares(
        self,
        row: VersionRow,
        attribute: str,
        design: SurveyDesign,
        *,
        confidence: float,
        may_export: bool,
    ) -> dict[str, object]:
        """Estimate shares of the population; several attributes of a design need the records.

        Without `may_export` there are margins alone, of groups in clear that may be seen. Too many
        records are refused.
        """
        groups = self._analysis.seen(row, may_export=may_export)
        published = self._surveys.published(row) if groups is None else groups.shown
        if groups is not None:
            _require_margins(groups, attribute, design)
        plan = checked(design, published, attribute)
        names = plan.attributes()
        whole = self._analysis.source(row, may_export=may_export)
        release = whole.release
        if needs_records(plan, attribute):
            if groups is not None:
                _refuse_clear(groups, (attribute, *names))
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
            source = answering(whole, (attribute, *names))
            published = source.published
            if names:
                joint = source.pair(attribute, names[0])
                support, n = joint.first, joint.n
            else:
                counts = source.questions([attribute])
                support, n = counts.of(published, attribute), counts.n
            shares = shares_from_counts(
                published, support, n, joint, plan, attribute, confidence=confidence
            )
        heading = self._analysis.heading(row, release)
        return {**heading, **shares.to_dict()}


def _require_margins(groups: ClearGroups, attribute: str, design: SurveyDesign) -> None:
    """Refuse weights that a reader chooses, and attributes that are not shown."""
    for field, given in (("weights", design.weights), ("strata", design.strata)):
        if given is not None:
            raise InvalidParameter(
                f"{field} gives respondents weights by their answers in clear, which needs the "
                "right to export, because weights that are 0, or nearly equal, single few reports "
                f"out; give margins, or {groups.remedy}",
                field=field,
            )
    groups.require(attribute, field="attribute")
    for place, margin in enumerate(design.margins):
        for name in margin.attributes:
            groups.require(name, field=f"margins[{place}]")


def _refuse_clear(groups: ClearGroups, names: Collection[str]) -> None:
    clear = [one.name for one in groups.published.clear if one.name in names]
    if clear:
        raise InvalidParameter(
            f"the design weighs by several attributes, and {', '.join(clear)} is answered in "
            "clear, which needs the right to export, because groups by several attributes can be "
            f"of few reports; give a margin of one attribute, or {groups.remedy}",
            field="margins",
        )


def _scores_of_a_record(published: Published, plan: CheckedDesign, outcome: str) -> int:
    """Return the categories of the design's attributes and of the outcome, and the cells."""
    of_cells = {name for target in plan.targets for name in target.attributes}
    return sum(published.attribute(name).k for name in (*plan.attributes(), outcome)) + math.prod(
        published.attribute(name).k for name in of_cells
    )
