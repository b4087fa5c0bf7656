"""From unbiased estimates to frequencies: non-negative and summing to one (extra ``kernels``).

A projection lowers the error of a whole histogram and makes each estimate biased, so it is a step
that the analyst takes by name and never part of the estimator.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter, refusal_of


def project_simplex(frequency: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the nearest point, f64[k], of the probability simplex in Euclidean distance.

    Duchi, Shalev-Shwartz, Singer and Chandra (ICML 2008), figure 1: max(f_v - theta, 0) with the
    one theta that makes the sum 1. Refuses what is not one-dimensional, empty, or not finite.
    """
    estimates = _checked(frequency)
    # Moving all by one constant moves theta with them, and keeps large common offsets from
    # swallowing the differences in the running sum.
    centred = estimates - estimates.max()
    descending = np.sort(centred)[::-1]
    ranks = np.arange(1, len(estimates) + 1)
    thetas = (np.cumsum(descending) - 1) / ranks
    kept = int(np.flatnonzero(descending > thetas)[-1])
    projected: npt.NDArray[np.float64] = np.maximum(centred - thetas[kept], 0)
    return projected


def _checked(frequency: npt.ArrayLike) -> npt.NDArray[np.float64]:
    estimates = np.array(frequency, dtype=np.float64)
    if estimates.ndim != 1 or not estimates.size:
        raise refusal_of("frequency")(
            f"has shape {estimates.shape}; give one estimate per value, shape (k,)"
        )
    finite = np.isfinite(estimates)
    if not finite.all():
        at = int((~finite).argmax())
        raise InvalidParameter(
            f"frequency[{at}] is {estimates[at]}; give finite estimates", field="frequency"
        )
    return estimates
