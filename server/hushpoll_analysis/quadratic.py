"""Score intervals for a mean whose variance is a quadratic function of the mean.

A debiased indicator, and the product of two of them, have mean f and variance c0 + c1 f - f^2, with
c0 and c1 known. Solving |estimate - f| <= z sqrt((c0 + c1 f - f^2)/n) for f, rather than fixing the
variance at the estimate, is Wilson's idea: c0 = 0, c1 = 1 is his interval for a proportion, and the
indicator's own case is that interval for pi mapped by (x - q)/(p - q).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.estimation import normal_quantile


def score_interval(
    mean: npt.NDArray[np.float64],
    n: int,
    *,
    c0: npt.NDArray[np.float64],
    c1: npt.NDArray[np.float64],
    confidence: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return standard error, lower and upper limit, each of the shape of `mean`.

    Parameters
    ----------
    mean : f64 array
        Unbiased estimates, any real numbers.
    n : int
        Rows behind each mean, at least 1.
    c0, c1 : f64 array
        Coefficients of the variance of one row, c0 + c1 f - f^2, at least 0 at `mean`.
    confidence : float
        In (0, 1).
    """
    z = normal_quantile(confidence)
    variance = np.maximum(c0 + c1 * mean - mean**2, 0.0)
    # The parabola's top c1^2/4 + c0 is at least its value at the mean; rounding alone can say else.
    top = np.maximum(c1**2 / 4 + c0, variance)
    centre = mean + z**2 * c1 / (2 * n)
    half = z / np.sqrt(n) * np.sqrt(variance + z**2 * top / n)
    scale = 1 + z**2 / n
    return np.sqrt(variance / n), (centre - half) / scale, (centre + half) / scale
