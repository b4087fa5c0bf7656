"""Thresholding with histogram encoding: a noisy histogram of the answer, cut at theta.

Wang et al. (USENIX Security 2017), section 4.2. The one-hot histogram gets Laplace noise of scale
2/epsilon. The device draws the bits of that law directly: the record is smaller, and no
floating-point Laplace variate can leak through its low bits. Thresholding spends less than the
epsilon it is given; ``realized_epsilon`` says how much.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, ClassVar, Self

from hushpoll_protocols.errors import InvalidParameter, show
from hushpoll_protocols.oracles.unary import UnaryEncoding
from hushpoll_protocols.thresholds import EXACT, Q, ceil_in_exp, floor_in_exp

_STEP = Decimal("0.0001")
_GRID = 10_000
_SPELLING = re.compile(r"0\.[0-9]{1,4}")


@dataclass(frozen=True)
class THE(UnaryEncoding):
    """P = floor(Q(1 - e^(eps(theta-1)/2)/2)), R = ceil(Q e^(-eps theta/2)/2), Q = 2^64."""

    name: ClassVar[str] = "THE"
    parameter_names: ClassVar[tuple[str, ...]] = ("theta",)

    theta: Decimal
    """Cut on the noisy histogram, in the open interval (0.5, 1), at most 4 places; published as a
    decimal string of four."""

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon) and optionally theta, 4 places in (0.5, 1)."""
        stated = parameters.get("theta")
        theta = optimal_threshold(epsilon) if stated is None else _parse_theta(stated)
        with localcontext(EXACT):
            of_truth, of_others = epsilon * (theta - 1) / 2, -epsilon * theta / 2
        keep = floor_in_exp(lambda e: Q * (1 - e / 2), of_truth)
        noise = ceil_in_exp(lambda e: Q * e / 2, of_others)
        return cls(k=k, epsilon=epsilon, P=keep, R=noise, theta=theta)


def _parse_theta(value: object) -> Decimal:
    # One spelling, as a manifest publishes it: Decimal() alone would also take "0.6_774" or other
    # scripts' digits, and another language's client would not.
    text = str(value) if isinstance(value, str | Decimal) else ""
    theta = Decimal(text) if _SPELLING.fullmatch(text) else Decimal(0)
    if not Decimal("0.5") < theta:
        raise InvalidParameter(
            f"theta is {show(value)}, not a decimal string of at most 4 places in the open "
            'interval (0.5, 1); give one such as "0.6774"',
            field="theta",
        )
    return theta.quantize(_STEP, context=EXACT)


def threshold_variance(epsilon: Decimal, theta: Decimal) -> Decimal:
    """Variance of THE's estimator for a rare value, times n (Wang et al. 2017, equation 5).

    (2e^(eps theta/2) - 1)/(1 + e^(eps(theta - 1/2)) - 2e^(eps theta/2))^2, theta in (0.5, 1). Its
    denominator cancels to about epsilon/2, which 80 digits survive.
    """
    with localcontext(EXACT):
        half = (epsilon * theta / 2).exp()
        shifted = (epsilon * (theta - Decimal("0.5"))).exp()
        return (2 * half - 1) / (1 + shifted - 2 * half) ** 2


@lru_cache(maxsize=256)
def optimal_threshold(epsilon: Decimal) -> Decimal:
    """Return the theta of four places in (0.5, 1) that minimises :func:`threshold_variance`.

    The variance has a single minimum there, so the search halves the grid.
    """
    low, high = _GRID // 2 + 1, _GRID - 1
    while low < high:
        middle = (low + high) // 2
        if threshold_variance(epsilon, _point(middle)) <= threshold_variance(
            epsilon, _point(middle + 1)
        ):
            high = middle
        else:
            low = middle + 1
    return _point(low)


def _point(index: int) -> Decimal:
    # Not `scaleb`, which would round to the precision of the thread's context.
    return Decimal(f"0.{index:04d}")
