"""Group rates from moments: estimates, standard errors, intervals.

R_a = N_a/W_a is a ratio of means. Its interval is Fieller's set, given where it is an interval, and
all numbers otherwise (:mod:`hushpoll_analysis.auditing.group_rate`; Cochran, Sampling Techniques,
1977, chapter 6). Two rates are compared in :mod:`hushpoll_analysis.auditing.sets`. Symmetric
intervals missed on one side up to ten times as often as on the other, and the one through log DI
covered as little as 63 % where few are predicted positive:
docs/explanation/fairness-without-the-attribute.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.group_rate import GroupRate
from hushpoll_analysis.auditing.moments import Moments
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile

LARGEST_CONFIDENCE = 0.999
"""Of intervals: corrections for skewness and kurtosis hold in the middle, not far in the tails."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConfidenceSet:
    """A rate or a metric with its confidence set, of one survey or one per survey.

    Attributes
    ----------
    value, standard_error : f64[...]
        Not projected: a rate may fall outside [0, 1]. nan where a denominator may be 0.
    lower, upper : f64[...]
        Of the confidence set; infinite where it has no bound.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array


def rates(moments: Moments, name: str, *, confidence: float) -> tuple[ConfidenceSet, ConfidenceSet]:
    """Return a rate, by name, in the unprivileged and in the privileged group.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    z = quantile(confidence)
    low, high = (_set_of(GroupRate.of(moments, name, group, z)) for group in (0, 1))
    return low, high


def _set_of(rate: GroupRate) -> ConfidenceSet:
    limits = rate.at(np.array([-rate.z, rate.z]), in_difference=False)
    return ConfidenceSet(
        np.where(rate.bounded, rate.value, np.nan),
        np.where(rate.bounded, rate.standard_error, np.nan),
        np.where(rate.bounded, limits[..., 0], -np.inf),
        np.where(rate.bounded, limits[..., 1], np.inf),
    )


def quantile(confidence: float) -> float:
    """Return the normal quantile of two-sided intervals.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    if confidence > LARGEST_CONFIDENCE:
        raise InvalidParameter(
            f"confidence is {confidence}; a fairness audit takes one in (0, {LARGEST_CONFIDENCE}]: "
            "use 0.95",
            field="confidence",
        )
    return normal_quantile(confidence)
