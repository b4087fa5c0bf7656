"""When respondents arrive: all at once, as a Poisson process, or by the hour of the day."""

from __future__ import annotations

import math
import random
from enum import StrEnum
from typing import Final

from hushpoll_protocols.errors import InvalidParameter

LONGEST_SECONDS: Final = 86_400.0
# Of the daily cycle: arrivals at the quietest moment over those at the busiest.
_QUIETEST: Final = 0.05


class Arrivals(StrEnum):
    """A pattern of arrivals."""

    AT_ONCE = "at-once"
    POISSON = "poisson"
    DAILY = "daily"


def arrival_times(
    pattern: Arrivals, count: int, *, seconds: float, rng: random.Random
) -> list[float]:
    """Return when each of so many respondents arrives.

    Given their number, the arrivals of a Poisson process are independent draws from its intensity:
    flat for ``poisson``, and for ``daily`` one cosine over the whole duration, which stands for a
    day that begins and ends at its quietest moment.

    Parameters
    ----------
    pattern : Arrivals
        The pattern.
    count : int
        Respondents.
    seconds : float
        Duration, in [0, 86400]; unused by ``at-once``.
    rng : random.Random
        Source of the draws.

    Returns
    -------
    list of float
        Seconds from the start, ascending.

    Raises
    ------
    InvalidParameter
        If `seconds` is outside its interval, or 0 for a pattern that takes time.
    """
    if pattern is Arrivals.AT_ONCE:
        return [0.0] * count
    if not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidParameter(
            f"duration is {seconds:g} s; arrivals by {pattern} take more than 0 and at most "
            f"{LONGEST_SECONDS:g} s",
            field="duration",
        )
    draw = rng.random if pattern is Arrivals.POISSON else lambda: _daily(rng)
    return sorted(seconds * draw() for _ in range(count))


def _daily(rng: random.Random) -> float:
    while True:  # rejection: half of the draws are kept
        moment = rng.random()
        intensity = _QUIETEST + (1 - _QUIETEST) * (1 - math.cos(2 * math.pi * moment)) / 2
        if rng.random() < intensity:
            return moment
