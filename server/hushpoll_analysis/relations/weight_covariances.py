"""Covariances of the weights by which one record counts in the categories of an attribute.

The weights are W_v = D_v - c_v T (:mod:`hushpoll_protocols.estimation.weights`). Given the truth t,
their means are the one-hot truth and

    Cov(W_v, W_w) = C_vw - c_w C_v - c_v C_w + c_v c_w V,

with C_vw the covariance of D_v and D_w, C_v that of D_v and T, and V the variance of T. Records of
fixed size have T = 0, and bits and hashes have C_vw = 0 for v != w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.estimation.marginals import Law
from hushpoll_protocols.estimation.weights import WeightLaw

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeightCovariances:
    """Covariances of two weights of one record.

    Attributes
    ----------
    law : WeightLaw
        Of the protocol.
    with_truth, between_others : float
        Cov(D_v, D_w) where v is the truth, and where neither is.
    """

    law: WeightLaw
    with_truth: float
    between_others: float

    @classmethod
    def of(cls, oracle: Law | None) -> WeightCovariances:
        """Return those of a protocol, or of its sets; of an attribute in clear for None."""
        if oracle is None:
            return cls(WeightLaw.of(None), 0.0, 0.0)
        gap, covariances = (oracle.p - oracle.q) ** 2, oracle.covariances
        return cls(
            WeightLaw.of(oracle),
            float(covariances.with_truth / gap),
            float(covariances.between_others / gap),
        )

    def given_truth(self, share: Array, other_share: Array) -> tuple[Array, Array, Array]:
        """Return Cov(W_v, W_w), v != w, where the truth is v, where it is w, and elsewhere.

        Parameters
        ----------
        share, other_share : f64[...]
            The constants c of v and w.
        """
        law = self.law
        both = share * other_share * law.excess
        at_v = self.with_truth - other_share * law.at_match - share * law.elsewhere
        at_w = self.with_truth - share * law.at_match - other_share * law.elsewhere
        none = self.between_others - (share + other_share) * law.elsewhere
        if not law.varies:
            fixed = np.zeros(np.shape(both))
            return fixed + self.with_truth, fixed + self.with_truth, fixed + self.between_others
        return at_v + both, at_w + both, none + both

    def over_population(self, frequency: Array) -> Array:
        """Return the covariance matrix f64[k, k] of one record's weights.

        Parameters
        ----------
        frequency : f64[k]
            Of the population, at least 0 and summing to 1.
        """
        law = self.law
        own = law.elsewhere + (law.at_match - law.elsewhere) * frequency
        pair = frequency[:, None] + frequency[None, :]
        noise = self.between_others * (1.0 - pair) + self.with_truth * pair
        np.fill_diagonal(noise, own)
        if law.varies:
            share = law.shares_at(frequency)
            mixed = share[:, None] * own[None, :]
            noise += law.excess * np.outer(share, share) - mixed - mixed.T
        return np.asarray(noise + np.diag(frequency) - np.outer(frequency, frequency))
