"""The Gaussian mechanism: which noise a vector needs, and how far the noise moves it."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import chi2

from hushpoll_protocols.errors import InvalidParameter


def gaussian_delta(sigma: float, epsilon: float, sensitivity: float) -> float:
    """Return the smallest delta of the mechanism (Balle and Wang, ICML 2018, Theorem 8).

    The sensitivity is the largest l2 distance between the outputs of neighbours; sigma is the
    deviation of each coordinate's noise. Both are positive, and epsilon is at least 0.
    """
    ratio = sensitivity / sigma
    first = math.exp(log_ndtr(ratio / 2 - epsilon / ratio))
    return max(0.0, first - math.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio)))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the smallest standard deviation that is (epsilon, delta)-differentially private.

    This is the analytic Gaussian mechanism. The classical sensitivity sqrt(2 ln(1.25 / delta)) /
    epsilon needs epsilon below 1 and adds more noise. Refuses values outside (0, 64] and (0, 1),
    and a sensitivity that is not positive.
    """
    _check(epsilon, delta, sensitivity)

    def excess(log_ratio: float) -> float:
        return gaussian_delta(math.exp(log_ratio), epsilon, 1.0) - delta

    low, high = -10.0, 10.0
    while excess(high) > 0:
        high += 10.0
    root = brentq(excess, low, high, xtol=1e-13, rtol=1e-13)
    sigma = math.exp(root) * sensitivity
    while gaussian_delta(sigma, epsilon, sensitivity) > delta:  # rounding must not cost privacy
        sigma *= 1 + 1e-12
    return sigma


def noise_norm(sigma: float, dimension: int, failure: float) -> float:
    """Return what the noise's l2 norm exceeds with a chance in (0, 1): a quantile of sigma chi."""
    return sigma * math.sqrt(float(chi2.isf(failure, dimension)))


def _check(epsilon: float, delta: float, sensitivity: float) -> None:
    if not 0 < epsilon <= 64:
        raise InvalidParameter(f"epsilon is {epsilon}; it must lie in (0, 64]", field="epsilon")
    if not 0 < delta < 1:
        raise InvalidParameter(f"delta is {delta}; it must lie in (0, 1)", field="delta")
    if not 0 < sensitivity < math.inf:
        raise InvalidParameter(
            f"sensitivity is {sensitivity}; it must be positive and finite", field="sensitivity"
        )
