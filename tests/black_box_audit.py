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
    direction = choosing[1].mean(axis=0) - choosing[0].mean(axis=0)
    without, with_row = choosing @ direction
    thresholds = np.quantile(np.concatenate([without, with_row]), np.linspace(0.01, 0.99, 99))
    floor = 4 / choosing.shape[1]
    threshold = max(
        thresholds,
        key=lambda t: (np.mean(with_row > t) - delta) / (np.mean(without > t) + floor),
    )
    size = judging.shape[1]
    false, true = ((judging @ direction) > threshold).sum(axis=1)
    tail = (1 - confidence) / 2
    hit = beta.ppf(tail, true, size - true + 1) if true else 0.0
    miss = beta.isf(tail, false + 1, size - false) if false < size else 1.0
    return max(0.0, math.log((hit - delta) / miss)) if hit > delta else 0.0
