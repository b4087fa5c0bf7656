"""The metrics against tables worked by hand and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.evaluation.metrics import METRICS, Metric, measure


def rows(*cells):
    """Build label, predicted and group from (label, predicted, group, how many)."""
    table = np.array([cell[:3] for cell in cells]).repeat([cell[3] for cell in cells], axis=0)
    return table[:, 0], table[:, 1], table[:, 2]


# group 1: 8 TP, 2 FN, 3 FP, 7 TN;  group 0: 3 TP, 1 FN, 2 FP, 14 TN;  neither: 1 FP
HAND = rows(
    (1, 1, 1, 8), (1, 0, 1, 2), (0, 1, 1, 3), (0, 0, 1, 7),
    (1, 1, 0, 3), (1, 0, 0, 1), (0, 1, 0, 2), (0, 0, 0, 14),
    (0, 1, -1, 1),
)  # fmt: skip


def test_every_metric_equals_the_hand_computed_one():
    label, predicted, group = HAND
    found = measure(label, predicted, predicted, group)
    expected = {
        "accuracy": 32 / 41,  # 8+7+3+14 of 41
        "f1": 22 / 31,  # 2*11 / (22 + 3 + 6)
        "roc_auc": (11 / 14 + 21 / 27) / 2,  # of two-valued scores: the balanced accuracy
        "balanced_acc": (11 / 14 + 21 / 27) / 2,
        "recall": 11 / 14,
        "P1": 11 / 20,
        "P0": 5 / 20,
        "TPR1": 8 / 10,
        "TPR0": 3 / 4,
        "FPR1": 3 / 10,
        "FPR0": 2 / 16,
        "ACC1": 15 / 20,
        "ACC0": 17 / 20,
        "DI": 5 / 11,
        "SPD": 6 / 20,
        "EOD": 1 / 20,
        "OAD": -2 / 20,
    }
    assert tuple(found) == METRICS
    assert {name: metric.number() for name, metric in found.items()} == pytest.approx(expected)


def test_exchanging_the_groups_turns_every_fairness_sign():
    label, predicted, group = HAND
    straight = measure(label, predicted, predicted, group)
    turned = measure(label, predicted, predicted, np.where(group < 0, group, 1 - group))
    for name in ("SPD", "EOD", "OAD"):
        assert turned[name].number() == -straight[name].number() != 0
    assert turned["DI"].number() == pytest.approx(1 / straight["DI"].number())


def test_utility_agrees_with_scikit_learn_and_auc_ranks_scores_with_ties():
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, 400)
    score = np.round(rng.random(400) * 0.6 + label * 0.3, 1)
    predicted = (score > 0.5).astype(int)
    found = measure(label, predicted, score, None)
    assert found["roc_auc"].number() == pytest.approx(roc_auc_score(label, score))
    assert found["f1"].number() == pytest.approx(f1_score(label, predicted))
    assert found["balanced_acc"].number() == pytest.approx(
        balanced_accuracy_score(label, predicted)
    )
    assert found["roc_auc"].number() != pytest.approx(found["balanced_acc"].number())


def test_auc_by_hand():
    # positives 0.9, 0.5; negatives 0.5, 0.1: wins 1 + 1 + 0.5 + 1 of 4
    found = measure([1, 1, 0, 0], [1, 0, 0, 0], [0.9, 0.5, 0.5, 0.1], None)
    assert found["roc_auc"].number() == 3.5 / 4


@pytest.mark.parametrize(
    ("cells", "undefined", "word"),
    [
        ([(1, 0, 1, 2), (0, 1, 0, 2)], {"DI"}, "predicted positive"),
        (
            [(1, 1, 1, 2), (0, 1, 0, 2)],
            {"EOD", "TPR0"},
            "row with a positive label in the unprivileged",
        ),
        (
            [(1, 1, 1, 2), (0, 1, -1, 2)],
            {"DI", "SPD", "EOD", "OAD", "P0", "ACC0"},
            "there is no row",
        ),
        ([(0, 0, 1, 2), (0, 0, 0, 2)], {"f1", "roc_auc", "balanced_acc", "recall", "DI"}, ""),
    ],
)
def test_undefined_is_said_and_never_a_number(cells, undefined, word):
    label, predicted, group = rows(*cells)
    found = measure(label, predicted, predicted, group)
    for name in undefined:
        assert not found[name].defined
        assert word in found[name].reason
        assert found[name].to_json() == {"undefined": found[name].reason}
        assert str(found[name]) == "undefined"
        with pytest.raises(ValueError, match="undefined"):
            found[name].number()
    assert found["accuracy"].defined


def test_a_ratio_of_zero_is_zero_and_not_undefined():
    label, predicted, group = rows((1, 1, 1, 2), (1, 0, 0, 2))
    found = measure(label, predicted, predicted, group)
    assert found["DI"].number() == 0.0
    assert found["TPR0"].number() == 0.0


def test_without_a_protected_attribute_only_fairness_is_undefined():
    label, predicted, _ = HAND
    found = measure(label, predicted, predicted, None)
    assert found["accuracy"].defined
    assert "no protected attribute" in found["DI"].reason


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([0, 2], [0, 1], [0.1, 0.2], None), "label"),
        (([0, 1], [0, -1], [0.1, 0.2], None), "predicted"),
        (([0, 1], [0, 1, 1], [0.1, 0.2], None), "predicted"),
        (([0, 1], [0, 1], [0.1, np.nan], None), "score"),
        (([0, 1], [0, 1], [0.1, 0.2], [0, 2]), "group"),
    ],
)
def test_bad_input_names_the_argument(arguments, field):
    with pytest.raises(InvalidParameter) as caught:
        measure(*arguments)
    assert caught.value.field == field


def test_a_metric_needs_exactly_one_of_value_and_reason():
    with pytest.raises(ValueError, match="value or a reason"):
        Metric(None)
    with pytest.raises(ValueError, match="value or a reason"):
        Metric(1.0, "because")
