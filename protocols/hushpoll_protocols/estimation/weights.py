"""Weights that sum to one: how much a record counts in each category (extra ``kernels``).

D_v = (I_v - q)/(p - q) has the one-hot truth as its expectation. Where the size of the support
varies, the D of one record sum to 1 in expectation only. The excess T = sum over v of D_v - 1 is
noise alone: given any truth its expectation is 0. So D_v - c_v T is as unbiased as D_v for every
constant c_v, and

    c_v = Cov(D_v, T)/Var(T)

makes its variance the smallest (a regression estimator: Cochran, Sampling Techniques, 1977,
chapter 7). Let M = p(1-p)/(p-q)^2 be the variance of D_v where v is the truth and
E = q(1-q)/(p-q)^2 where it is not. Given the truth, indicators of different categories are
uncorrelated, so that with f_v the frequency of v and V = M + (k-1)E

    Cov(D_v, T) = E + f_v (M - E),    Var(T) = V,    c_v = (E + f_v (M - E))/V.

The c_v follow from the law alone but for f_v, and they sum to 1; hence so do the weights of each
record. The estimate is the mean of its own weights, f_v = mean(D_v) - c_v mean(T), and c_v is
linear in f_v. Solved for f_v,

    f_v = (mean(D_v) - mean(T) E/V)/(1 + mean(T) (M - E)/V),

which needs the support counts only, and sums to 1 over the categories. The denominator is
positive whatever the records are: it is at least k p q/((p-q)^2 V), where no record supports any
category, or k (1-p)(1-q)/((p-q)^2 V), where each supports all.

With A = mean(D_v) - f_v - c_v mean(T) at the true f_v, the error of the estimate is
A/(1 + mean(T) (M - E)/V). A is uncorrelated with T, so its bias is of the order of n^-2.

Where every support has the same size (GRR, SS) T is 0 and the weights are D.

Bits are independent given the truth. The hashes of two categories are, up to 2^-32, and so are for
g = 2 those of three; for larger g three of them are up to relations with small coefficients among
the finalised codes, which 32-bit codes seldom have (a test compares with the kernels).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.estimation.marginals import AnyLaw, Marginal, UnevenSets

Array = npt.NDArray[np.float64]
Moment: TypeAlias = Any
"""A float; of sets of different sizes f64[k], a number of each."""

DEGENERATE = 1e-6
"""Denominator at or below which f_v is taken to be lost in rounding; 1 is expected."""


@dataclass(frozen=True, slots=True)
class WeightLaw:
    """The moments from which the weights of one protocol follow.

    All but `excess` are f64[k] for sets of different sizes, with the law of each set: the weight of
    one is as if the others had its size. `at_match` and `elsewhere` are M and E, the variances of
    D_v where v is the truth and where it is not, and the third central moments stand beside them.
    """

    k: Moment
    """Domain size; 1 where the support does not vary, since nothing depends on it there. Of one
    set, the size of the domain over its own.
    """

    at_match: Moment
    elsewhere: Moment
    excess: float
    """V, the variance of T; 0 where every support has the same size."""

    third_at_match: Moment
    third_elsewhere: Moment

    @classmethod
    def of(cls, oracle: AnyLaw | None) -> WeightLaw:
        """Return the law of a protocol or of sets; of an attribute in clear for None."""
        if oracle is None:
            return cls(1, 0.0, 0.0, 0.0, 0.0, 0.0)
        if isinstance(oracle, UnevenSets):
            return cls._of_each(oracle, cls.of)
        alone = cls.of_raw(oracle)
        if oracle.support_size is not None:
            return alone
        excess = oracle.support_variance / (oracle.p - oracle.q) ** 2
        # of a set of m values in a domain of k, as if there were k/m such sets
        size = oracle.oracle.k / oracle.members if isinstance(oracle, Marginal) else oracle.k
        return replace(alone, k=size, excess=float(excess))

    @classmethod
    def of_raw(cls, oracle: AnyLaw) -> WeightLaw:
        """Return the law of D alone, the estimator ``raw``, of a protocol or of sets."""
        if isinstance(oracle, UnevenSets):
            return cls._of_each(oracle, cls.of_raw)
        if isinstance(oracle, Marginal):
            return cls.of_sets(oracle)
        return cls.of_indicator(oracle.p, oracle.q)

    @classmethod
    def _of_each(cls, sets: UnevenSets, of: Callable[[Any], WeightLaw]) -> WeightLaw:
        sizes, places = np.unique(sets.sizes, return_inverse=True)
        laws = [of(sets.of_size(size)) for size in sizes.tolist()]
        numbers: dict[str, Any] = {
            field.name: np.array([getattr(law, field.name) for law in laws], np.float64)[places]
            for field in fields(cls)
        }
        return cls(**numbers | {"excess": laws[0].excess})

    @classmethod
    def of_indicator(cls, p: Fraction, q: Fraction) -> WeightLaw:
        """Return the law of D alone, the estimator ``raw``, for chances p and q of a 1."""
        at_match, elsewhere = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
        return cls(
            1,
            float(at_match),
            float(elsewhere),
            0.0,
            float(at_match * (1 - 2 * p) / (p - q)),
            float(elsewhere * (1 - 2 * q) / (p - q)),
        )

    @classmethod
    def of_sets(cls, sets: Marginal) -> WeightLaw:
        """Return the law of D_A alone, the sum of the D of a set's values.

        Weights follow from it as from that of values. Where the size of the support varies, its
        covariance with D_A is the variance of D_A.
        """
        gap, moments = sets.p - sets.q, sets.moments
        return cls(
            1,
            float(moments.at_match / gap**2),
            float(moments.elsewhere / gap**2),
            0.0,
            float(moments.third_at_match / gap**3),
            float(moments.third_elsewhere / gap**3),
        )

    @property
    def varies(self) -> bool:
        """Whether the size of the support varies, so that there is an excess to share."""
        return self.excess > 0

    @property
    def base(self) -> Moment:
        """Return E/V, the share of the excess that a category of frequency 0 takes."""
        return self.elsewhere / self.excess if self.varies else 0.0

    @property
    def slope(self) -> Moment:
        """Return (M - E)/V, by how much that share is larger for a category of frequency 1."""
        return (self.at_match - self.elsewhere) / self.excess if self.varies else 0.0

    def frequencies(self, debiased: Array) -> Array:
        """Return the estimates f64[..., k] from means of D over the records.

        They sum to 1 where the size of the support varies.
        """
        estimates: Array = debiased - self.excess_shares(debiased) * self.mean_excess(debiased)
        return estimates

    def excess_shares(self, debiased: Array) -> Array:
        """Return c, f64[..., k], at means of D; it sums to 1, or to 0 where T is 0."""
        if not self.varies:
            return np.zeros(debiased.shape)
        excess = self.mean_excess(debiased)
        under = 1.0 + self.slope * excess
        # Records that say nothing, such as hashes that all collide: every category is like another.
        enough = under > DEGENERATE
        frequency = (debiased - self.base * excess) / np.where(enough, under, 1.0)
        shares: Array = np.where(enough, self.shares_at(frequency), 1.0 / self.k)
        return shares

    def shares_at(self, frequency: Array) -> Array:
        """Return c, f64[...], of categories of these frequencies."""
        shares: Array = self.base + self.slope * frequency
        return shares

    def mean_excess(self, debiased: Array) -> Array:
        """Return the mean of T, f64[..., 1]; 0 where all supports have one size."""
        if not self.varies:
            return np.zeros((*debiased.shape[:-1], 1))
        excess: Array = debiased.sum(axis=-1, keepdims=True) - 1.0
        return excess

    def spread(self, share: Array, size: int = 1) -> Spread:
        """Return the moments of the weight of a category, or of a set of them.

        `share` is c of the category, or the sum of those of the set; `size`, its categories, is
        more than 1 only where the size of the support varies.
        """
        m, e, m3, e3 = self.at_match, self.elsewhere, self.third_at_match, self.third_elsewhere
        own, rest = 1.0 - share, share
        # Members of the set and the others enter W - E[W] with these factors, each independently.
        others = np.maximum(self.k - size, 0)
        return Spread(
            own**2 * (m + (size - 1) * e) + rest**2 * others * e,
            own**2 * size * e + rest**2 * (m + (others - 1) * e),
            own**3 * (m3 + (size - 1) * e3) - rest**3 * others * e3,
            own**3 * size * e3 - rest**3 * (m3 + (others - 1) * e3),
        )

    def variance_coefficients(self, size: int = 1) -> tuple[Moment, Moment, Moment]:
        """Return c0, c1 and c2: n times the variance of the estimate is c0 + c1 f + c2 f^2.

        It is f(1 - f) + h (V - h)/V with h = size E + f (M - E), the covariance of D and T.

        Parameters
        ----------
        size : int
            Categories whose estimates are added up; more than 1 only where the support varies.
        """
        at_none, step = size * self.elsewhere, self.at_match - self.elsewhere
        if not self.varies:
            return at_none, 1.0 + step, -1.0
        kept = 1.0 - at_none / self.excess
        return (
            at_none * kept,
            1.0 + step * (kept - at_none / self.excess),
            -1.0 - step * self.slope,
        )

    def third_moment(self, frequency: Array, size: int = 1) -> Array:
        """Return the third central moment of a row's weight at shares in [0, 1], f64[...]."""
        share = size * self.base + self.slope * frequency
        spread = self.spread(share, size)
        f, g = frequency, 1.0 - frequency
        third: Array = (
            f * (spread.third_at_match + 3 * g * spread.at_match + g**3)
            + g * (spread.third_elsewhere - 3 * f * spread.elsewhere - f**3)
        )  # fmt: skip
        return third


@dataclass(frozen=True, slots=True)
class Spread:
    """Central moments of a weight given the truth; its mean is 1 in the set and 0 elsewhere."""

    at_match: Array
    elsewhere: Array
    third_at_match: Array
    third_elsewhere: Array
