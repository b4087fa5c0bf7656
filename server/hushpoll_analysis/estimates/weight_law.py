"""The law of the weights by which a record counts in sets of categories, as a few weighted points.

An audit weighs a row in a set a of categories by W_a = sum over v in a of D_v - c_v T
(:mod:`hushpoll_analysis.auditing.weights`), which depends on the record through the numbers s_a of
supported categories in each set. Given the truth and whether it is supported, the other categories
of each set are independent draws (bits and hashes) or a sample without replacement (supports of a
fixed size). Few categories are enumerated, so the law is exact. Of many, a number has three points
with the mean, the variance and the fifth moment of the normal law, or, for independent draws, with
the first five moments of the binomial one (Gauss quadrature: Golub and Welsch, Mathematics of
Computation 23, 1969).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.weights import WeightLaw

POINTS = 3
"""Of a number that has more values."""

Array = npt.NDArray[np.float64]
Point = tuple[tuple[float, ...], float]
"""Supported categories per set, and the probability."""


def weight_law(
    oracle: FrequencyOracle | None, sizes: Sequence[int], shares: Sequence[float]
) -> list[tuple[Array, Array]]:
    """Return per true set the weights f64[m, sets] of m records, and their probabilities f64[m].

    Parameters
    ----------
    oracle : FrequencyOracle or None
        Of the attribute; None in clear.
    sizes : sequence of int
        Categories of each set, at least 1; together all categories.
    shares : sequence of float
        Of the respondents whose answer is in each set, summing to 1.
    """
    if oracle is None:
        return [(row[None, :], np.ones(1)) for row in np.eye(len(sizes))]
    found = []
    for truth in range(len(sizes)):
        points = list(_supports(oracle, sizes, truth))
        supported = np.array([counts for counts, _ in points])
        weights = weights_of_supports(oracle, sizes, shares, supported)
        found.append((weights, np.array([chance for _, chance in points])))
    return found


def weights_of_supports(
    oracle: FrequencyOracle, sizes: Sequence[int], shares: Sequence[float], supported: Array
) -> Array:
    """Return W_a f64[..., sets] of records by how many categories of each set they support.

    Parameters
    ----------
    oracle, sizes, shares
        See :func:`weight_law`.
    supported : f64[..., sets]
        Numbers of supported categories.
    """
    q, gap = float(oracle.q), float(oracle.p - oracle.q)
    size = np.asarray(sizes, dtype=np.float64)
    debiased = (supported - size * q) / gap
    law = WeightLaw.of(oracle)
    if not law.varies:
        return np.asarray(debiased)
    c = law.base * size + law.slope * np.asarray(shares)
    excess = debiased.sum(axis=-1, keepdims=True) - 1.0
    return np.asarray(debiased - c * excess)


def _supports(oracle: FrequencyOracle, sizes: Sequence[int], truth: int) -> Iterator[Point]:
    p, q = float(oracle.p), float(oracle.q)
    others = [size - (number == truth) for number, size in enumerate(sizes)]
    for kept, chance in ((1, p), (0, 1 - p)):
        if oracle.support_size is not None:
            rest = list(_without_replacement(oracle.support_size - kept, others))
        else:
            rest = list(_independent(others, q))
        for counts, part in rest:
            yield (
                tuple(one + kept * (number == truth) for number, one in enumerate(counts)),
                chance * part,
            )


def _independent(sizes: Sequence[int], q: float) -> Iterator[Point]:
    """Yield points of independent binomial numbers."""
    if not sizes:
        yield (), 1.0
        return
    for value, chance in _binomial(sizes[0], q):
        for rest, part in _independent(sizes[1:], q):
            yield (value, *rest), chance * part


def _binomial(size: int, q: float) -> list[tuple[float, float]]:
    """Return points with the first five moments of a binomial number; of a small one, its law."""
    points = min(size + 1, POINTS)
    j = np.arange(points)
    # the recurrence of Krawtchouk's polynomials as a tridiagonal matrix
    matrix = np.diag(q * (size - j) + j * (1 - q))
    beside = np.sqrt(j[1:] * q * (1 - q) * (size - j[1:] + 1))
    values, vectors = np.linalg.eigh(matrix + np.diag(beside, 1) + np.diag(beside, -1))
    return list(zip(values.tolist(), np.square(vectors[0]).tolist(), strict=True))


def _without_replacement(draws: float, sizes: Sequence[int]) -> Iterator[Point]:
    """Yield points of the numbers drawn from each set."""
    if len(sizes) == 1:
        yield (float(draws),), 1.0
        return
    for value, chance in _hypergeometric(draws, sizes[0], sum(sizes)):
        for rest, part in _without_replacement(draws - value, sizes[1:]):
            yield (value, *rest), chance * part


def _hypergeometric(draws: float, size: int, total: int) -> list[tuple[float, float]]:
    """Return points of how many of `draws` of `total` categories are among `size` of them."""
    number = round(draws)
    least, most = max(0, number - (total - size)), min(number, size)
    if abs(draws - number) < 1e-9 and most - least < POINTS + 1:
        ways = comb(total, number)
        return [
            (float(one), comb(size, one) * comb(total - size, number - one) / ways)
            for one in range(least, most + 1)
        ]
    share = size / total
    mean = draws * share
    spread = mean * (1 - share) * (total - draws) / (total - 1)
    step = float(np.sqrt(3 * max(spread, 0.0)))
    return [(mean - step, 1 / 6), (mean, 2 / 3), (mean + step, 1 / 6)]
