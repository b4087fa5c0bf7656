"""The first three moments of what one record says of a score, by the law of its protocol.

Let a_v be numbers of the categories and A = sum over v of a_v W_v, with the weights W_v of the
record (:mod:`hushpoll_protocols.estimation.weights`). Given the truth t, the mean of A is a_t. Here
are E[A^2 | t] and E[A^3 | t], summed over a measure of truths. Both are polynomials in a_t, so they
need of the a_v their power sums alone, and of the measure its moments.

Where the size of the support varies, A = c + sum over v of b_v D_v with b_v = a_v - c and

    c = (E sum over v of a_v + (M - E) mean of a_t)/V,

and the D_v are independent given the truth: variances and third moments add up. Where every record
supports s categories, a_v is shifted so that the a_v sum to 0, and A is a sum over the support
divided by p - q, plus the shift. With N_j the chance that a record supports j given categories that
are not the truth, and Y_j that it supports the truth and j others, the expectations of products of
indicators are sums of these, and sums over different categories follow from power sums. It is the
same for a sample without replacement (Cochran, Sampling Techniques, 1977, chapter 2), of which
this is a mixture. An attribute in clear is the case s = 1, p = 1.

A category of a question in a block is a set of combinations, and its weight the sum of theirs. So A
is a sum over the block's combinations, each with the score of its category, and the power sums are
over combinations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import perm
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.weights import WeightLaw

Array = npt.NDArray[np.float64]
Sums: TypeAlias = tuple[Array, Array, Array]
"""Sums over all categories of a_v, of its square and of its cube."""
Measure: TypeAlias = tuple[Array, Array, Array, Array]
"""Mass of a measure of truths, and its integrals of a_t, of its square and of its cube."""


@dataclass(frozen=True, slots=True)
class RecordLaw:
    """The moments of A for one attribute."""

    k: int
    """Domain size, of combinations where the attribute is in a block with others."""
    law: WeightLaw
    square: tuple[float, float]
    """Where every record supports as many categories: coefficients of E[A^2 | t]; `cube` those of
    E[A^3 | t]."""
    cube: tuple[float, float, float]

    @classmethod
    def of(cls, oracle: FrequencyOracle | None, k: int) -> RecordLaw:
        """Return the law of a protocol, a block's for its questions; in clear of k categories."""
        law = WeightLaw.of(oracle)
        if oracle is None:
            return cls(k, law, (0.0, 1.0), (0.0, 0.0, 1.0))
        k = oracle.k
        size, p = oracle.support_size, oracle.p
        if size is None:
            return cls(k, law, (0.0, 0.0), (0.0, 0.0, 0.0))

        def chance(drawn: int, others: int) -> Fraction:
            """Return that a support has `others` given categories, `drawn` being no truth."""
            ways = perm(k - 1, others)
            return Fraction(perm(drawn, others), ways) if ways else Fraction(0)

        with_truth = [p * chance(size - 1, others) for others in range(4)]
        y1, y2 = with_truth[1:3]
        n1, n2, n3 = (with_truth[others] + (1 - p) * chance(size, others) for others in range(1, 4))
        gap = p - oracle.q
        square = (n1 - n2, p - n1 + 2 * n2 - 2 * y1)
        cube = (
            n1 - 3 * n2 + 2 * n3,
            3 * (n3 - n2 + y1 - y2),
            p - n1 + 6 * (n2 - n3 - y1 + y2),
        )
        return cls(
            k,
            law,
            (float(square[0] / gap**2), float(square[1] / gap**2)),
            (float(cube[0] / gap**3), float(cube[1] / gap**3), float(cube[2] / gap**3)),
        )

    def moments(
        self, sums: Sums, mean: Array, measures: Sequence[Measure]
    ) -> list[tuple[Array, Array]]:
        """Return E[A^2] and E[A^3] over each measure of truths.

        `sums` are three f64[...] of a_v, of a question in a block over its combinations; `mean` is
        that of a_t over the population, by which the excess is shared. Each measure has its own
        mass.
        """
        of_one = self._varying if self.law.varies else self._fixed
        return [of_one(sums, mean, measure) for measure in measures]

    def _varying(self, sums: Sums, mean: Array, measure: Measure) -> tuple[Array, Array]:
        law, (s1, s2, s3), (m0, m1, m2, m3) = self.law, sums, measure
        e, e3 = law.elsewhere, law.third_elsewhere
        step, step3 = law.at_match - e, law.third_at_match - e3
        c = law.base * s1 + law.slope * mean
        # b_v is summed over all categories, and over the truths
        squares = s2 - 2 * c * s1 + self.k * c**2
        cubes = s3 - 3 * c * s2 + 3 * c**2 * s1 - self.k * c**3
        b2 = m2 - 2 * c * m1 + c**2 * m0
        ab2 = m3 - 2 * c * m2 + c**2 * m1
        b3 = m3 - 3 * c * m2 + 3 * c**2 * m1 - c**3 * m0
        second = m2 + e * squares * m0 + step * b2
        third = m3 + 3 * (e * squares * m1 + step * ab2) + e3 * cubes * m0 + step3 * b3
        return np.asarray(second), np.asarray(third)

    def _fixed(self, sums: Sums, mean: Array, measure: Measure) -> tuple[Array, Array]:
        del mean
        (s1, s2, s3), (m0, m1, m2, m3) = sums, measure
        shift = s1 / self.k
        squares = s2 - shift * s1
        cubes = s3 - 3 * shift * s2 + 2 * shift**2 * s1
        a1 = m1 - shift * m0
        a2 = m2 - 2 * shift * m1 + shift**2 * m0
        a3 = m3 - 3 * shift * m2 + 3 * shift**2 * m1 - shift**3 * m0
        second = self.square[0] * squares * m0 + self.square[1] * a2
        third = self.cube[0] * cubes * m0 + self.cube[1] * squares * a1 + self.cube[2] * a3
        return (
            np.asarray(second + 2 * shift * a1 + shift**2 * m0),
            np.asarray(third + 3 * shift * second + 3 * shift**2 * a1 + shift**3 * m0),
        )
