"""The law of the weights by which a record counts in sets of categories, and their second moments.

An audit weighs a row in a set a of categories by W_a = sum over v in a of D_v - c_v T
(:mod:`hushpoll_protocols.estimation.weights`), which depends on the record through the numbers s_a
of supported categories in each set.

The law. Given the truth and whether it is supported, the other categories of each set are
independent draws (bits and hashes) or a sample without replacement (supports of a fixed size). Few
categories are enumerated, so the law is exact. Of many, a number has three points with the mean,
the variance and the fifth moment of the normal law, or, for independent draws, with the first five
moments of the binomial one (Gauss quadrature: Golub and Welsch, Mathematics of Computation 23,
1969).

The moments. Given the truth t, W_a has the mean [t in a], and

    Cov(W_a, W_b) = (C_ab - c_a C_b - c_b C_a + c_a c_b V)/(p - q)^2,

C_ab being the covariance of the supports' sizes in a and in b, C_a that with the whole support's
and V the variance of the latter. Bits are independent given the truth, and so are the hashes of two
categories; of records of fixed size T is 0 and c plays no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.weights import WeightLaw

POINTS = 3
"""How many of its values stand for a number that has more."""

Array = npt.NDArray[np.float64]
Point = tuple[tuple[float, ...], float]
"""Supported categories per set, and the probability."""


def weight_law(
    oracle: FrequencyOracle | None,
    sizes: Sequence[int],
    shares: Sequence[float],
    *,
    points: int = POINTS,
) -> list[tuple[Array, Array]]:
    """Return per true set the weights f64[m, sets] of m records, and their probabilities f64[m].

    `sizes` are the categories of each set, together all; `shares` are of the respondents whose
    answer is in each set. A number of independent draws with more values gets `points`, at least 2.
    """
    if oracle is None:
        return [(row[None, :], np.ones(1)) for row in np.eye(len(sizes))]
    laws = []
    for truth, size in enumerate(sizes):
        if not size:  # nobody's answer is there
            laws.append((np.zeros((1, len(sizes))), np.zeros(1)))
            continue
        found = list(_supports(oracle, sizes, truth, points))
        supported = np.array([counts for counts, _ in found])
        weights = weights_of_supports(oracle, sizes, shares, supported)
        laws.append((weights, np.array([chance for _, chance in found])))
    return laws


def weights_of_supports(
    oracle: FrequencyOracle, sizes: Sequence[int], shares: Sequence[float], supported: Array
) -> Array:
    """Return W_a f64[..., sets] of records by how many categories of each set they support."""
    q, gap = float(oracle.q), float(oracle.p - oracle.q)
    size = np.asarray(sizes, dtype=np.float64)
    debiased = (supported - size * q) / gap
    law = WeightLaw.of(oracle)
    if not law.varies:
        return np.asarray(debiased)
    c = law.base * size + law.slope * np.asarray(shares)
    excess = debiased.sum(axis=-1, keepdims=True) - 1.0
    return np.asarray(debiased - c * excess)


def _supports(
    oracle: FrequencyOracle, sizes: Sequence[int], truth: int, points: int
) -> Iterator[Point]:
    p, q = float(oracle.p), float(oracle.q)
    others = [size - (number == truth) for number, size in enumerate(sizes)]
    for kept, chance in ((1, p), (0, 1 - p)):
        if oracle.support_size is not None:
            rest = list(_without_replacement(oracle.support_size - kept, others))
        else:
            rest = list(_independent(others, q, points))
        for counts, part in rest:
            yield (
                tuple(count + kept * (number == truth) for number, count in enumerate(counts)),
                chance * part,
            )


def _independent(sizes: Sequence[int], q: float, points: int) -> Iterator[Point]:
    """Yield points of independent binomial numbers."""
    if not sizes:
        yield (), 1.0
        return
    for value, chance in binomial_points(sizes[0], q, points):
        for rest, part in _independent(sizes[1:], q, points):
            yield (value, *rest), chance * part


def binomial_points(size: int, q: float, points: int = POINTS) -> list[tuple[float, float]]:
    """Return values and chances with the first 2m - 1 moments of a binomial, for m points."""
    j = np.arange(min(size + 1, points))
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
            (float(inside), comb(size, inside) * comb(total - size, number - inside) / ways)
            for inside in range(least, most + 1)
        ]
    share = size / total
    mean = draws * share
    spread = mean * (1 - share) * (total - draws) / (total - 1)
    step = float(np.sqrt(3 * max(spread, 0.0)))
    return [(mean - step, 1 / 6), (mean, 2 / 3), (mean + step, 1 / 6)]


def weight_products(
    oracle: FrequencyOracle | None, sizes: Sequence[int], shares: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Return E[W_a W_b] given that the truth is in t, f64[t, a, b], for disjoint sets."""
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
