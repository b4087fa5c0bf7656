"""How wide an interval will be, before anybody has answered: for warnings at publishing time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hushpoll_analysis.channel import Channel
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation import normal_quantile
from hushpoll_shared.published import Published


@dataclass(frozen=True, slots=True)
class ExpectedWidth:
    """The interval that a category of one attribute will have.

    Attributes
    ----------
    attribute : str
        Name.
    n : int
        Respondents.
    confidence : float
        Of the interval.
    width : float
        Upper minus lower limit, at the frequency in [0, 1] for which it is widest.
    """

    attribute: str
    n: int
    confidence: float
    width: float


def expected_width(
    published: Published, name: str, n: int, *, confidence: float = 0.95
) -> ExpectedWidth:
    """Return the interval width of an attribute's category after n respondents, at its widest.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, n below 1, or a confidence outside (0, 1).
    """
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
    z = normal_quantile(confidence)
    channel = Channel.of(published.attribute(name).oracle)
    # width of Wilson's interval for pi, mapped: divided by p - q
    half = z * math.sqrt(_largest_variance(channel) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return ExpectedWidth(name, n, confidence, 2 * half / channel.gap)


def protected_width(
    published: Published, n: int, *, confidence: float = 0.95
) -> ExpectedWidth | None:
    """Return :func:`expected_width` of the protected attribute; None if none is declared."""
    if published.protected is None:
        return None
    return expected_width(published, published.protected.attribute, n, confidence=confidence)


def respondents_for_width(
    published: Published, name: str, width: float, *, confidence: float = 0.95
) -> int:
    """Return the fewest respondents after which no interval of an attribute is wider than `width`.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, a width outside (0, 1], or a confidence outside (0, 1).
    """
    if not 0 < width <= 1:
        raise InvalidParameter(
            f"width is {width}; it must lie in (0, 1], such as 0.04 for plus or minus 2 points",
            field="width",
        )
    low, high = 0, 1
    while expected_width(published, name, high, confidence=confidence).width > width:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        wide = expected_width(published, name, middle, confidence=confidence).width > width
        low, high = (middle, high) if wide else (low, middle)
    return high


def _largest_variance(channel: Channel) -> float:
    """Largest pi(1 - pi) over pi in [q, p]."""
    nearest = min(max(Fraction(1, 2), channel.q), channel.p)
    return float(nearest * (1 - nearest))
