"""The results of a report, computed from its basis as the API computes them."""

from __future__ import annotations

from typing import Any

from hushpoll_analysis.estimates.cross_table import cross_table_from_counts
from hushpoll_analysis.estimates.frequencies import frequencies_from_counts
from hushpoll_analysis.ordered.answered import answered_from_counts
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_analysis.ordered.summary import Question, summary_of
from hushpoll_server.reports.basis import Basis
from hushpoll_shared.estimators import ESTIMATOR_TERMS


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
        ``answered`` by question, where its labels are numbers and where it can be skipped, of the
        unbiased estimator alone; ``cross_tables``; ``audits`` as their jobs gave them.
    """
    published, choices = basis.published, basis.choices
    confidence = choices.confidence
    estimates = frequencies_from_counts(
        published,
        basis.counts,
        confidence=confidence,
        estimator=choices.estimator,
        only=choices.attributes,
    )
    ordered, answered = {}, {}
    if ESTIMATOR_TERMS[choices.estimator].no_interval is None:
        for name in choices.attributes:
            asked = published.attribute(name)
            if is_ordered(asked):
                question = Question(name, confidence=confidence)
                answers = Answers.alone(asked, basis.support[name], basis.n)
                ordered[name] = summary_of(question, published, answers).to_dict()
            if asked.missing is not None:
                shares = answered_from_counts(
                    published, basis.counts, attributes=[name], confidence=confidence
                )
                answered[name] = shares.to_dict()
    return {
        "estimates": estimates.to_dict(),
        "ordered": ordered,
        "answered": answered,
        "cross_tables": [
            cross_table_from_counts(published, counts, a, b, confidence=confidence).to_dict()
            for (a, b), counts in basis.joint.items()
        ],
        "audits": basis.facts["audits"] if choices.fairness else [],
    }
