"""Factors of Kamiran and Calders, in clear and through the channels; what a row weighs."""

import numpy as np
import pytest

from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training.learners.evidence import GroupEvidence
from hushpoll_training.mitigation.reweighing import LARGEST, Reweighing

TWO = ((0,), (1,))
CELLS = np.array([[300, 100], [200, 400]])


def rows(cells):
    """Return group and label of as many rows as each cell says."""
    group, label = np.indices(cells.shape)
    return np.repeat(group.ravel(), cells.ravel()), np.repeat(label.ravel(), cells.ravel())


def clear(group, k=2, groups=TWO):
    return GroupEvidence(np.eye(k, dtype=np.uint8)[group], None, groups)


def test_factors_in_clear_are_those_of_kamiran_and_calders():
    group, label = rows(CELLS)
    found = Reweighing.of(clear(group), label)
    expected = np.array([[0.4 * 0.5 / 0.3, 0.4 * 0.5 / 0.1], [0.6 * 0.5 / 0.2, 0.6 * 0.5 / 0.4]])
    assert found.factors == pytest.approx(expected)
    for assignment in ("inverse", "posterior"):
        given = found.row_weights(clear(group), label, assignment)
        assert given.weight == pytest.approx(expected[group, label])
        assert given.clipped == 0


def test_reweighed_rows_have_labels_that_do_not_depend_on_the_group():
    group, label = rows(np.array([[30, 20, 50], [5, 60, 35], [100, 80, 20]]))
    evidence = clear(group, 3, ((0,), (1,), (2,)))
    weight = Reweighing.of(evidence, label, 3).row_weights(evidence, label).weight
    joint = np.zeros((3, 3))
    np.add.at(joint, (group, label), weight)
    joint /= joint.sum()
    assert joint == pytest.approx(np.outer(joint.sum(axis=1), joint.sum(axis=0)))


def test_rows_of_no_group_weigh_one_before_scaling():
    group, label = rows(np.array([[300, 100], [200, 400], [90, 10]]))
    evidence = clear(group, 3)
    given = Reweighing.of(evidence, label).row_weights(evidence, label)
    assert np.ptp(given.weight[group == 2]) == 0
    assert given.weight[group == 2][0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH"])
def test_weights_of_records_are_on_average_the_factors(name):
    oracle = create(name, k=2, epsilon="2")
    group, label = rows(CELLS * 40)
    rng = np.random.default_rng(5)
    records = indicators(oracle, perturb(oracle, group, rng))
    evidence = GroupEvidence(records, oracle, TWO)
    found = Reweighing.of(evidence, label)
    exact = Reweighing.of(clear(group), label)
    assert found.factors == pytest.approx(exact.factors, rel=0.1)
    given = found.row_weights(evidence, label)
    means = [given.weight[(group == a) & (label == y)].mean() for a in (0, 1) for y in (0, 1)]
    # clipping adds a little to all
    assert means == pytest.approx(exact.factors.ravel().tolist(), rel=0.12 + given.clipped)
    drawn = found.row_weights(evidence, label, "posterior")
    assert (drawn.weight >= 0).all()
    spread = [np.ptp(weights.weight) for weights in (given, drawn)]
    assert spread[1] < spread[0]


def test_expected_weight_is_the_factor_through_both_channels():
    oracle, target = create("GRR", k=2, epsilon="4"), create("GRR", k=3, epsilon="4")
    p, q = float(target.p), float(target.q)
    # one row for each pair of a record and a reported label
    record, reported = (part.ravel() for part in np.indices((2, 3)))
    evidence = GroupEvidence(np.eye(2, dtype=np.uint8)[record], oracle, TWO, p, q)
    factors = np.array([[0.9, 1.2, 1.0], [1.1, 0.8, 1.05]])
    found = Reweighing(np.full((2, 3), 1 / 6), factors, np.full((2, 3), 1 / 6))
    given = found.row_weights(evidence, reported)
    assert given.clipped == 0
    group_law = np.eye(2) * float(oracle.p - oracle.q) + float(oracle.q)
    label_law = np.eye(3) * (p - q) + q
    expected = np.einsum("ar,yl,rl->ay", group_law, label_law, given.weight.reshape(2, 3))
    assert expected / expected.mean() == pytest.approx(factors / factors.mean())


def test_perturbed_labels_give_the_factors_too():
    group, label = rows(CELLS * 100)
    oracle = create("GRR", k=2, epsilon="3")
    rng = np.random.default_rng(6)
    reported = perturb(oracle, label, rng)[:, 0].astype(np.int64)
    records = indicators(oracle, perturb(oracle, group, rng))
    evidence = GroupEvidence(records, oracle, TWO, float(oracle.p), float(oracle.q))
    found = Reweighing.of(evidence, reported)
    assert found.factors == pytest.approx(Reweighing.of(clear(group), label).factors, rel=0.1)
    ignored = Reweighing.of(GroupEvidence(records, oracle, TWO), reported)
    assert np.abs(ignored.factors - 1).sum() < np.abs(found.factors - 1).sum()


def test_negative_weights_become_zero_and_are_counted():
    group, label = rows(np.array([[390, 10], [100, 500]]))
    oracle = create("GRR", k=2, epsilon="0.5")
    evidence = GroupEvidence(np.eye(2, dtype=np.uint8)[group], oracle, TWO)
    found = Reweighing.of(clear(group), label)
    given = found.row_weights(evidence, label)
    assert (given.weight >= 0).all()
    assert given.clipped == pytest.approx(np.mean(given.weight == 0))
    assert given.clipped > 0.05


def test_factor_of_an_empty_cell_is_the_largest_one():
    group, label = rows(np.array([[400, 0], [200, 400]]))
    assert Reweighing.of(clear(group), label).factors[0, 1] == pytest.approx(LARGEST)


def test_unknown_assignments_and_groups_without_a_share_are_refused():
    group, label = rows(CELLS)
    found = Reweighing.of(clear(group), label)
    with pytest.raises(InvalidParameter, match="must be one of inverse, posterior"):
        found.row_weights(clear(group), label, "other")
    with pytest.raises(InvalidParameter, match=r"share of group \(0\) at 0"):
        Reweighing.of(clear(np.ones_like(group)), label)
    with pytest.raises(InvalidParameter, match=r"share of class \(1\) at 0"):
        Reweighing.of(clear(group), 0 * label)
