"""The moments that an audit is expected to find in a population, and the error of a difference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import RATE_TERMS, TERMS
from hushpoll_analysis.estimates.weight_law import weight_products
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]


def difference_error(published: Published, n: int, population: Array, metric: str) -> float:
    """Return the standard error of a difference that is expected of n respondents.

    Parameters
    ----------
    published, n
        A survey with a protected attribute, and its respondents.
    population : f64[2, 2, 2]
        Shares by group, label and prediction, summing to 1.
    metric : str
        A difference of one rate, such as ``SPD``.

    Raises
    ------
    InvalidParameter
        If n is below 1, or there is no protected attribute.
    """
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
    mean, second = expected_moments(published, population)
    numerator, denominator = RATE_TERMS[METRICS[metric].rates[0].name]
    influence = np.zeros(TERMS)
    for group, sign in ((0, -1.0), (1, 1.0)):
        own = slice(4 * group, 4 * group + 4)
        weight, top = float(mean[own] @ denominator), float(mean[own] @ numerator)
        influence[own] = sign * (numerator - top / weight * denominator) / weight
    return float(np.sqrt(influence @ second @ influence / n))


def expected_moments(published: Published, population: Array) -> tuple[Array, Array]:
    """Return the expected means f64[8] of an audit's terms and of their products f64[8, 8].

    Raises
    ------
    InvalidParameter
        If the survey has no protected attribute.
    """
    protected, target = published.protected, published.target
    if protected is None:
        raise InvalidParameter(
            f"survey {published.name} declares no protected attribute, so there is nothing to "
            "audit; declare one",
            field="protected",
        )
    groups = weight_products(
        published.attribute(protected.attribute).oracle,
        [len(protected.unprivileged), len(protected.privileged)],
        population.sum(axis=(1, 2)),
    )
    labels = weight_products(None, [1, 1], [0.5, 0.5])
    if target is not None and target.positive is not None:
        sizes = [len(target.categories) - 1, 1]
        labels = weight_products(target.oracle, sizes, population.sum(axis=(0, 2)))
    # Terms of a group: y, 1 - y, yhat y, yhat (1 - y).
    group = np.repeat([0, 1], TERMS // 2)
    label = np.tile([1, 0, 1, 0], 2)
    chosen = np.tile([False, False, True, True], 2)
    mean, second = np.zeros(TERMS), np.zeros((TERMS, TERMS))
    for (g, y, predicted), share in np.ndenumerate(population):
        counted = np.where(chosen, predicted, 1)
        mean += share * counted * (group == g) * (label == y)
        second += (
            share
            * np.outer(counted, counted)
            * groups[g][np.ix_(group, group)]
            * labels[y][np.ix_(label, label)]
        )
    return mean, second
