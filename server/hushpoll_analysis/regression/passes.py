"""The passes over rows that a likelihood repeats; it loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.compilation import njit

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@njit
def multiply(
    likely: Array, table: npt.NDArray[Any], places: Places, codes: Places, low: float, rise: float
) -> None:
    """Multiply f64[R, Y, C] by a unit's likelihoods of its answers, int64[Y, C], in each row."""
    for i in range(places.shape[0]):
        pattern = places[i]
        for y in range(codes.shape[0]):
            for c in range(codes.shape[1]):
                likely[i, y, c] *= low + rise * table[pattern, codes[y, c]]


@njit
def hold(
    place: Places,
    outcome: Places,
    likely: Array,
    joint: Array,
    weight: Array,
    held: Array,
) -> float:
    """Add the chances of what each row hides to f64[g, Y, C]; return the log-likelihood.

    The outcome is -1 where it is perturbed. NaN: a row has no chance.
    """
    value = 0.0
    hidden, combinations = likely.shape[1], likely.shape[2]
    for i in range(place.shape[0]):
        g = place[i]
        first = max(outcome[i], 0)
        total = 0.0
        for y in range(hidden):
            for c in range(combinations):
                total += joint[g, first + y, c] * likely[i, y, c]
        if not total > 0:
            return np.nan
        value += weight[i] * np.log(total)
        share = weight[i] / total
        for y in range(hidden):
            for c in range(combinations):
                held[g, first + y, c] += share * joint[g, first + y, c] * likely[i, y, c]
    return value


@njit
def products(
    place: Places,
    outcome: Places,
    likely: Array,
    joint: Array,
    first: Array,
    kinds: Array,
    center: Array,
    weight: Array,
    sums: Array,
) -> None:
    """Add the products of the rows' expected scores to the upper triangles of f64[g, W, W].

    A score has, for each linear predictor m and each kind k of a column, the sum over combinations
    of chance, slope f64[g, C, Y, M] and kind f64[C, D]; then the chance of each combination but the
    first, less its center.
    """
    hidden, combinations = likely.shape[1], likely.shape[2]
    predictors, number = first.shape[3], kinds.shape[1]
    width = sums.shape[1]
    chance = np.empty((hidden, combinations))
    pulled = np.empty(combinations)
    score = np.empty(width)
    for i in range(place.shape[0]):
        g = place[i]
        start = max(outcome[i], 0)
        total = 0.0
        for y in range(hidden):
            for c in range(combinations):
                chance[y, c] = joint[g, start + y, c] * likely[i, y, c]
                total += chance[y, c]
        for m in range(predictors):
            for c in range(combinations):
                pulled[c] = 0.0
            for y in range(hidden):
                for c in range(combinations):
                    pulled[c] += chance[y, c] * first[g, c, start + y, m]
            for k in range(number):
                score[m * number + k] = 0.0
            for c in range(combinations):
                part = pulled[c] / total
                for k in range(number):
                    score[m * number + k] += part * kinds[c, k]
        free = predictors * number
        for c in range(1, combinations):
            within = 0.0
            for y in range(hidden):
                within += chance[y, c]
            score[free + c - 1] = within / total - center[g, c - 1]
        for a in range(width):
            scaled = weight[i] * score[a]
            for b in range(a, width):
                sums[g, a, b] += scaled * score[b]
