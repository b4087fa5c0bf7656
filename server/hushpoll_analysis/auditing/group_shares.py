"""The share of a group in an audit, with the interval of an estimate.

A group is a set of categories, and its weight is the sum of theirs. Where every row has a label,
its share is the sum of their estimates, and its interval is that of estimates
(:mod:`hushpoll_protocols.estimation.score`), with the variance and the skewness that the law gives
the weight of the set. Where the target has a category for missing answers, the share is of those
who gave a label: the mean product of the group's weight and the label's, as in a cross-table.

Plus or minus 1.96 standard errors, as estimated, covered a group of 1 % in 66 % of the surveys
(OUE, epsilon 8, 200 respondents).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import PEOPLE, Moments
from hushpoll_analysis.auditing.predictions import protected_of
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.estimates.set_shares import group_share, shares_by_law, weight_variances
from hushpoll_analysis.estimates.tables import common_block
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]


def group_shares(
    records: Records, moments: Moments, *, confidence: float
) -> tuple[Interval, Interval]:
    """Return the shares of the respondents who are in either group and have a label.

    Parameters
    ----------
    records : Records
        At least one, of a survey that declares a protected attribute.
    moments : Moments
        Of the audit of these records.
    confidence : float
        In (0, 1).

    Returns
    -------
    (Interval, Interval)
        Of the unprivileged and of the privileged group.

    Raises
    ------
    InvalidParameter
        If confidence is outside (0, 1).
    """
    published = records.published
    group, target, protected = protected_of(published), published.target, published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    codes = [
        [group.domain.index(category) for category in categories]
        for categories in (protected.unprivileged, protected.privileged)
    ]
    block = None if target is None else common_block(published, group.name, target.name)
    if target is not None and block is not None:
        answers = target.k if target.positive is None else len(target.categories)
        counts = OfRecords(records).pair(group.name, target.name)
        sets = [
            [code * target.k + answer for code in of for answer in range(answers)] for of in codes
        ]
        cells, law = cells_of(block, [group.name, target.name])
        possible = cells.ravel() > 0
        # nobody is in a cell without a combination
        place = np.cumsum(possible) - 1
        sets = [[int(place[code]) for code in of if possible[code]] for of in sets]
        support = counts.both.ravel()[possible]
        low, high = shares_by_law(law, support, counts.n, sets, confidence=confidence)
        return low, high
    names = [group.name, *([] if target is None else [target.name])]
    of_questions = count(records, only=names)
    low, high = (
        _labelled(
            published,
            (group, target),
            of_questions,
            codes[number],
            float(moments.mean[4 * number : 4 * number + 4] @ PEOPLE),
            confidence=confidence,
        )
        for number in (0, 1)
    )
    return low, high


def _labelled(
    published: Published,
    attributes: tuple[PublishedAttribute, PublishedAttribute | None],
    counts: Counts,
    codes: Sequence[int],
    value: float,
    *,
    confidence: float,
) -> Interval:
    (group, target), n = attributes, counts.n
    support = counts.of(published, group.name)
    alone = group_share(group, support, n, codes, confidence=confidence)
    if target is None or target.positive is None or target.missing is None:
        return alone
    answers = range(target.k - 1)
    support = counts.of(published, target.name)
    labelled = group_share(target, support, n, answers, confidence=confidence)
    f1, f2 = (min(max(share.value, 0.0), 1.0) for share in (alone, labelled))
    (m1, e1), (m2, e2) = (
        (1.0 + inside, outside)
        for inside, outside in (
            weight_variances(law_of(group), group.k, codes, f1),
            weight_variances(law_of(target), target.k, answers, f2),
        )
    )
    none = f1 * (m1 - e1) * e2 + f2 * e1 * (m2 - e2) + e1 * e2
    rise = (m1 - e1) * (m2 - e2)
    lower, upper = score_limits(
        np.asarray(value),
        n,
        variance=(np.asarray(none), np.asarray(rise), np.asarray(-1.0)),
        z=normal_quantile(confidence),
    )
    at = min(max(value, 0.0, f1 + f2 - 1.0), 1.0)
    error = float(np.sqrt(max(none + rise * at - at**2, 0.0) / n))
    return Interval(value, error, float(lower), float(upper))
