"""A lower bound on the epsilon of a mechanism, from many of its outputs on two neighbours."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
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
            (*_threshold(choosing @ candidate, delta, confidence), candidate)
            for candidate in (moved, np.linalg.solve(within + ridge * np.eye(moved.size), moved))
        ),
        key=lambda choice: choice[0],
    )
    hits = ((judging @ direction) > threshold).sum(axis=1)
    return float(_bound(hits[1], hits[0], judging.shape[1], delta, confidence))


def _threshold(
    values: np.ndarray, delta: float, confidence: float
) -> tuple[tuple[float, float], float]:
    """Return what the best threshold would prove, and it; where nothing, its ratio of chances."""
    without, with_row = values
    size = without.size
    thresholds = np.quantile(values, np.linspace(0.01, 0.99, 99))
    false, true = ((side[:, None] > thresholds).sum(axis=0) for side in (without, with_row))
    proofs = _bound(true, false, size, delta, confidence)
    ratios = (true / size - delta) / (false / size + 4 / size)
    best = max(range(thresholds.size), key=lambda number: (proofs[number], ratios[number]))
    return (float(proofs[best]), float(ratios[best])), float(thresholds[best])


def _bound(
    true: npt.ArrayLike, false: npt.ArrayLike, size: int, delta: float, confidence: float
) -> np.ndarray:
    """Return the epsilon that so many hits and false hits of `size` each prove, at least 0."""
    tail = (1 - confidence) / 2
    true, false = np.asarray(true), np.asarray(false)
    hit = np.where(true > 0, beta.ppf(tail, np.maximum(true, 1), size - true + 1), 0.0)
    miss = np.where(false < size, beta.isf(tail, false + 1, np.maximum(size - false, 1)), 1.0)
    return np.log(np.maximum((hit - delta) / miss, 1.0))
