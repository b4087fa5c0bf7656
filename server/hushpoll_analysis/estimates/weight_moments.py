"""Second moments of the weights by which a record counts in sets of categories, from the law alone.

An audit weighs a row in a set a of categories by W_a = sum over v in a of D_v - c_v T
(:mod:`hushpoll_protocols.estimation.weights`). Given the truth t, W_a has the mean [t in a], and

    Cov(W_a, W_b) = (C_ab - c_a C_b - c_b C_a + c_a c_b V)/(p - q)^2,

C_ab being the covariance of the supports' sizes in a and in b, C_a that with the whole support's
and V the variance of the latter. Bits are independent given the truth, and so are the hashes of two
categories; of records of fixed size T is 0 and c plays no part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle


def weight_products(
    oracle: FrequencyOracle | None, sizes: Sequence[int], shares: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Return E[W_a W_b] given that the truth is in t, f64[t, a, b].

    Parameters
    ----------
    oracle : FrequencyOracle or None
        Of the attribute; None in clear.
    sizes : sequence of int
        Categories of each of some disjoint sets, at least 1.
    shares : sequence of float
        Of the respondents whose truth is in each set, summing to 1.
    """
    number = len(sizes)
    same = np.eye(number)
    # 1 where truth, a and b are the same set
    truth = same[:, :, None] * same[:, None, :]
    if oracle is None:
        return truth
    p, q = float(oracle.p), float(oracle.q)
    gap = float(oracle.p - oracle.q)
    at_match, elsewhere = p * (1 - p), q * (1 - q)
    size = np.asarray(sizes, dtype=np.float64)
    with_truth = float(oracle.covariances.with_truth)
    others = float(oracle.covariances.between_others)
    # spread[t, a]: variances in a, summed; the truth's own differs
    spread = elsewhere * size + (at_match - elsewhere) * same
    rest = size - same  # [t, a]: members of a besides the truth
    pairs = rest[:, :, None] * rest[:, None, :] - same * rest[:, :, None]
    touching = same[:, :, None] * rest[:, None, :] + rest[:, :, None] * same[:, None, :]
    covariance = same * spread[:, :, None] + others * pairs + with_truth * touching
    if oracle.support_size is None:
        whole = float(oracle.support_variance)
        c = (elsewhere * size + (at_match - elsewhere) * np.asarray(shares)) / whole
        covariance = (
            covariance
            - c[None, :, None] * spread[:, None, :]
            - c[None, None, :] * spread[:, :, None]
            + whole * c[:, None] * c[None, :]
        )
    return truth + covariance / gap**2
