"""Tails of the chi-square distribution, central and noncentral, by scipy.

It is slow to import, and a server starts without it: so each function imports its own.
"""

from __future__ import annotations

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
