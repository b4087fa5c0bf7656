"""Correlations of the means of two groups that are known through the same records.

Where groups are perturbed, every record has a weight in each of them, so the estimates of two
groups depend on each other. Let A be the sum over v of (x_v - r d_v) W_v of a record, as in
:mod:`hushpoll_analysis.ordered.ratios`, and U_b its weight in group b. The set of group b is about
the mean of A U_b. Given the truth, answers and groups have independent noise, so that for another
group c with scores y and B, the sum over v of (y_v - s d_v) W_v,

    Cov(A U_b, B U_c) = sum over truths g of Cov(U_b, U_c | g) E[A B; g],

because nobody is in both groups, and both means are 0 if r and s are the truth. With

    A B = ((A + B)/2)^2 - ((A - B)/2)^2

the second moments of the law (:mod:`hushpoll_analysis.estimates.score_law`) suffice.

Where answers and groups are in one block, A and B are sums over different combinations of it, and
E[A B] follows from second moments in the same way.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.score_law import Measure
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.records.laws import law_of

Array = npt.NDArray[np.float64]


def correlations(
    first: tuple[Ratios, Array, Array], second: tuple[Ratios, Array, Array], reference: int
) -> Array:
    """Return the correlation of each group's mean with a mean of one group, f64[rows, groups].

    Parameters
    ----------
    first, second : (Ratios, f64[rows, m], f64[rows, groups])
        Of the same answers within groups, row by row: the ratios, their scores, and their
        estimates, nan where there is none; such a correlation means nothing.
    reference : int
        Code of the group whose mean is the second's.
    """
    answers = first[0].answers
    alone = slice(reference, reference + 1)
    r, s = (_within(ratios, value) for ratios, _, value in (first, second))
    deviations = first[0].error(r)[0], second[0].error(s)[0][:, alone]
    s = s[:, alone]
    if answers.together:
        covariance = _in_block(first[0], r, second[0], s, alone)
        return _correlation(covariance, deviations, answers)
    half_sum = Ratios.of_scores(answers, (first[1] + second[1]) / 2), (r + s) / 2
    half_difference = Ratios.of_scores(answers, (first[1] - second[1]) / 2), (r - s) / 2
    own, theirs, everybody = (
        _square(*half_sum, people) - _square(*half_difference, people)
        for people in (slice(None), alone, None)
    )
    law = None if answers.group is None else law_of(answers.group)
    at_own, at_theirs, elsewhere = WeightCovariances.of(law).given_truth(
        answers.excess, answers.excess[reference], reference
    )
    covariance = at_own * own + at_theirs * theirs + elsewhere * (everybody - own - theirs)
    return _correlation(covariance, deviations, answers)


def _correlation(covariance: Array, deviations: tuple[Array, Array], answers: Answers) -> Array:
    scale = answers.n * deviations[0] * deviations[1]
    known = scale > 0
    correlation = np.where(known, covariance, 0.0) / np.where(known, scale, 1.0)
    return np.asarray(np.clip(correlation, -1.0, 1.0))


def _in_block(first: Ratios, r: Array, second: Ratios, s: Array, reference: slice) -> Array:
    """Return E[A B] of sums over the combinations of each group, and of one other group."""
    answers = first.answers
    of_first, of_second = _centred(first, r, slice(None)), _centred(second, s, reference)
    none = np.zeros(r.shape)
    squares: list[Array] = []
    for sign in (1.0, -1.0):
        # the two sums are over different combinations, so that no product of scores is in a square
        sums = (
            (of_first[0] + sign * of_second[0]) / 2 + none,
            (of_first[1] + of_second[1]) / 4 + none,
            none,
        )
        people = (np.ones_like(none), none, (of_first[2] + of_second[2]) / 4 + none, none)
        squares.append(answers.law.moments(sums, none, [people])[0][0])
    return np.asarray(squares[0] - squares[1])


def _centred(ratios: Ratios, t: Array, groups: slice) -> tuple[Array, Array, Array]:
    """Return sums over categories of x_v - t d_v and of its square, and over people of the latter.

    The mean over people is 0 if t is the truth.
    """
    s0, s1, s2 = (part[:, groups] if part.shape[1] > 1 else part for part in ratios.sums[:3])
    p0, p1, p2 = (part[:, groups] for part in ratios.moments[:3])
    spread = np.maximum(p2 - 2 * t * p1 + t**2 * p0, 0.0)
    return s1 - t * s0, s2 - 2 * t * s1 + t**2 * s0, spread


def _within(ratios: Ratios, value: Array) -> Array:
    middle = (ratios.low + ratios.high) / 2
    return np.clip(np.where(np.isfinite(value), value, middle), ratios.low, ratios.high)


def _square(ratios: Ratios, t: Array, groups: slice | None) -> Array:
    """Return E[(sum over v of (x_v - t d_v) W_v)^2] over people of groups, or over everybody."""
    answers, none = ratios.answers, np.zeros(t.shape)
    o0, o1, o2, _ = ratios.overall
    mean = o1 - t * o0
    people: Measure = (np.ones(t.shape), mean, o2 - 2 * t * o1 + t**2 * o0, none)
    if groups is not None:
        p0, p1, p2 = (part[:, groups] for part in ratios.moments[:3])
        mass = np.clip(np.maximum(answers.mass[groups], p0), 0.0, 1.0)
        spread = np.maximum(p2 - 2 * t * p1 + t**2 * p0, 0.0)
        people = (mass + none, p1 - t * p0 + none, spread, none)
    s0, s1, s2, _ = ratios.sums
    sums = (s1 - t * s0, s2 - 2 * t * s1 + t**2 * s0, none)
    return np.asarray(answers.law.moments(sums, mean, [people])[0][0])
