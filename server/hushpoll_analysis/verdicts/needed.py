"""How many reports, or which epsilon, would be enough: where a falling ratio reaches 1.

Each ratio that is looked at costs a computation of the query's own function, so few are. Both
axes are logarithms, on which the ratio falls nearly in a straight line: the first guess follows
from the ratio that is known, the next ones lie on the line through the two nearest points. Plans
look for as much power, among as many respondents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from hushpoll_protocols.epsilon import EPSILON_MAX
from hushpoll_shared.survey.protection import Level

N_MAX: Final = 10**9
"""Respondents up to which it is looked for how many would do."""

POWER: Final = 0.8
"""Chance to find what is looked for that is enough."""

PROTECTS: Final[Mapping[Level | None, str]] = MappingProxyType(
    {Level.WEAK: ", which protects weakly", Level.HARDLY: ", which hardly protects"}
)
"""What is said of an epsilon that would do; nothing where protection is limited or strong."""

CLOSE: Final = 0.01
"""Relative, of what is looked for."""

AT_ONCE: Final = 16.0
"""Factor of the next guess where the ratio is infinite, which tells no other."""

IN_LINE: Final = 6
"""Guesses on the line through two points; then every second one halves what is left."""


def rounded_up(value: float) -> float:
    """Return a positive number rounded up to three digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / unit - 1e-9) * unit


def fewest_reports(ratio: Callable[[int], float], n: int, now: float) -> int | None:
    """Return with how many reports a ratio is at most 1, rounded up to three digits.

    The ratio is of a half-width and what it may be, and falls about as the root of the reports;
    `now` is that of n, above 1. None if not even `N_MAX` are enough.
    """
    search = _Search(lambda value: ratio(round(value)), most=N_MAX, fall=0.5, stride=8, whole=True)
    found = search.least(n, now)
    return None if found is None else round(found)


def smallest_epsilon(
    ratio: Callable[[Decimal], float], epsilon: Decimal, now: float
) -> Decimal | None:
    """Return with which epsilon a ratio is at most 1, rounded up to three digits.

    The ratio falls about as the square of the epsilon, where two perturbed answers are multiplied;
    `now` is above 1. None if not even 64 is enough.
    """

    def spelled(value: float) -> Decimal:
        return min(Decimal(f"{value:.3g}"), Decimal(EPSILON_MAX))

    search = _Search(
        lambda value: ratio(spelled(value)),
        most=float(EPSILON_MAX),
        fall=2.0,
        stride=3,
        whole=False,
    )
    found = search.least(float(epsilon), now)
    return None if found is None else spelled(found)


class _Search:
    """The search for the least value, of three digits, at which a ratio is at most 1.

    `fall` says by how much the ratio's logarithm falls while that of the value rises by 1, before
    two ratios tell; from then on a guess is at most `stride` times the last one. `whole` says that
    values are whole numbers.
    """

    def __init__(
        self,
        ratio: Callable[[float], float],
        *,
        most: float,
        fall: float,
        stride: float,
        whole: bool,
    ) -> None:
        self._ratio, self._most, self._whole = ratio, most, whole
        self._fall, self._stride = fall, stride

    def least(self, start: float, now: float) -> float | None:
        """Return the value, to within `CLOSE`; None if `most` is too little."""
        low, high, under = start, start, math.log(now)
        fall, stride = self._fall, self._most
        while under > 0:
            if high >= self._most:
                return None
            low, over = high, under
            factor = AT_ONCE
            if math.isfinite(over):  # where the line reaches 1, and a little more
                factor = math.exp(min(over / fall + CLOSE / 2, math.log(stride)))
            high = min(self._spelled(min(low * factor, self._most)), self._most)
            under = self._at(high)
            if math.isfinite(over) and under < over:
                fall, stride = (over - under) / math.log(high / low), self._stride
        return self._between(low, over, high, under)

    def _between(self, low: float, over: float, high: float, under: float) -> float:
        """Return the value, which is above `low` and at most `high`."""
        guesses, moved = 0, ""
        while high > low * (1 + CLOSE) and (last := self._before(high)) > low:
            part = 0.5
            if math.isfinite(over) and (guesses < IN_LINE or guesses % 2):
                part = over / (over - under)
            middle = low * (high / low) ** part * (1 + CLOSE / 2)
            if middle * (1 + CLOSE / 4) > high:
                # it lies next to `high`: what is a little less may be too little, which ends it
                middle = high / (1 + CLOSE)
            middle = min(max(self._spelled(middle), self._spelled(low, above=True)), last)
            at, guesses = self._at(middle), guesses + 1
            # of an end that stays twice half of the height counts: the Illinois rule
            if at > 0:
                low, over, under = middle, at, under / (2 if moved == "low" else 1)
                moved = "low"
            else:
                high, under, over = middle, at, over / (2 if moved == "high" else 1)
                moved = "high"
        return high

    def _at(self, value: float) -> float:
        return math.log(max(self._ratio(value), 1e-300))

    def _spelled(self, value: float, *, above: bool = False) -> float:
        """Return a value rounded up to three digits, or the next one above it."""
        if above:
            value *= 1 + 1e-6
        return float(math.ceil(rounded_up(value) - 1e-9)) if self._whole else rounded_up(value)

    def _before(self, value: float) -> float:
        """Return the largest value of three digits below one that has three."""
        unit = 10.0 ** (math.floor(math.log10(value * (1 - 1e-6))) - 2)
        return value - max(unit, 1.0 if self._whole else 0.0)
