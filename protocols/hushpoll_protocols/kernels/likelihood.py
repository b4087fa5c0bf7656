"""The pass over records that maximum likelihood estimation repeats; it loads numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.interface import Bytes

Floats = npt.NDArray[np.float64]


@njit
def add_likelihoods(
    supports: Bytes,
    weights: Floats,
    prior: Floats,
    outside: float,
    gain: float,
    sums: Floats,
) -> None:
    """Add sum(w/d * I_v), sum(w/d) and sum(w * ln d), d the likelihood of a record."""
    k = prior.shape[0]
    for i in range(supports.shape[0]):
        mass = 0.0
        for v in range(k):
            mass += prior[v] * supports[i, v]
        likelihood = outside + gain * mass
        share = weights[i] / likelihood
        for v in range(k):
            sums[v] += share * supports[i, v]
        sums[k] += share
        sums[k + 1] += weights[i] * np.log(likelihood)
