"""Smoothed predictions: their chances, the certificate, the same decision for the same row."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_lab.certificates.smoothing import positive_chances, worst_case
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, UnsoundModel

NAMES = ("a", "b")


def design(rows: int = 3000, seed: int = 1) -> Design:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, 2))
    return Design(table, (table[:, 0] > 0).astype(np.int64), NAMES)


def smoothed(smoothing: float):
    learner = create_learner("smoothed-logistic", {"smoothing": smoothing})
    return learner.fit(design(), FitOptions(seed=2))


def test_chances_are_those_of_weights_with_noise() -> None:
    rng = np.random.default_rng(3)
    rows, weights = rng.normal(size=(6, 3)), np.array([1.0, -0.5, 0.2])
    chances = positive_chances(rows, weights, 0.7)
    draws = weights + 0.7 * rng.normal(size=(20_000, 3))
    assert chances == pytest.approx((draws @ rows.T > 0).mean(axis=0), abs=0.015)
    assert positive_chances(csr_matrix(rows), weights, 0.7) == pytest.approx(chances)


@pytest.mark.parametrize("deviation", [0.3, 1.0, 5.0])
def test_certificate_bounds_the_gap_of_any_two_groups_and_is_reached(deviation: float) -> None:
    weights = np.array([1.0, -2.0, 0.5])
    bound = worst_case(weights, deviation)
    along = positive_chances(np.array([weights, -weights]), weights, deviation)
    assert along[0] - along[1] == pytest.approx(bound)
    others = positive_chances(np.random.default_rng(4).normal(size=(2000, 3)), weights, deviation)
    assert others.max() - others.min() <= bound


def test_little_smoothing_changes_little_and_much_makes_predictions_coins() -> None:
    new = design(seed=5)
    accuracy = [
        np.mean((smoothed(smoothing).scores(new.table) > 0.5) == new.label)
        for smoothing in (1e-3, 1e4)
    ]
    assert accuracy[0] > 0.97
    assert 0.45 < accuracy[1] < 0.55
    model = smoothed(3.0)
    positive = model.scores(new.table) > 0.5
    for group in (new.label == 0, new.label == 1):
        assert positive[group].mean() == pytest.approx(
            model.chances(new.table)[group].mean(), abs=0.05
        )


def test_same_row_gets_the_same_decision_also_by_the_model_that_was_saved() -> None:
    model, new = smoothed(1.0), design(seed=6)
    scores = model.scores(new.table)
    again = model.learner.load(model.save(), NAMES)
    assert again.scores(csr_matrix(new.table)) == pytest.approx(scores)
    assert again.certificate == model.certificate
    with pytest.raises(UnsoundModel, match="no key of coins"):
        model.learner.load({**model.save(), "coins.json": b"{}"}, NAMES)
    short = json.dumps({"key": "00"}).encode()
    with pytest.raises(UnsoundModel, match="another length"):
        model.learner.load({**model.save(), "coins.json": short}, NAMES)


def test_logistic_regression_claims_nothing_and_its_baseline_is_not_smoothed() -> None:
    learner = create_learner("smoothed-logistic", {"smoothing": 100.0})
    assert learner.claim.epsilon is None
    plain = learner.without_privacy().fit(design(), FitOptions())
    assert np.mean((plain.scores(design(seed=7).table) > 0.5) == design(seed=7).label) > 0.97


def test_dpsgd_claims_what_the_learner_behind_claims() -> None:
    learner = create_learner("smoothed-dpsgd", {"epsilon": 2.0, "accountant": "rdp"})
    assert learner.claim == create_learner("dpsgd", {"epsilon": 2.0, "accountant": "rdp"}).claim
    assert learner.without_privacy().claim.epsilon is None
