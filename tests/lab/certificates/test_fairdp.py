"""The formulas of FairDP's certificates, without the training."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hushpoll_lab.central.fairdp import LastStep
from hushpoll_lab.certificates.fairdp import (
    empirical,
    monte_carlo_error,
    positive_chances,
    worst_case,
)
from hushpoll_protocols.errors import InvalidParameter

STEP = LastStep(
    before=np.array([0.2, -0.1]), gradient=np.array([0.05, 0.4]), batch_rows=4, groups=2,
    learning_rate=1.0, noise_multiplier=3.0, clip=0.2, last_layer_norm=0.3,
)  # fmt: skip


def test_worst_case_is_equation_8() -> None:
    numerator = (0.3 * 2 + 1.0 * 4 * 0.2) * math.sqrt(2)
    assert worst_case(STEP) == pytest.approx(
        math.erf(numerator / (2 * 1.0 * 3.0 * 0.2 * math.sqrt(2)))
    )


def test_worst_case_bounds_every_row_for_any_direction_of_the_weights() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        before, gradient = rng.normal(size=(2, 2))
        step = replace(
            STEP,
            before=before / np.linalg.norm(before) * 0.3,
            gradient=gradient / np.linalg.norm(gradient) * 4 * 0.2 / 2,
        )
        chances = positive_chances(step, np.abs(rng.normal(size=(50, 2))))
        assert chances.max() - chances.min() <= worst_case(step)


def test_chance_of_a_row_is_equation_5() -> None:
    hidden = np.array([[1.0, 2.0]])
    inner = float(hidden[0] @ (STEP.before - STEP.gradient))
    spread = math.sqrt(5) * 3.0 * 0.2 * math.sqrt(2 / 2)
    assert positive_chances(STEP, hidden)[0] == pytest.approx(0.5 + 0.5 * math.erf(inner / spread))


def test_row_without_hidden_values_is_never_positive() -> None:
    assert positive_chances(STEP, np.zeros((1, 2)))[0] == 0


def test_empirical_certificate_takes_the_widest_pair_of_groups_and_labels() -> None:
    chances = np.array([0.9, 0.1, 0.6, 0.2, 0.5, 0.5])
    label = np.array([1, 0, 1, 0, 1, 0])
    group = np.array([0, 0, 1, 1, 2, 2])
    tau = empirical(chances, label, group)
    assert tau["demographic_parity"] == pytest.approx(0.1)
    assert tau["equal_opportunity"] == pytest.approx(0.4)
    assert tau["equalized_odds"] == pytest.approx(0.4)
    assert math.isnan(empirical(chances[:5], label[:5], group[:5])["equalized_odds"])


def test_monte_carlo_error_of_table_4_for_demographic_parity_on_adult() -> None:
    """The paper gives .0092; its groups have about 32,650 and 16,192 rows in all."""
    assert monte_carlo_error([6530, 3238], 1) == pytest.approx(0.015, abs=0.001)
    assert monte_carlo_error([32_650, 16_192], 1) == pytest.approx(0.0067, abs=0.0001)


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="give two groups or more with a row each"):
        monte_carlo_error([5], 1)


def test_without_noise_predictions_are_certain_and_nothing_is_certified() -> None:
    quiet = replace(STEP, noise_multiplier=0.0)
    assert worst_case(quiet) == 1
    assert set(positive_chances(quiet, np.array([[1.0, 0.0], [0.0, 1.0]]))) == {0.0, 1.0}
