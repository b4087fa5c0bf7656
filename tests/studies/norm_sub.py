"""Norm-sub, a peer of the projection onto the simplex (extra ``kernels``)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.estimation.projection import project_simplex


def norm_sub(frequency: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Set negative estimates to 0 and shift the positive ones equally, until the sum is one.

    Norm-Sub of Wang et al., "Locally differentially private frequency estimation with consistency"
    (NDSS 2020). Where the positive estimates sum to at least 1 it agrees with
    :func:`project_simplex`. Where they sum to less, it raises the positive ones only, while the
    Euclidean projection may raise negative ones above 0.

    Parameters
    ----------
    frequency : float array, shape (k,)
        Finite; k at least 1. Where no estimate is positive the procedure has nothing to raise, and
        the largest ones are raised as by :func:`project_simplex`.

    Returns
    -------
    float64 array, shape (k,)
        In [0, 1], summing to 1 up to rounding.

    Raises
    ------
    InvalidParameter
        As :func:`project_simplex`.
    """
    projected = project_simplex(frequency)
    estimates = np.array(frequency, dtype=np.float64)
    positive = estimates > 0
    if not positive.any():
        return projected
    # Each round starts from the given estimates, so that shifts do not accumulate rounding.
    while True:
        base = estimates[positive]
        centred = base - base.max()
        shifted = centred + (1 - centred.sum()) / len(base)
        if (shifted > 0).all():
            break
        positive[np.flatnonzero(positive)[shifted <= 0]] = False
    result = np.zeros_like(estimates)
    result[positive] = shifted
    return result
