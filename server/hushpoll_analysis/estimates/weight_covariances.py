"""Covariances of the weights by which one record counts in the categories of an attribute.

The weights are W_v = D_v - c_v T (:mod:`hushpoll_protocols.estimation.weights`). Given the truth t,
their means are the one-hot truth and

    Cov(W_v, W_w) = C_vw - c_w C_v - c_v C_w + c_v c_w V,

with C_vw the covariance of D_v and D_w, C_v that of D_v and T, and V the variance of T. Records of
fixed size have T = 0, and bits and hashes have C_vw = 0 for v != w.

Sets of m_v and m_w values have sums of their covariances: with a and b those of the truth's
indicator and another, and of two others, C_vw is m_w (a + (m_v - 1) b) where the truth is in v, and
m_v m_w b where it is in neither.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.estimation.marginals import AnyLaw, UnevenSets
from hushpoll_protocols.estimation.weights import WeightLaw

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeightCovariances:
    """Covariances of two weights of one record."""

    law: WeightLaw
    with_truth: float
    """Cov(D_v, D_w) where v is the truth, and `between_others` where neither is; of sets of
    different sizes those of two values."""
    between_others: float
    sizes: Array | None = None
    """f64[k], values of each set, where they have different numbers."""

    @classmethod
    def of(cls, oracle: AnyLaw | None) -> WeightCovariances:
        """Return those of a protocol, or of its sets; of an attribute in clear for None."""
        if oracle is None:
            return cls(WeightLaw.of(None), 0.0, 0.0)
        if isinstance(oracle, UnevenSets):
            of_values = cls.of(oracle.oracle)
            return replace(
                of_values, law=WeightLaw.of(oracle), sizes=np.array(oracle.sizes, np.float64)
            )
        gap, covariances = (oracle.p - oracle.q) ** 2, oracle.covariances
        return cls(
            WeightLaw.of(oracle),
            float(covariances.with_truth / gap),
            float(covariances.between_others / gap),
        )

    def given_truth(
        self, share: Array, other_share: Array, other: int = 0
    ) -> tuple[Array, Array, Array]:
        """Return Cov(W_v, W_w), v != w, where the truth is v, where it is w, and elsewhere.

        Shares f64[...] are the constants c of v and w. Of sets of different sizes `share` has all
        v, f64[k] or f64[k, 1], and `other` is the code of w.
        """
        law = self.law
        pairs, match, match_w, elsewhere, elsewhere_w = self._of_pair(np.shape(share), other)
        at_v, at_w, none = pairs
        both = share * other_share * law.excess
        if not law.varies:
            fixed = np.zeros(np.shape(both))
            return fixed + at_v, fixed + at_w, fixed + none
        at_v = at_v - other_share * match - share * elsewhere_w
        at_w = at_w - share * match_w - other_share * elsewhere
        none = none - (share * elsewhere_w + other_share * elsewhere)
        return at_v + both, at_w + both, none + both

    def _of_pair(
        self, shape: tuple[int, ...], other: int
    ) -> tuple[tuple[Any, Any, Any], Any, Any, Any, Any]:
        """Return the three covariances of D, and M and E of v and of w."""
        law = self.law
        if self.sizes is None:
            pairs = self.with_truth, self.with_truth, self.between_others
            return pairs, law.at_match, law.at_match, law.elsewhere, law.elsewhere
        sizes, match, elsewhere = (
            part.reshape(shape) for part in (self.sizes, law.at_match, law.elsewhere)
        )
        pairs = self._pairs(sizes, self.sizes[other])
        return pairs, match, law.at_match[other], elsewhere, law.elsewhere[other]

    def _pairs(self, own: Any, other: Any) -> tuple[Any, Any, Any]:
        a, b = self.with_truth, self.between_others
        return other * (a + (own - 1) * b), own * (a + (other - 1) * b), own * other * b

    def over_population(self, frequency: Array) -> Array:
        """Return the covariance matrix f64[k, k] of one record's weights at frequencies f64[k]."""
        law = self.law
        own = law.elsewhere + (law.at_match - law.elsewhere) * frequency
        pair = frequency[:, None] + frequency[None, :]
        if self.sizes is None:
            noise = self.between_others * (1.0 - pair) + self.with_truth * pair
        else:
            at_v, at_w, none = self._pairs(self.sizes[:, None], self.sizes[None, :])
            noise = none * (1.0 - pair) + at_v * frequency[:, None] + at_w * frequency[None, :]
        np.fill_diagonal(noise, own)
        if law.varies:
            share = law.shares_at(frequency)
            mixed = share[:, None] * own[None, :]
            noise += law.excess * np.outer(share, share) - mixed - mixed.T
        return np.asarray(noise + np.diag(frequency) - np.outer(frequency, frequency))
