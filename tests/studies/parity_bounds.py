"""What Algorithm 2 promises: statistical parity gap and changed predictions, before it runs.

Ghoukasian and Asoodeh, Theorem 3 (with high probability) and Proposition 4 (in expectation). Both
bounds are about the population that the post-processing rows were drawn from, for classifiers that
were not trained on these rows. Per group they add up the sampling error of its rate and the error
of its noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushpoll_lab.central.discrete_laplace import quantile
from hushpoll_protocols.errors import InvalidParameter

UTILITY_FACTOR = 2.5
"""Theorem 3 and Proposition 4: how much the bound on changes exceeds the one on the gap."""


def mean_size(epsilon: float) -> float:
    """Return E|X| = 1 / sinh(epsilon), which is below 1 / epsilon."""
    return 1 / math.sinh(epsilon)


@dataclass(frozen=True, slots=True)
class ParityBounds:
    """Bounds on the result of Algorithm 2.

    Attributes
    ----------
    gap : float
        On the statistical parity gap; 1 and above say nothing.
    excess_changes : float
        On the changed predictions, summed over both groups' shares, above the fewest that any
        classifier with the same gap needs.
    """

    gap: float
    excess_changes: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound on the gap is no better than knowing nothing."""
        return self.gap >= 1


def fewest_changes(alpha: float, beta: float, gap: float = 0.0) -> float:
    """Return the fewest changed predictions for a gap, summed over both groups (Proposition 1).

    Parameters
    ----------
    alpha, beta : float
        Shares of positive predictions in group 0 and group 1, in [0, 1].
    gap : float
        The statistical parity gap that is allowed, in [0, 1].
    """
    return max(0.0, abs(alpha - beta) - gap)


def bounds_with_probability(
    sizes: tuple[int, int], epsilons: tuple[float, float], failure: float = 0.01
) -> ParityBounds:
    """Return bounds that hold with probability at least 1 - failure (Theorem 3).

    The quantile of the noise is that of the discrete law, which is drawn, rather than
    log(4 / failure) / epsilon of the continuous one.

    Parameters
    ----------
    sizes : (int, int)
        Post-processing rows of group 0 and group 1, at least 1.
    epsilons : (float, float)
        Of the two rates; ``inf`` for a rate without noise.
    failure : float
        eta, in (0, 1): over the rows that are drawn and over the noise.

    Raises
    ------
    InvalidParameter
        If a size or the probability is outside its interval.
    """
    _check_sizes(sizes)
    if not 0 < failure < 1:
        raise InvalidParameter(f"failure is {failure}; it must lie in (0, 1)", field="failure")
    gap = 0.0
    for size, epsilon in zip(sizes, epsilons, strict=True):
        noise = 0 if math.isinf(epsilon) else quantile(epsilon, failure / 4)
        gap += noise / size + math.sqrt(math.log(8 / failure) / (2 * size))
    return ParityBounds(gap, UTILITY_FACTOR * gap)


def bounds_in_expectation(sizes: tuple[int, int], epsilons: tuple[float, float]) -> ParityBounds:
    """Return bounds on the expected gap and on the expected excess of changes (Proposition 4).

    The mean size of the discrete noise, 1 / sinh(epsilon), stands for the paper's 1 / epsilon,
    which is larger.
    """
    _check_sizes(sizes)
    gap = 0.0
    for size, epsilon in zip(sizes, epsilons, strict=True):
        noise = 0.0 if math.isinf(epsilon) else mean_size(epsilon)
        gap += noise / size + math.sqrt(1 / (4 * size))
    return ParityBounds(gap, UTILITY_FACTOR * gap)


def _check_sizes(sizes: tuple[int, int]) -> None:
    if min(sizes) < 1:
        raise InvalidParameter(
            f"the groups have {sizes[0]} and {sizes[1]} rows for post-processing; "
            "each needs at least 1",
            field="sizes",
        )
