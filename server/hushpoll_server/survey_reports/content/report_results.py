"""The results of a report, computed from its basis as the API computes them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hushpoll_analysis.estimates.frequencies import frequencies_from_counts
from hushpoll_analysis.ordered.answered import has_shares_among
from hushpoll_analysis.ordered.bins import binned, has_bins
from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts
from hushpoll_analysis.records.domains import Domain
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import MemoryNeed, OfCounts, Source
from hushpoll_server.survey_reports.content.group_shares import group_shares_of
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.survey_reports.sources.report_counts import ReportAnswers
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.published import Published


def results_of(basis: Basis) -> dict[str, Any]:
    """Return every number of a report.

    They are ``estimates`` of the questions, as the API's route of that name has them; ``ordered``,
    ``bins`` of neighbouring numbers, and ``answered`` by question, where its labels are numbers and
    where not everybody answers, of the unbiased estimator alone; ``cross_tables``; ``groups``, for
    each of these the rows' question among the groups of the columns', or None; ``audits`` as their
    jobs gave them; where there are some, ``results``, each with the address of its ``query``, and
    ``regressions`` as their jobs gave them.
    """
    published, choices = basis.shown, basis.choices
    confidence = choices.confidence
    estimates = frequencies_from_counts(
        published,
        basis.counts,
        confidence=confidence,
        estimator=choices.estimator,
        only=choices.attributes,
    )
    source = _KeptInDraws(basis) if published.draws else _source_of(basis)
    ordered, answered = {}, {}
    in_bins: dict[str, JsonObject] = {}
    if ESTIMATOR_TERMS[choices.estimator].no_interval is None:
        for name in choices.attributes:
            asked = published.attribute(name)
            if is_ordered(asked):
                summary = result_of(Ordered(attribute=name, confidence=confidence), source)
                ordered[name] = summary.to_dict()
            if has_bins(asked):
                bins = _bins_of(source, name, confidence)
                in_bins |= {} if bins is None else {name: bins}
            if has_shares_among(asked):
                shares = result_of(Answered(attribute=name, confidence=confidence), source)
                answered[name] = shares.to_dict()
    tables = [
        result_of(CrossTable(a=a, b=b, confidence=confidence), source).to_dict()
        for a, b in choices.cross_tables
    ]
    found = {
        "estimates": estimates.to_dict(),
        "ordered": ordered,
        "answered": answered,
        "bins": in_bins,
        "cross_tables": tables,
        "groups": [
            group_shares_of(source, table["cells"], table["a"], table["b"], confidence)
            for table in tables
        ],
        "audits": basis.facts["audits"] if choices.fairness else [],
    }
    if choices.results:
        found["results"] = [
            {"query": query.address(), "result": result_of(query, source).to_dict()}
            for query in choices.results
        ]
    if choices.regressions:
        found["regressions"] = basis.facts["regressions"]
    return found


def _bins_of(source: Source, name: str, confidence: float) -> JsonObject | None:
    """Return the shares of neighbouring numbers; None where the records do not give one of them."""
    found = binned(source, name, confidence=confidence)
    if not all(one.known for one in found.bins):
        return None
    return {
        "noisy": found.noisy,
        "bins": [
            {
                "low": one.low,
                "high": one.high,
                "frequency": one.share.value,
                "lower": one.share.lower,
                "upper": one.share.upper,
            }
            for one in found.bins
        ],
    }


def _source_of(basis: Basis) -> OfCounts:
    """Return the counts of a report as a source."""
    support = dict(basis.counts.support)
    # A cross-table may be of a question whose estimates are not in the report.
    for (a, b), joint in basis.joint.items():
        support |= {a: joint.first, b: joint.second}
    return OfCounts(
        basis.shown,
        PairCounts(
            Counts(basis.counts.n, support),
            {names: joint.both for names, joint in basis.joint.items()},
        ),
    )


@dataclass(frozen=True)
class _KeptInDraws:
    """The counts of a report of a survey with draws, each of the records that answer."""

    basis: Basis

    @property
    def published(self) -> Published:
        """The survey, as it may be seen."""
        return self.basis.shown

    @property
    def counts(self) -> Counts:
        """Return those of its questions."""
        return self.basis.counts

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts."""
        del only
        return self.basis.counts

    def answered_by_both(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, of the records that answer both."""
        joint = self.basis.joint
        if (a, b) in joint:
            return joint[a, b]
        if (b, a) in joint:
            other = joint[b, a]
            return JointCounts(
                other.n, other.second, other.first, np.ascontiguousarray(other.both.T)
            )
        return _source_of(self.basis).pair(a, b)  # which says that they are not kept

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions."""
        return self.answered_by_both(a, b)

    def pairs(self) -> PairCounts:
        """Return the counts; of pairs in draws they are asked for one by one."""
        asked = self.published.attribute
        everybody = {
            names: joint
            for names, joint in self.basis.joint.items()
            if not any(asked(name).draw for name in names)
        }
        return _source_of(replace(self.basis, joint=everybody)).pairs()

    def within(self, domain: Domain) -> Source:
        """Refuse: a report is about all reports."""
        return _source_of(self.basis).within(domain)

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse: a report is made from counts alone."""
        return _source_of(self.basis).records(held)

    def answering(self, names: Collection[str]) -> ReportAnswers:
        """Return the source of the records that answer one question or two."""
        return ReportAnswers(self, tuple(names))
