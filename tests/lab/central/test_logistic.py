"""Penalised logistic regression: the minimiser, how far one row moves it, and its noise."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from black_box_audit import lower_bound
from hushpoll_lab.central.gaussian import gaussian_sigma
from hushpoll_lab.central.logistic import (
    MOST_OFF_BY,
    Minimiser,
    minimise,
    perturb_output,
    sensitivity,
)
from hushpoll_lab.learners.output_perturbation import bounded, with_constant
from hushpoll_protocols.errors import InvalidParameter


def sample(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, columns))
    features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True))
    label = (features @ rng.normal(size=columns) + rng.normal(size=rows) > 0).astype(np.int64)
    return features, label


@pytest.mark.parametrize("penalty", [1.0, 0.01, 1e-5])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_minimiser_is_scikit_learns(penalty: float, form: type) -> None:
    rows, label = sample(400, 6, 1)
    ours = minimise(form(rows), label, penalty)
    theirs = LogisticRegression(
        C=1 / (penalty * 400), fit_intercept=False, tol=1e-12, max_iter=10_000
    ).fit(rows, label)
    assert ours.off_by < 1e-8
    assert ours.weights == pytest.approx(theirs.coef_[0], rel=1e-4, abs=1e-5)


def test_error_of_the_minimiser_is_bounded_as_said() -> None:
    rows, label = sample(300, 5, 2)
    exact = minimise(rows, label, 0.02, tolerance=1e-12).weights
    for tolerance in (1e-1, 1e-3, 1e-6):
        rough = minimise(rows, label, 0.02, tolerance=tolerance)
        assert np.linalg.norm(rough.weights - exact) <= rough.off_by + 1e-11


def test_one_class_alone_has_a_minimiser_too() -> None:
    rows, _ = sample(50, 3, 3)
    assert np.isfinite(minimise(rows, np.ones(50, np.int64), 0.1).weights).all()


@pytest.mark.parametrize("radius", [2.0, 30.0, 1000.0])
@pytest.mark.parametrize("rows", [1, 50])
def test_minimiser_is_known_well_enough_whatever_the_rows(rows: int, radius: float) -> None:
    """Guards: for some rows, steps of rounding size were taken until the learner refused."""
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e4):
        drawn = rng.normal(size=(rows, 4))
        table = with_constant(bounded(drawn * scale, math.sqrt(radius**2 - 1)))
        labels = (np.ones(rows), drawn[:, 0] > 0, rng.random(rows) < 0.5, np.arange(rows) == 0)
        for label in labels:
            assert minimise(table, label.astype(np.int64), 1e-6).off_by < MOST_OFF_BY / 10


def test_one_replaced_row_moves_the_weights_by_at_most_the_sensitivity() -> None:
    """Rows of length 1 that all point the same way are the worst case; others move it less."""
    rng = np.random.default_rng(4)
    largest = 0.0
    for seed in range(40):
        rows, label = sample(30, 3, seed)
        rows[0] = [1.0, 0.0, 0.0]
        label[0] = 1
        other, other_label = rows.copy(), label.copy()
        other[0] = rng.normal(size=3)
        other[0] /= np.linalg.norm(other[0])
        other_label[0] = seed % 2
        moved = np.linalg.norm(
            minimise(rows, label, 1.0).weights - minimise(other, other_label, 1.0).weights
        )
        largest = max(largest, moved / sensitivity(30, 1.0, 1.0))
    assert 0.2 < largest <= 1


def test_noise_has_the_deviation_of_the_analytic_mechanism() -> None:
    rng = np.random.default_rng(5)
    minimiser = Minimiser(np.zeros(20_000), 0.0)
    private = perturb_output(
        minimiser, count=100, penalty=0.5, radius=2.0, epsilon=1.0, delta=1e-5, rng=rng
    )
    moved = 2 * 2 / (0.5 * 100) + 2 * MOST_OFF_BY
    assert private.sigma == pytest.approx(gaussian_sigma(1.0, 1e-5, moved), rel=1e-9)
    assert private.weights.std() == pytest.approx(private.sigma, rel=0.03)


def test_minimiser_that_is_not_known_well_gets_no_noise() -> None:
    """The noise does not depend on how far off a minimiser is, so it must not be far off."""
    with pytest.raises(InvalidParameter, match="minimise with a smaller tolerance"):
        perturb_output(
            Minimiser(np.zeros(2), 1e-5), count=100, penalty=0.5, radius=2.0, epsilon=1.0,
            delta=1e-5, rng=np.random.default_rng(1),
        )  # fmt: skip


@pytest.mark.parametrize("penalty", [0, -1, float("inf"), float("nan")])
def test_penalty_outside_its_interval_is_refused(penalty: float) -> None:
    with pytest.raises(InvalidParameter, match="it must be positive and finite"):
        minimise(*sample(10, 2, 6), penalty)


def test_penalty_too_small_for_the_minimiser_to_be_known_is_refused() -> None:
    rows, _ = sample(20, 2, 7)
    label = (rows[:, 0] > 0).astype(np.int64)
    with pytest.raises(InvalidParameter, match="Use a larger penalty"):
        minimise(rows, label, 1e-300)


EPSILON, DELTA, RUNS = 1.0, 1e-2, 1_000


def audited(runs: int, *, rows_claimed: int = 10, quiet: int = 0) -> float:
    """Tell a replaced row from another; noise can be for more rows, or leave weights out."""
    few = np.tile([1.0, 0.0], (10, 1))
    label = np.ones(10, np.int64)
    other = label.copy()
    other[0] = 0
    minimisers = [minimise(few, chosen, 1.0) for chosen in (label, other)]

    def run(neighbour: bool, number: int) -> np.ndarray:
        weights = perturb_output(
            minimisers[neighbour], count=rows_claimed, penalty=1.0, radius=1.0, epsilon=EPSILON,
            delta=DELTA, rng=np.random.default_rng(number),
        ).weights  # fmt: skip
        weights[:quiet] = minimisers[neighbour].weights[:quiet]
        return weights

    return lower_bound(run, runs, DELTA)


SIZES = [RUNS, pytest.param(10_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", SIZES)
def test_black_box_bound_is_below_the_claim(runs: int) -> None:
    assert audited(runs) < EPSILON


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_noise_for_a_smaller_sensitivity(runs: int) -> None:
    """A planted fault: the noise of ten times as many rows."""
    assert audited(runs, rows_claimed=100) > EPSILON


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_a_weight_without_noise(runs: int) -> None:
    """A planted fault: the first weight is published as it is."""
    assert audited(runs, quiet=1) > EPSILON
