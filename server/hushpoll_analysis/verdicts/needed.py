"""How many reports, or which epsilon, would be enough: where a falling ratio reaches 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import cycle
from typing import Final

from hushpoll_analysis.planning.needed import N_MAX, rounded_up
from hushpoll_protocols.epsilon import EPSILON_MAX

CLOSE: Final = 0.01
"""Relative, of what is looked for."""


def fewest_reports(ratio: Callable[[int], float], n: int, now: float) -> int | None:
    """Return with how many reports a ratio is at most 1, rounded up to three digits.

    Parameters
    ----------
    ratio : callable
        Of a half-width and what it may be, by the reports; it falls about as their root.
    n : int
        Reports that are too few.
    now : float
        Their ratio, above 1.

    Returns
    -------
    int or None
        None if not even `N_MAX` are enough.
    """
    low, high = n, min(_guess(n, now), N_MAX)
    while (reached := ratio(high)) > 1:
        if high >= N_MAX:
            return None
        low, high = high, min(_guess(high, reached), N_MAX)
    for halve in cycle((False, True)):
        if high - low <= max(1.0, CLOSE * high):
            break
        # nearly n times the square of the ratio, and a little more so that it is enough
        near = math.ceil(high * reached**2 * (1 + CLOSE / 2))
        middle = min(near, math.floor(high * (1 - CLOSE)))
        if halve or near <= low:  # where it does not fall as the root
            middle = math.isqrt(low * high)
        middle = min(max(middle, low + 1), high - 1)
        at = ratio(middle)
        if at > 1:
            low = middle
        else:
            high, reached = middle, at
    needed = min(round(rounded_up(high)), N_MAX)
    while needed < N_MAX and ratio(needed) > 1:  # counts are whole, so it does not fall everywhere
        needed = min(round(rounded_up(needed * (1 + CLOSE))), N_MAX)
    return needed


def smallest_epsilon(
    ratio: Callable[[Decimal], float], epsilon: Decimal, now: float
) -> Decimal | None:
    """Return with which epsilon a ratio is at most 1, rounded up to three digits.

    Parameters
    ----------
    ratio : callable
        By the epsilon of the whole survey; it falls.
    epsilon : Decimal
        That is too small.
    now : float
        Its ratio, above 1.

    Returns
    -------
    Decimal or None
        None if not even 64 is enough.
    """
    del now
    if epsilon >= EPSILON_MAX or ratio(Decimal(EPSILON_MAX)) > 1:
        return None
    low, high = float(epsilon), float(EPSILON_MAX)
    while 2 * low < high and ratio(_spelled(2 * low)) > 1:
        low *= 2
    high = min(2 * low, high)
    while high - low > CLOSE * high:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if ratio(_spelled(middle)) > 1 else (low, middle)
    return _spelled(high)


def _guess(n: int, ratio: float) -> int:
    """Return the reports that would do if the ratio fell as the root, or eight times as many."""
    return 8 * n if math.isinf(ratio) else max(math.ceil(n * ratio**2 * (1 + CLOSE)), n + 1)


def _spelled(epsilon: float) -> Decimal:
    return min(Decimal(f"{rounded_up(epsilon):.3g}"), Decimal(EPSILON_MAX))
