"""Tails of the chi-square distribution, central and noncentral, as sums that end.

For an even number of degrees of freedom 2m the upper tail at x is that of a Poisson number: the sum
over j < m of e^(-x/2) (x/2)^j/j!. For an odd one it is erfc((x/2)^(1/2)) plus the like sum over
half-integers. The noncentral law is a Poisson mixture of central ones (Johnson, Kotz and
Balakrishnan, Continuous Univariate Distributions 2, 1995, chapter 29).
"""

from __future__ import annotations

import math

_BISECTIONS = 80
_NEGLIGIBLE = 1e-12


def upper_tail(x: float, df: int) -> float:
    """Return P(X >= x) of chi-square.

    Parameters
    ----------
    x : float
        Real.
    df : int
        Degrees of freedom, at least 1.
    """
    if x <= 0:
        return 1.0
    half = x / 2
    total = math.erfc(math.sqrt(half)) if df % 2 else 0.0
    power = 0.5 if df % 2 else 0.0
    for _ in range(df // 2):
        total += math.exp(-half + power * math.log(half) - math.lgamma(power + 1))
        power += 1
    return min(total, 1.0)


def quantile(alpha: float, df: int) -> float:
    """Return the x whose upper tail is `alpha`, in (0, 1)."""
    low, high = 0.0, float(df) + 10.0
    while upper_tail(high, df) > alpha:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if upper_tail(middle, df) > alpha:
            low = middle
        else:
            high = middle
    return high


def power(noncentrality: float, df: int, alpha: float) -> float:
    """Return the chance that a test of level `alpha` rejects at a noncentrality, at least 0."""
    if noncentrality <= 0:
        return alpha
    return _power(noncentrality, df, quantile(alpha, df))


def _power(noncentrality: float, df: int, critical: float) -> float:
    mean = noncentrality / 2
    half = critical / 2
    # the tails of df, df + 2, df + 4 ... differ by one term each
    tail, order = upper_tail(critical, df), df / 2
    step = math.exp(-half + order * math.log(half) - math.lgamma(order + 1))
    total, covered, number = 0.0, 0.0, 0
    while covered < 1 - _NEGLIGIBLE and number < mean + 40 * math.sqrt(mean) + 40:
        chance = math.exp(-mean + number * math.log(mean) - math.lgamma(number + 1))
        total += chance * min(tail, 1.0)
        covered += chance
        tail += step
        order += 1
        step *= half / order
        number += 1
    return min(total + (1 - covered), 1.0)


def detectable(df: int, *, alpha: float, wanted: float) -> float:
    """Return the noncentrality at which a test of level `alpha` has the power `wanted`."""
    critical, low, high = quantile(alpha, df), 0.0, 10.0
    while _power(high, df, critical) < wanted:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS // 2):
        middle = (low + high) / 2
        if _power(middle, df, critical) < wanted:
            low = middle
        else:
            high = middle
    return high
