"""The bootstrap beside SciPy's, and how often it covers."""

import math

import numpy as np
import pytest
from scipy import stats

from hushpoll_analysis.metrics import GroupCounts
from hushpoll_shared.group_metrics import RATES
from hushpoll_training.evaluation.fairness.bootstrap import bca, resample


def test_bca_is_scipys():
    rng = np.random.default_rng(3)
    rows = [rng.random(60) < 0.2, rng.random(45) < 0.5]
    cells = [[0, 0, len(one) - one.sum(), one.sum()] for one in rows]
    counts = GroupCounts(np.array(cells))

    def ours(found):
        rate = found.rate(RATES["P"])
        return np.stack([rate[..., 1] - rate[..., 0], rate[..., 0]], axis=-1)

    drawn = resample(counts, 20_000, np.random.default_rng(1))
    lower, upper = bca(counts, drawn, ours, 0.95)
    for at, (samples, statistic) in enumerate(
        (
            (rows, lambda a, b, axis: b.mean(axis=axis) - a.mean(axis=axis)),
            (rows[:1], lambda a, axis: a.mean(axis=axis)),
        )
    ):
        expected = stats.bootstrap(
            [one.astype(float) for one in samples],
            statistic,
            n_resamples=20_000,
            method="BCa",
            rng=np.random.default_rng(2),
            vectorized=True,
        ).confidence_interval
        # quantiles of 20,000 draws, on a lattice of 1/60
        assert lower[at] == pytest.approx(expected.low, abs=0.018)
        assert upper[at] == pytest.approx(expected.high, abs=0.018)


CELLS = np.array([[0.45, 0.15, 0.12, 0.28], [0.55, 0.10, 0.20, 0.15], [0.60, 0.20, 0.10, 0.10]])
TRUTH = GroupCounts((CELLS * 100).round().astype(np.int64))
SIZES = (150, 220, 400)


def test_the_bootstrap_covers_nearly_as_often_as_it_says():
    true = TRUTH.rate(RATES["P"])[1:] / TRUTH.rate(RATES["P"])[0]

    def compared(counts):
        rate = counts.rate(RATES["P"])
        return rate[..., 1:] / rate[..., :1]

    hits = np.zeros(2)
    rng = np.random.default_rng(5)
    some = 400
    drawn = [rng.multinomial(n, p, size=some) for n, p in zip(SIZES, CELLS, strict=True)]
    for cells in np.stack(drawn, axis=1):
        counts = GroupCounts(cells)
        lower, upper = bca(counts, resample(counts, 400, rng), compared, 0.95)
        hits += (lower <= true) & (true <= upper)
    assert (np.abs(hits / some - 0.95) < 3 * math.sqrt(0.95 * 0.05 / some) + 0.01).all()
