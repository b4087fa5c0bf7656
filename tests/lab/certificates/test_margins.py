"""Bounds between close linear models hold for every pair, and are ordered as the paper says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from hushpoll_lab.central.gaussian import noise_norm
from hushpoll_lab.central.logistic import minimise, perturb_output
from hushpoll_lab.certificates.margins import (
    TIGHTNESS,
    Margins,
    certify,
    linear_margins,
    notions,
    rate_change,
)
from hushpoll_protocols.errors import InvalidParameter

ROWS, COLUMNS, GROUPS = 240, 4, 3


def sample(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(ROWS, COLUMNS))
    label = (rows[:, 0] + rng.normal(size=ROWS) > 0).astype(np.int64)
    group = np.concatenate([np.arange(GROUPS), rng.integers(0, GROUPS, ROWS - GROUPS)])
    return rows, label, group


def predictions(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (rows @ weights > 0).astype(np.int64)


def written_out(
    name: str, predicted: np.ndarray, label: np.ndarray, group: np.ndarray
) -> list[float]:
    """The levels of a notion from its definition in appendix A, without equation (1)."""
    correct = predicted == label
    of = range(GROUPS)
    if name == "accuracy":
        return [correct.mean()]
    if name == "accuracy_parity":
        return [correct[group == g].mean() - correct.mean() for g in of]
    if name == "demographic_parity":
        return [predicted[group == g].mean() - predicted.mean() for g in of]
    return [
        correct[(label == y) & (group == g)].mean() - correct[label == y].mean()
        for y in ((1,) if name == "equal_opportunity" else (0, 1))
        for g in of
    ]


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.1, 1.0]))
def test_no_model_within_the_distance_changes_fairness_by_more(seed: int, step: float) -> None:
    rows, label, group = sample(seed % 50)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=COLUMNS)
    other = weights + step * rng.normal(size=COLUMNS)
    distance = float(np.linalg.norm(weights - other))
    before, after = predictions(rows, weights), predictions(rows, other)
    for margins in (
        linear_margins(rows, label, group, weights),
        linear_margins(rows, label, group, weights, other),
    ):
        for tightness in TIGHTNESS:
            for name, found in certify(margins, before, distance * (1 + 1e-12), tightness).items():
                levels = np.array(written_out(name, before, label, group))
                others = np.array(written_out(name, after, label, group))
                assert found.level == pytest.approx(levels, abs=1e-12)
                assert (np.abs(others - levels) <= found.change + 1e-12).all()
                assert (found.lower - 1e-12 <= others).all()
                assert (others <= found.upper + 1e-12).all()
                assert (found.upper - found.lower <= 2 * found.change + 1e-12).all()
                assert found.mean_change == pytest.approx(found.change.mean())


@given(st.lists(st.floats(0, 5), min_size=1, max_size=30), st.floats(1e-6, 10))
def test_share_is_at_most_chernoffs_bound_and_markovs(reach: list[float], distance: float) -> None:
    share, chernoff, markov = (
        rate_change(np.array(reach), distance, tightness)
        for tightness in ("share", "chernoff", "markov")
    )
    assert 0 <= share <= chernoff + 1e-9
    assert share <= markov + 1e-9 <= 1 + 2e-9


def test_chernoffs_bound_is_the_least_over_a_grid_of_t() -> None:
    reach = np.random.default_rng(1).gamma(2.0, 1.0, 500)
    for distance in (0.001, 0.05, 0.8):
        grid = np.logspace(-4, 5, 4000)
        with np.errstate(over="ignore"):
            values = np.exp(np.subtract.outer(distance, reach) * grid[:, None]).mean(axis=1)
        assert rate_change(reach, distance, "chernoff") == pytest.approx(
            min(1, values.min()), rel=1e-3
        )


def test_large_margin_refinement_of_chernoffs_bound_is_the_share() -> None:
    """Remark B.2 in Remark B.1: with margins beyond the distance left out, t = 0 is the least."""
    reach = np.random.default_rng(2).gamma(2.0, 1.0, 500)
    distance = 0.7
    close = reach[reach <= distance]
    grid = np.linspace(0, 50, 2000)
    values = np.exp(np.outer(grid, distance - close)).sum(axis=1) / reach.size
    assert values.min() == values[0] == rate_change(reach, distance, "share")


def test_factors_are_no_larger_than_in_corollary_3_3() -> None:
    rows, label, group = sample(3)
    margins = linear_margins(rows, label, group, np.ones(COLUMNS))
    joint = np.array(
        [[np.mean((label == y) & (group == g)) for g in range(GROUPS)] for y in (0, 1)]
    )
    for name, notion in notions(margins).items():
        for level, (y, g) in enumerate(notion.names):
            everyone = joint if y is None else joint * (np.arange(2) == y)[:, None]
            members = everyone * (np.arange(GROUPS) == g)
            corollary = everyone / everyone.sum()
            if g is not None:
                corollary = corollary + members / members.sum()
            assert (np.abs(notion.weights[level]) <= corollary + 1e-12).all(), name


def test_knowing_both_models_tightens_the_bound() -> None:
    rows, label, group = sample(4)
    weights = np.array([1.0, 0.2, -0.3, 0.0])
    other = weights + np.array([0.0, 0.0, 0.0, 0.4])
    one = certify(linear_margins(rows, label, group, weights), predictions(rows, weights), 0.4)
    both = certify(
        linear_margins(rows, label, group, weights, other), predictions(rows, weights), 0.4
    )
    assert both["accuracy"].change[0] < one["accuracy"].change[0]


def test_same_model_twice_has_no_difference() -> None:
    rows, label, group = sample(5)
    weights = np.ones(COLUMNS)
    margins = linear_margins(rows, label, group, weights, weights)
    for found in certify(margins, predictions(rows, weights), 0.0).values():
        assert not found.change.any()
        assert not found.vacuous.any()
    far = linear_margins(rows, label, group, weights)
    for found in certify(far, predictions(rows, weights), 1e9).values():
        assert found.vacuous.all()


def test_sparse_rows_give_the_same_margins() -> None:
    rows, label, group = sample(6)
    rows[rows < 0] = 0
    rows[0] = 0
    dense = linear_margins(rows, label, group, np.ones(COLUMNS))
    sparse = linear_margins(csr_matrix(rows), label, group, np.ones(COLUMNS))
    assert np.isinf(dense.reach[0])
    assert sparse.reach == pytest.approx(dense.reach)


def test_private_models_stay_within_the_certificate_with_the_promised_probability() -> None:
    """Theorem 4.4 with the exact quantile of the noise, from the private model's side as well."""
    rows, label, group = sample(7)
    radius = float(np.linalg.norm(rows, axis=1).max())
    best = minimise(rows, label, 0.5)
    draws, failure, outside = 400, 0.1, 0
    before = predictions(rows, best.weights)
    reference = linear_margins(rows, label, group, best.weights)
    for seed in range(draws):
        private = perturb_output(
            best, count=ROWS, penalty=0.5, radius=radius, epsilon=8.0, delta=1e-5,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        distance = noise_norm(private.sigma, COLUMNS, failure)
        after = predictions(rows, private.weights)
        from_private = linear_margins(rows, label, group, private.weights)
        for bounds, levels in (
            (certify(reference, before, distance), after),
            (certify(from_private, after, distance), before),
        ):
            outside += any(
                (np.abs(np.array(written_out(name, levels, label, group)) - found.level)
                 > found.change + 1e-12).any()
                for name, found in bounds.items()
            )  # fmt: skip
    assert outside / (2 * draws) <= failure


def test_bad_input_is_refused() -> None:
    rows, label, group = sample(8)
    with pytest.raises(InvalidParameter, match="give one weight a column"):
        linear_margins(rows, label, group, np.ones(COLUMNS + 1))
    with pytest.raises(InvalidParameter, match="group 1 has no rows"):
        linear_margins(rows, label, np.where(group == 1, 0, group), np.ones(COLUMNS))
    with pytest.raises(InvalidParameter, match="distance is -1"):
        rate_change(np.ones(3), -1)
    with pytest.raises(InvalidParameter, match="tightness is 'loose'; it must be one of markov"):
        rate_change(np.ones(3), 1, "loose")  # type: ignore[arg-type]
    assert rate_change(np.ones(0), 1) == 0


def test_class_that_a_group_lacks_counts_for_nothing() -> None:
    margins = Margins(np.ones(4), np.array([0, 1, 0, 0]), np.array([0, 0, 1, 1]))
    found = certify(margins, np.array([0, 1, 0, 1]), 2.0)
    assert np.isfinite(found["equalized_odds"].change).all()
