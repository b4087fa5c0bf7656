"""What an audit can say at all, from what is known beforehand: respondents, epsilon and shares.

It stands beside each result and decides nothing: whether there is a conclusion follows from the
confidence set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import Moments
from hushpoll_analysis.planning.expected_audits import concludes, finds, share_of_surveys
from hushpoll_analysis.planning.power import AuditAssumptions
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.survey.published import Published

POWER: Final = 0.8
SELDOM: Final = 0.5
"""Share of the surveys below which they conclude seldom."""

SURVEYS: Final = 500
SMALLEST_GAP: Final = 1e-4
PRECISION: Final = 0.05
"""Relative, of the smallest difference that is found."""

Array = npt.NDArray[np.float64]
Rule = Callable[[Moments, str, float], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What surveys of this n, epsilon and shares can say of a metric.

    Attributes
    ----------
    concludes : float
        Share of them that conclude, if there is no disparity.
    smallest_detectable : float or None
        Smallest true difference of the two rates that is found with power `POWER`, for a ratio the
        ratio that this difference makes; None if not even the largest is found so often.
    """

    concludes: float
    smallest_detectable: float | None


def outlooks(
    published: Published,
    n: int,
    given: AuditAssumptions,
    *,
    confidence: float,
    outside: float = 0.0,
) -> Mapping[str, Outlook | None]:
    """Return the outlook of each metric; None where the shares leave no room for a disparity.

    Parameters
    ----------
    published : Published
        With a protected attribute. Without a target that has a positive category, metrics that use
        labels are None.
    n : int
        Respondents, at least 1.
    given : AuditAssumptions
        About the population; its gap plays no part.
    confidence : float
        Of the audit's sets.
    outside : float
        Share of the respondents who are in neither group, in [0, 1).

    Raises
    ------
    InvalidParameter
        If n is below 1, or there is no protected attribute.
    """
    target = published.target
    labelled = target is not None and target.positive is not None
    return {
        name: _outlook(published, n, given, name, confidence, outside)
        if labelled or not metric.uses_labels
        else None
        for name, metric in METRICS.items()
    }


def _outlook(
    published: Published,
    n: int,
    given: AuditAssumptions,
    metric: str,
    confidence: float,
    outside: float,
) -> Outlook | None:
    def share(decide: Rule, population: Array) -> float:
        return share_of_surveys(
            decide,
            published,
            n,
            population,
            (metric,),
            confidence=confidence,
            outside=outside,
            surveys=SURVEYS,
        )[metric]

    low, high = SMALLEST_GAP, _largest_gap(given, metric)
    least, most = given.with_gap(low, metric), given.with_gap(high, metric)
    if least is None or most is None:
        return None
    conclusive, below, above = share(concludes, least), share(finds, least), share(finds, most)
    if above < POWER:
        return Outlook(conclusive, None)
    while high - low > PRECISION * high:
        # where the power's normal quantile would reach the aim if it were straight between the two
        part = (_probit(POWER) - _probit(below)) / max(_probit(above) - _probit(below), 1e-9)
        middle = low + min(max(part, 0.1), 0.9) * (high - low)
        population = given.with_gap(middle, metric)
        assert population is not None  # noqa: S101  (there is room for more)
        power = share(finds, population)
        if power >= POWER:
            high, above = middle, power
        else:
            low, below = middle, power
    if METRICS[metric].is_ratio:
        value = given.rate(METRICS[metric].rates[0])
        return Outlook(conclusive, value / (value + high))
    return Outlook(conclusive, high)


def _largest_gap(given: AuditAssumptions, metric: str) -> float:
    low, high = SMALLEST_GAP, 1.0
    while high - low > PRECISION * low:
        middle = (low + high) / 2
        low, high = (low, middle) if given.with_gap(middle, metric) is None else (middle, high)
    return low


def _probit(chance: float) -> float:
    return NormalDist().inv_cdf(min(max(chance, 1e-3), 1 - 1e-3))
