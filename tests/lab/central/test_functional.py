"""The functional mechanism: its polynomial, how far a row moves it, its noise, and the repair."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from black_box_audit import lower_bound
from hushpoll_lab.central import functional
from hushpoll_lab.central.discrete_laplace import discrete_laplace
from hushpoll_lab.central.functional import (
    GRID,
    Coefficients,
    Objective,
    coefficients,
    descend_together,
    minimise_polynomial,
    perturb,
    repair,
    sensitivity,
    within,
    without_noise,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels.words import GeneratorBits

RADIUS = 3.0


def sample(rows: int, columns: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, columns))
    return features, (features[:, 0] + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)


def published(objective: Objective) -> np.ndarray:
    """The coefficients of w_j, of w_j^2 and of w_j w_l, and the number of rows times log 2."""
    upper = np.triu_indices(objective.linear.size, 1)
    return np.concatenate(
        [
            objective.linear, np.diag(objective.quadratic), 2 * objective.quadratic[upper],
            [math.log(2) * (objective.rows or 0.0)],
        ]
    )  # fmt: skip


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_objective_is_the_taylor_polynomial_of_the_loss(form: type) -> None:
    rows, label = sample(300, 4)
    objective = without_noise(coefficients(form(rows), label, RADIUS))
    short = np.hstack([within(rows, RADIUS - 1), np.ones((300, 1))])
    for size in (1e-2, 1.0):
        weights = size * np.random.default_rng(2).normal(size=5)
        score = short @ weights
        polynomial = ((0.5 - label) * score + score**2 / 8).sum()
        ours = weights @ objective.quadratic @ weights + objective.linear @ weights
        assert ours == pytest.approx(polynomial, rel=1e-3, abs=0.02 * size)
        if size < 1:
            loss = np.logaddexp(0, np.where(label == 1, -1, 1) * score).sum()
            assert ours + 300 * math.log(2) == pytest.approx(loss, abs=1e-3)


def test_no_added_row_moves_the_coefficients_by_more_than_the_sensitivity() -> None:
    rng = np.random.default_rng(3)
    moves = []
    for number in range(300):
        row = rng.normal(size=(1, 4)) * 10.0 ** rng.integers(-1, 3) * (rng.random(4) < 0.5)
        exact = coefficients(row, np.array([number % 2]), RADIUS)
        moves.append(np.abs(published(without_noise(exact))).sum())
    bound = sensitivity(RADIUS, counted=True)
    assert bound == pytest.approx(RADIUS / 2 + RADIUS**2 / 8 + math.log(2), rel=1e-4)
    assert sensitivity(RADIUS) == pytest.approx(RADIUS / 2 + RADIUS**2 / 8, rel=1e-4)
    assert 0.999 * bound < max(moves) <= bound * (1 + 1e-4)


def test_noise_of_each_coefficient_has_the_deviation_that_is_said() -> None:
    nothing = Coefficients(np.zeros(60, np.int64), np.zeros((60, 60), np.int64), 0, RADIUS)
    objective = perturb(nothing, 0.5, GeneratorBits(np.random.default_rng(4)), counted=True)
    draws = published(objective)[:-1]
    assert objective.deviation == pytest.approx(
        math.sqrt(2) * sensitivity(RADIUS, counted=True) / 0.5
    )
    assert draws.std() == pytest.approx(objective.deviation, rel=0.1)
    assert np.abs(draws).mean() == pytest.approx(objective.deviation / math.sqrt(2), rel=0.1)
    assert objective.rows is not None
    assert 0 < abs(objective.rows) < 30 * objective.deviation


def test_exact_sums_with_noise_are_rounded_once() -> None:
    """Guards: noise and sum were rounded apart, and the low bits of large ones told the sum."""
    radius, columns = 1.01, 40
    rng = np.random.default_rng(8)
    exact = Coefficients(
        rng.integers(2**37, 2**38, columns), np.zeros((columns, columns), np.int64), 2**24, radius,
    )  # fmt: skip
    objective = perturb(exact, 1e-6, GeneratorBits(np.random.default_rng(9)))
    step, weight = radius / GRID, round(4 * GRID / radius)
    scale = (weight * GRID + GRID**2) / Fraction(1, 10**6)
    bits = GeneratorBits(np.random.default_rng(9))
    sums = [weight * int(value) + discrete_laplace(scale, bits) for value in exact.linear]
    assert any(
        float(weight * int(value)) + float(total - weight * int(value)) != float(total)
        for value, total in zip(exact.linear, sums, strict=True)
    )
    assert objective.linear.tolist() == (np.array(sums, float) * (step / (2 * weight))).tolist()


def test_repair_regularises_and_drops_what_has_no_minimum() -> None:
    objective = Objective(np.diag([4.0, 1.0, -2.0, -9.0]), np.ones(4), None, 1.5)
    values, vectors = repair(objective, 0.0)
    assert values.tolist() == [1, 4]
    assert minimise_polynomial(objective, 0.0) == pytest.approx([-0.125, -0.5, 0, 0])
    values, _ = repair(objective, 1.0)
    assert values == pytest.approx([1, 4, 7])
    assert vectors.shape == (4, 2)
    nothing = replace(objective, quadratic=-np.eye(4))
    assert (minimise_polynomial(nothing, 0.0) == 0).all()


def test_descents_of_groups_end_at_the_minimiser_of_their_mean() -> None:
    parts = [
        Objective(np.diag([200.0, 100.0]), np.array([40.0, 10.0]), 100.0, 0.1),
        Objective(np.diag([10.0, 30.0]), np.array([-5.0, 20.0]), 10.0, 0.1),
        Objective(-np.eye(2), np.ones(2), 1.0, 0.1),  # a group of one row, which noise could be
    ]
    curvature, slope = np.array([3.0, 4.0]), np.array([-0.05, 1.05])
    ends = descend_together(parts, 0.0, steps=200, rate=1.0, start=np.ones(2))
    assert ends == pytest.approx(-slope / curvature, abs=1e-6)
    with pytest.raises(InvalidParameter, match="no group has so many rows"):
        descend_together(parts[2:], 0.0, steps=1, rate=1.0, start=np.ones(2))


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_sums_over_parts_of_the_rows_are_those_over_all(
    form: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards: more rows than floating point adds exactly were refused, which told their number."""
    rows, label = sample(100, 3)
    whole = coefficients(form(rows), label, RADIUS)
    monkeypatch.setattr(functional, "EXACT_ROWS", 7)
    parts = coefficients(form(rows), label, RADIUS)
    assert (parts.linear == whole.linear).all()
    assert (parts.quadratic == whole.quadratic).all()
    assert parts.rows == whole.rows == 100


