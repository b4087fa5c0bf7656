"""Corrections to the limits of a group's rate, for groups of few people and rare predictions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import Moments
from hushpoll_protocols.estimation.frequencies import wilson_limits

Array = npt.NDArray[np.float64]


def edgeworth(
    moments: Moments, group: int, influence: Array, variance: Array, z: float
) -> tuple[Array, Array, Array]:
    """Return what limits are moved by, and two factors by which they are moved apart.

    With g and k the skewness and the excess kurtosis of the influences, a studentized mean T has

        P(T <= x) = Phi(x) + phi(x) (g (2x^2+1)/(6 n^1/2) + q(x)/n),
        q(x) = x (k (x^2-3)/12 - g^2 (x^4+2x^2-3)/18 - (x^2+3)/4)

    (Hall, The Bootstrap and Edgeworth Expansion, 1992, sections 2.6 and 2.7). Moving both limits by
    c g/n^1/2 standard errors, c = (2z^2+1)/6, makes both sides miss equally often. What is then
    left of order 1/n, the error of the estimated g included, whose covariance with T is
    (k - 3g^2/2)/n^1/2, is made up for by the factor

        1 + (k (c - (z^2-3)/12) + g^2 ((z^4+2z^2-3)/18 - 5c/6 - c^2/2) + (z^2+3)/4)/n.

    A difference of two groups' rates takes the same without g^2. Its coefficient is negative at the
    usual z: it says how much of the kurtosis comes from skewness, and in a difference of two groups
    that are skewed alike the skewness cancels, but the kurtosis stays. With g^2, 6.1 % instead of
    5 % of surveys without a difference were told apart where 15 of 500 people decide a rate.

    Parameters
    ----------
    moments : Moments
        Of the rows.
    group : int
        0 or 1.
    influence : f64[..., 4]
        Coefficients of the rate's influence on the group's terms.
    variance : f64[...]
        Of the rate: the mean square of the influence, over n.
    z : float
        Normal quantile of the limits.

    Returns
    -------
    shift, factor, of_difference : f64[...]
        What limits of the level z are moved by, in the unit of the rate, and the factors for a rate
        by itself and for one in a difference; factors are at least 1.
    """
    spread = np.where(variance > 0, variance * moments.n, 1.0)
    cube = np.einsum(
        "...ijk,...i,...j,...k->...", moments.third[..., group, :, :, :], *(influence,) * 3
    )
    pairs = (influence[..., :, None] * influence[..., None, :]).reshape(*influence.shape[:-1], 16)
    fourth = np.einsum("...ij,...i,...j->...", moments.fourth[..., group, :, :], pairs, pairs)
    kurtosis = np.where(variance > 0, fourth / spread**2 - 3, 0.0)
    square = cube**2 / spread**3
    c = (2 * z**2 + 1) / 6
    apart = kurtosis * (c - (z**2 - 3) / 12) + (z**2 + 3) / 4
    alone = apart + square * ((z**4 + 2 * z**2 - 3) / 18 - 5 * c / 6 - c**2 / 2)
    factor, of_difference = (1 + np.maximum(part, 0.0) / moments.n for part in (alone, apart))
    return c * cube / spread / moments.n, factor, of_difference


def known_limits(rate: Array, size: Array, z: float | Array) -> tuple[Array, Array, Array]:
    """Return the variance and Wilson's limits of a rate of so many people whose groups are known.

    Records tell no more than that, so no interval may end inside this one. A rate that happens to
    be 0 or 1 has influences of 0, yet is no certainty.

    Parameters
    ----------
    rate : f64[...]
        Estimated; taken as 0 or 1 where it is outside.
    size : f64[...]
        People it is a rate of, at least 0.
    z : float or f64[...]
        Normal quantile of the limits.
    """
    people = np.maximum(size, 1e-300)
    lower, upper = wilson_limits(people * np.clip(rate, 0.0, 1.0), people, z)
    centre = (lower + upper) / 2
    return centre * (1 - centre) / (people + z**2), lower, upper
