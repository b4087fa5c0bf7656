"""A lower bound on the epsilon of a mechanism, from many of its outputs on two neighbours."""

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import beta


def lower_bound(
    run: Callable[[bool, int], np.ndarray], runs: int, delta: float, confidence: float = 0.999
) -> float:
    """Return an epsilon that the mechanism spends at least, with this confidence.

    `run(neighbour, number)` returns what the mechanism publishes, as a vector. One half of the runs
    chooses a direction and a threshold that tell the neighbours apart; the other half judges.
    """
    outputs = np.array([[run(side, 2 * i + side) for i in range(runs)] for side in (False, True)])
    choosing, judging = np.split(outputs, 2, axis=1)
    moved = choosing[1].mean(axis=0) - choosing[0].mean(axis=0)
    # The best direction for normal outputs finds numbers whose noise is small or missing.
    within = np.mean([np.atleast_2d(np.cov(side.T)) for side in choosing], axis=0)
    ridge = 1e-9 * (np.trace(within) + moved @ moved) + 1e-30
    _, threshold, direction = max(
        (
            (*_threshold(choosing @ candidate, delta), candidate)
            for candidate in (moved, np.linalg.solve(within + ridge * np.eye(moved.size), moved))
        ),
        key=lambda choice: choice[0],
    )
    size = judging.shape[1]
    false, true = ((judging @ direction) > threshold).sum(axis=1)
    tail = (1 - confidence) / 2
    hit = beta.ppf(tail, true, size - true + 1) if true else 0.0
    miss = beta.isf(tail, false + 1, size - false) if false < size else 1.0
    return max(0.0, math.log((hit - delta) / miss)) if hit > delta else 0.0


def _threshold(values: np.ndarray, delta: float) -> tuple[float, float]:
    """Return how much likelier the row makes it to be above the best threshold, and that."""
    without, with_row = values
    floor = 4 / without.size

    def ratio(threshold: float) -> float:
        hit, miss = (np.mean(side > threshold) for side in (with_row, without))
        return float((hit - delta) / (miss + floor))

    best = max(np.quantile(values, np.linspace(0.01, 0.99, 99)), key=ratio)
    return ratio(best), float(best)