def test_bad_arguments_are_refused() -> None:
    rows, label = sample(10, 2)
    with pytest.raises(InvalidParameter, match="radius is 1; it must be above 1"):
        coefficients(rows, label, 1)
    with pytest.raises(InvalidParameter, match=r"epsilon is 0; it must lie in \(0, 64\]"):
        perturb(coefficients(rows, label, RADIUS), 0, GeneratorBits(np.random.default_rng(1)))


EPSILON, RUNS = 1.0, 400


def audited(runs: int, *, copies: int = 1, bare: str | None = None, factor: float = 1.0) -> float:
    """Tell an added row, as long as a row can be, from three others.

    The judge sees the likelihood ratio of all coefficients; or those alone that lack noise.
    """
    few = np.zeros((3, 1))
    sides = [
        coefficients(
            np.vstack([few, np.full((added, 1), 50.0)]), np.repeat([0, 1], [3, added]), RADIUS
        )
        for added in (0, copies)
    ]
    expected = [published(without_noise(exact)) for exact in sides]

    def run(with_row: bool, number: int) -> np.ndarray:
        exact = sides[with_row]
        bits = GeneratorBits(np.random.default_rng(number))
        if bare is not None:
            return np.atleast_1d(getattr(without_noise(exact), bare)).ravel()
        seen = published(perturb(exact, EPSILON * factor, bits, counted=True))
        return np.array([np.abs(seen - expected[0]).sum() - np.abs(seen - expected[1]).sum()])

    return lower_bound(run, runs, 0.0)


def test_black_box_bound_is_below_the_claim() -> None:
    assert audited(RUNS) < EPSILON


@pytest.mark.slow
def test_black_box_bound_is_below_the_claim_in_ten_thousand_runs() -> None:
    assert 0.45 * EPSILON < audited(10_000) < EPSILON


@pytest.mark.parametrize("bare", ["linear", "quadratic", "rows"])
def test_audit_catches_coefficients_without_noise(bare: str) -> None:
    assert audited(RUNS, bare=bare) > EPSILON


def test_audit_catches_a_wrong_sensitivity_and_a_row_that_is_too_long() -> None:
    assert audited(RUNS, factor=6.0) > EPSILON
    assert audited(RUNS, copies=6) > EPSILON


def audited_groups(runs: int, *, bare: bool = False) -> float:
    """Tell an added row of one group from the noisy objectives of both groups."""
    few = np.zeros((3, 1))
    other = coefficients(few, np.zeros(3, np.int64), RADIUS)
    longer = coefficients(np.vstack([few, [[50.0]]]), np.array([0, 0, 0, 1]), RADIUS)
    expected = [published(without_noise(exact)) for exact in (other, longer)]

    def run(with_row: bool, number: int) -> np.ndarray:
        bits = GeneratorBits(np.random.default_rng(number))
        second = published(perturb(other, EPSILON, bits, counted=True))
        exact = longer if with_row else other
        first = published(
            without_noise(exact) if bare else perturb(exact, EPSILON, bits, counted=True)
        )
        nearer = np.abs(first - expected[0]).sum() - np.abs(first - expected[1]).sum()
        return np.concatenate([second, [nearer]])

    return lower_bound(run, runs, 0.0)


SIZES = [RUNS, pytest.param(10_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", SIZES)
def test_objectives_of_both_groups_spend_what_one_spends(runs: int) -> None:
    """What FairFM claims: a row is in one group, whatever the other group's noise."""
    assert audited_groups(runs) < EPSILON


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_one_group_without_noise(runs: int) -> None:
    assert audited_groups(runs, bare=True) > EPSILON
