"""The chi-square distribution, by scipy, and the power of a test of independence by it.

Scipy is slow to import, and a server starts without it: so each function imports its own.

All answers are taken as equally frequent. Then the covariance matrix of
a question's weights is the same in all directions, and the test sees the part (k - 1)/(k^2 V) of a
dependence, V being n times the variance of an estimated share. The cells of two questions of one
block are the categories of a single one.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hushpoll_analysis.estimates.joint import common_block
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols.estimation.marginals import AnyLaw, UnevenSets
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.qualifying.verdict import Reach
from hushpoll_shared.survey.published import Published

ENOUGH_TOGETHER = 25
"""Records expected to support any two categories together, from which on the chi-square law holds:
at 20 a test of level .1 % rejected in .09 to .11 % of surveys (standard error .02), at 5 in up to
.23 %."""


def upper_tail(x: float, df: int) -> float:
    """Return P(X >= x) of chi-square with `df` degrees of freedom, at least 1; 1 for x below 0."""
    from scipy.special import chdtrc

    return float(chdtrc(df, max(x, 0.0)))


def quantile(alpha: float, df: int) -> float:
    """Return the x whose upper tail is `alpha`, in (0, 1)."""
    from scipy.special import chdtri

    return float(chdtri(df, alpha))


def power(noncentrality: float, df: int, alpha: float) -> float:
    """Return the chance that a test of level `alpha` rejects at a noncentrality, at least 0."""
    if noncentrality <= 0:
        return alpha
    from scipy.special import chndtr

    return float(1 - chndtr(quantile(alpha, df), df, noncentrality))


def detectable(df: int, *, alpha: float, wanted: float) -> float:
    """Return the noncentrality at which a test of level `alpha` has the power `wanted`."""
    from scipy.special import chndtrinc

    return float(chndtrinc(quantile(alpha, df), df, 1 - wanted))


def dependence(published: Published, a: str, b: str, n: int, alpha: float, part: str) -> Reach:
    """Return which dependence of two questions a test finds, and the strongest there can be."""
    first, second = published.attribute(a), published.attribute(b)
    block = common_block(published, a, b)
    if block is None:
        one, two = law_of(first), law_of(second)
        efficiency = seen_part(one, first.k) * seen_part(two, second.k)
    else:
        efficiency = seen_part(cells_of(block, [a, b])[1], first.k * second.k)
    least = _noncentrality((first.k - 1) * (second.k - 1), alpha)
    return Reach(
        part=part,
        what=f"whether {a} and {b} depend on each other",
        half_width=math.sqrt(least / (n * efficiency)),
        most=math.sqrt(min(first.k, second.k) - 1),
        unit="phi",
    )


@lru_cache(maxsize=1024)
def seen_part(oracle: AnyLaw | None, k: int) -> float:
    """Return which part of a dependence a question shows whose k answers are equally frequent.

    Where the answers are sets of different sizes, the parts of different kinds of dependence
    differ; it is their harmonic mean.
    """
    if isinstance(oracle, UnevenSets):
        even = np.full(oracle.k, 1 / oracle.k)
        noisy = WeightCovariances.of(oracle).over_population(even)
        return (oracle.k - 1) / (oracle.k * float(np.trace(noisy)))
    c0, c1, c2 = WeightLaw.of(oracle).variance_coefficients()
    return float((k - 1) / (k**2 * (c0 + c1 / k + c2 / k**2)))


@lru_cache(maxsize=1024)
def _noncentrality(degrees: int, alpha: float) -> float:
    return detectable(degrees, alpha=alpha, wanted=POWER)
