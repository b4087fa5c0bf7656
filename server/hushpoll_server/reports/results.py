"""The results of a report, computed from its basis as the API computes them."""

from __future__ import annotations

from typing import Any

from hushpoll_analysis.estimates.frequencies import frequencies_from_counts
from hushpoll_analysis.ordered.answered import has_shares_among
from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_analysis.records.counts import Counts, PairCounts
from hushpoll_analysis.records.source import OfCounts
from hushpoll_analysis.results import result_of
from hushpoll_server.reports.basis import Basis
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.ordered_answers import Ordered


def results_of(basis: Basis) -> dict[str, Any]:
    """Return every number of a report.

    Parameters
    ----------
    basis : Basis
        What it is made from.

    Returns
    -------
    dict
        ``estimates`` of the questions, as the API's route of that name has them; ``ordered`` and
        ``answered`` by question, where its labels are numbers and where not everybody answers, of
        the unbiased estimator alone; ``cross_tables``; ``audits`` as their jobs gave them; where
        there are some, ``results``, each with the address of its ``query``, and ``regressions`` as
        their jobs gave them.
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
    support = dict(basis.counts.support)
    # A cross-table may be of a question whose estimates are not in the report.
    for (a, b), joint in basis.joint.items():
        support |= {a: joint.first, b: joint.second}
    source = OfCounts(
        published,
        PairCounts(
            Counts(basis.counts.n, support),
            {names: joint.both for names, joint in basis.joint.items()},
        ),
    )
    ordered, answered = {}, {}
    if ESTIMATOR_TERMS[choices.estimator].no_interval is None:
        for name in choices.attributes:
            asked = published.attribute(name)
            if is_ordered(asked):
                summary = result_of(Ordered(attribute=name, confidence=confidence), source)
                ordered[name] = summary.to_dict()
            if has_shares_among(asked):
                shares = result_of(Answered(attribute=name, confidence=confidence), source)
                answered[name] = shares.to_dict()
    found = {
        "estimates": estimates.to_dict(),
        "ordered": ordered,
        "answered": answered,
        "cross_tables": [
            result_of(CrossTable(a=a, b=b, confidence=confidence), source).to_dict()
            for a, b in choices.cross_tables
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
