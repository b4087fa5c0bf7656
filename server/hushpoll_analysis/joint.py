"""Estimates from the joint counts of two attributes' indicators.

Let W = D1 D2 be the per-row product of two debiased indicators of *different* attributes. They are
perturbed independently, so E[W] is the share of the population in both categories. As I^2 = I, both
W and W^2 are linear in I1, I2 and I1 I2: mean and variance of the per-row products follow exactly
from the counts of I1, of I2 and of both, and no n-row product is ever formed. The standard error is
for respondents redrawn from their population, together with their noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel import Channel
from hushpoll_analysis.quadratic import score_interval


@dataclass(frozen=True, slots=True)
class JointCounts:
    """How often indicators were 1, alone and together; add two to join their rows.

    Attributes
    ----------
    n : int
        Rows counted.
    first, second : int64[k1], int64[k2]
        Support counts of each attribute.
    both : int64[k1, k2]
        Rows in which both indicators were 1.
    """

    n: int
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    both: npt.NDArray[np.int64]

    def __add__(self, other: JointCounts) -> JointCounts:
        return JointCounts(
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.both + other.both,
        )

    @classmethod
    def of(cls, first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8]) -> JointCounts:
        """Count the indicator matrices [n, k1] and [n, k2] of one chunk, n below 2^24."""
        # float32 goes through BLAS and is exact for counts below 2^24
        both = first.astype(np.float32).T @ second.astype(np.float32)
        return cls(
            first.shape[0],
            first.sum(axis=0, dtype=np.int64),
            second.sum(axis=0, dtype=np.int64),
            both.astype(np.int64),
        )


@dataclass(frozen=True, slots=True)
class JointEstimate:
    """Shares of the population in each pair of categories.

    Attributes
    ----------
    frequency, standard_error, lower, upper : f64[k1, k2]
        Unbiased, so a frequency may fall outside [0, 1].
    """

    frequency: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]


def estimate_joint(
    counts: JointCounts, first: Channel, second: Channel, *, confidence: float
) -> JointEstimate:
    """Estimate the joint frequencies D1ᵀD2/n with standard errors and intervals.

    The interval solves for the joint frequency with the two marginal ones at their estimates
    (:func:`score_interval`). With both attributes in clear it is Wilson's.
    """
    n = counts.n
    q1, q2 = float(first.q), float(second.q)
    pi1, pi2 = (counts.first / n)[:, None], (counts.second / n)[None, :]
    f1, f2 = (pi1 - q1) / first.gap, (pi2 - q2) / second.gap
    frequency = (counts.both / n - q1 * pi2 - q2 * pi1 + q1 * q2) / (first.gap * second.gap)
    # E[W^2] = f m1 m2 + (f1-f) m1 e2 + (f2-f) e1 m2 + (1-f1-f2+f) e1 e2, as c0 + c1 f
    e1, e2 = first.moment_elsewhere, second.moment_elsewhere
    rise1, rise2 = first.moment_at_match - e1, second.moment_at_match - e2
    c0 = f1 * rise1 * e2 + f2 * e1 * rise2 + e1 * e2
    error, lower, upper = score_interval(
        frequency, n, c0=c0, c1=np.full_like(frequency, rise1 * rise2), confidence=confidence
    )
    return JointEstimate(frequency, error, lower, upper)
