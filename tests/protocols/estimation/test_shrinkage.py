"""Shrunk frequencies: positive, summing to one, nearer to the truth than the projected ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_protocols import PROTOCOLS, InvalidParameter, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_protocols.kernels import perturb, support_counts

N = 20_000


def _zipf(k: int) -> np.ndarray:
    share = 1 / np.arange(1, k + 1)
    return share / share.sum()


def _one_large(k: int) -> np.ndarray:
    share = np.full(k, 0.1 / (k - 1))
    share[k // 3] = 0.9
    return share


def _distance(truth: np.ndarray, frequencies: np.ndarray) -> float:
    """Kullback and Leibler's divergence in nats; what is 0 counts as 1e-12."""
    return float(truth @ np.log(truth / np.maximum(frequencies, 1e-12)))


@pytest.mark.parametrize("population", [_zipf, _one_large])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_shrunk_frequencies_are_nearer_to_the_truth_than_projected_ones(
    name: str, epsilon: str, population: Callable[[int], np.ndarray]
) -> None:
    truth = population(60)
    rng = np.random.default_rng(8)
    oracle = create(name, k=60, epsilon=epsilon)
    values = rng.choice(60, size=N, p=truth)
    counts = support_counts(oracle, perturb(oracle, values, rng))
    frequencies = shrunk(counts, N, p=oracle.p, q=oracle.q)
    projected = project_simplex(estimate(oracle, counts, N).frequency)
    assert frequencies.min() > 0
    assert frequencies.sum() == pytest.approx(1)
    assert _distance(truth, frequencies) < _distance(truth, projected) / 2


@pytest.mark.parametrize("name", ["GRR", "OLH", "OUE"])
@pytest.mark.parametrize("ratio", [0.9, 0.7])
def test_steep_populations_have_no_more_error_than_projected_or_unbiased_ones(
    name: str, ratio: float
) -> None:
    """The free distribution alone drew together what differs: 1.1 to 1.3 times as much."""
    truth = ratio ** np.arange(74)
    truth /= truth.sum()
    oracle = create(name, k=74, epsilon="4")
    errors = np.zeros(3)
    for seed in range(12):
        rng = np.random.default_rng([9, seed])
        counts = support_counts(oracle, perturb(oracle, rng.choice(74, 10_000, p=truth), rng))
        unbiased = estimate(oracle, counts, 10_000).frequency
        found = (shrunk(counts, 10_000, p=oracle.p, q=oracle.q), unbiased)
        errors += [np.square(one - truth).sum() for one in (*found, project_simplex(unbiased))]
    assert errors[0] <= 1.03 * min(errors[1:])


@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_information_gives_equal_shares(name: str) -> None:
    oracle = create(name, k=30, epsilon="0.000001")
    values = np.zeros(500, np.int64)
    counts = support_counts(oracle, perturb(oracle, values, np.random.default_rng(2)))
    assert shrunk(counts, 500, p=oracle.p, q=oracle.q) == pytest.approx(1 / 30, rel=1e-3)


def test_clear_counts_stay_but_for_absent_categories() -> None:
    counts = np.array([700, 200, 90, 10, 0, 0])
    frequencies = shrunk(counts, 1000, p=1, q=0)
    assert frequencies == pytest.approx(counts / 1000, abs=0.02)
    assert 0 < frequencies[4] == frequencies[5] < 0.001


def test_order_of_categories_does_not_matter() -> None:
    counts = np.array([5, 80, 33, 33, 60, 12])
    turned = shrunk(counts[::-1], 100, p=Fraction(3, 4), q=Fraction(1, 4))
    assert turned[::-1] == pytest.approx(shrunk(counts, 100, p=0.75, q=0.25), rel=1e-12)


@pytest.mark.parametrize(
    ("count", "n", "p", "q", "field"),
    [
        ([1, 2], 0, 1, 0, "n"),
        ([1, 12], 10, 1, 0, "count"),
        ([-1, 2], 10, 1, 0, "count"),
        ([], 10, 1, 0, "count"),
        ([[1, 2]], 10, 1, 0, "count"),
        ([0.5, 0.5], 10, 1, 0, "count"),
        ([1, 2], 10, 0.25, 0.25, "p"),
        ([1, 2], 10, 1.5, 0.25, "p"),
    ],
)
def test_wrong_arguments_are_refused_by_name(
    count: list[float], n: int, p: float, q: float, field: str
) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        shrunk(np.array(count), n, p=p, q=q)
    assert refusal.value.field == field
