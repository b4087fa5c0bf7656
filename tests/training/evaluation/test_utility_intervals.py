"""Intervals of utility: exact where a formula gives them, and they cover."""

import math

import numpy as np
import pytest
from scipy import stats

from hushpoll_training.evaluation.evaluation import ScoredRows
from hushpoll_training.evaluation.metrics import UTILITY, measure
from hushpoll_training.evaluation.utility_intervals import utility_intervals


def scored(label, predicted, raw=None):
    label, predicted = np.asarray(label, np.int64), np.asarray(predicted, np.int64)
    raw = predicted.astype(float) if raw is None else np.asarray(raw, float)
    return ScoredRows(label, predicted, raw, {})


def drawn(rng, n=300):
    label = (rng.random(n) < 0.35).astype(np.int64)
    raw = rng.normal(size=n) + 1.2 * label
    return scored(label, raw > 0.8, raw)


def test_proportions_are_wilsons_and_f1_is_a_mapped_one():
    # TN 40, FP 10, FN 20, TP 30
    label = [0] * 50 + [1] * 50
    predicted = [0] * 40 + [1] * 10 + [0] * 20 + [1] * 30
    found = utility_intervals(scored(label, predicted))
    assert list(found) == list(UTILITY)

    def wilson(hits, rows):
        interval = stats.binomtest(hits, rows).proportion_ci(method="wilson")
        return interval.low, interval.high

    assert tuple(found["accuracy"].values()) == pytest.approx(wilson(70, 100))
    assert tuple(found["recall"].values()) == pytest.approx(wilson(30, 50))
    jaccard = wilson(30, 60)
    assert tuple(found["f1"].values()) == pytest.approx([2 * j / (1 + j) for j in jaccard])
    assert found["balanced_acc"]["lower"] < 0.7 < found["balanced_acc"]["upper"]


def test_they_cover():
    rng = np.random.default_rng(2)
    # F(0.8) of the two normal laws, and P(X1 > X0) of a difference with variance 2
    missed, kept = stats.norm.cdf(0.8 - 1.2), stats.norm.cdf(0.8)
    recall, fallout = 1 - missed, 1 - kept
    truth = {
        "accuracy": 0.35 * recall + 0.65 * kept,
        "f1": 2 * 0.35 * recall / (0.35 * recall + 0.65 * fallout + 0.35),
        "roc_auc": stats.norm.cdf(1.2 / math.sqrt(2)),
        "balanced_acc": (recall + kept) / 2,
        "recall": recall,
    }
    surveys = 800
    hits = dict.fromkeys(truth, 0)
    for _ in range(surveys):
        found = utility_intervals(drawn(rng))
        for name, value in truth.items():
            hits[name] += found[name]["lower"] <= value <= found[name]["upper"]
    slack = 3 * math.sqrt(0.95 * 0.05 / surveys)
    for name, number in hits.items():
        assert number / surveys == pytest.approx(0.95, abs=slack), name


def test_the_metric_lies_inside():
    rng = np.random.default_rng(4)
    one = drawn(rng)
    metrics = measure(one.label, one.predicted, one.raw, None)
    for name, limits in utility_intervals(one).items():
        assert limits["lower"] < metrics[name].number() < limits["upper"]


def test_what_is_undefined_has_no_interval_and_certainty_has_one():
    found = utility_intervals(scored([0, 0, 0], [0, 0, 0]))
    assert [name for name, limits in found.items() if limits is None] == [
        "f1",
        "roc_auc",
        "balanced_acc",
        "recall",
    ]
    perfect = utility_intervals(scored([0] * 9 + [1] * 5, [0] * 9 + [1] * 5))
    assert perfect["roc_auc"]["upper"] == 1.0
    assert 0.4 < perfect["roc_auc"]["lower"] < 0.8
