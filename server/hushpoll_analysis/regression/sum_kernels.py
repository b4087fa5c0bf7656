"""The loops over rows of a likelihood: what each record tells, and the products of scores."""

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
def multiply_whole(likely: Array, table: Array, places: Places) -> None:
    """Multiply f64[R, E] by the likelihoods f64[P, E] of each row's pattern."""
    for i in range(places.shape[0]):
        row, known = likely[i], table[places[i]]
        for e in range(row.shape[0]):
            row[e] *= known[e]


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
    chance = np.empty(combinations)
    for i in range(place.shape[0]):
        g = place[i]
        first = max(outcome[i], 0)
        total = 0.0
        for y in range(hidden):
            mine, known = joint[g, first + y], likely[i, y]
            for c in range(combinations):
                total += mine[c] * known[c]
        if not total > 0:
            return np.nan
        value += weight[i] * np.log(total)
        share = weight[i] / total
        for y in range(hidden):
            mine, known, sums = joint[g, first + y], likely[i, y], held[g, first + y]
            for c in range(combinations):
                chance[c] = share * mine[c] * known[c]
            for c in range(combinations):
                sums[c] += chance[c]
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
            mine, known, found = joint[g, start + y], likely[i, y], chance[y]
            for c in range(combinations):
                found[c] = mine[c] * known[c]
            for c in range(combinations):
                total += found[c]
        for m in range(predictors):
            pulled[:] = 0.0
            for y in range(hidden):
                for c in range(combinations):
                    pulled[c] += chance[y, c] * first[g, c, start + y, m]
            part = score[m * number : (m + 1) * number]
            part[:] = 0.0
            for c in range(combinations):
                scaled, kind = pulled[c] / total, kinds[c]
                for k in range(number):
                    part[k] += scaled * kind[k]
        free = predictors * number
        for c in range(1, combinations):
            within = 0.0
            for y in range(hidden):
                within += chance[y, c]
            score[free + c - 1] = within / total - center[g, c - 1]
        # views of one row each: their loops are without a check of each place
        upper = sums[g]
        for a in range(width):
            scaled, row, rest = weight[i] * score[a], upper[a, a:], score[a:]
            for b in range(width - a):
                row[b] += scaled * rest[b]
