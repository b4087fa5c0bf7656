"""The fairness report beside fairlearn's metrics, our own for two groups, and what it withholds."""

import json
import math

import fairlearn.metrics as theirs
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_score

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS
from hushpoll_training.evaluation.fairness.estimates import Bounds, GroupEstimate, Spread
from hushpoll_training.evaluation.fairness.partition import partition_by, protected_partition
from hushpoll_training.evaluation.fairness.report import fairness_report
from hushpoll_training.evaluation.metrics import FAIRNESS, measure

N = 4000


def drawn(seed=0, n=N):
    rng = np.random.default_rng(seed)
    race = rng.choice(["Asian", "Black", "White"], n, p=[0.2, 0.3, 0.5])
    gender = rng.choice(["Female", "Male"], n)
    label = (rng.random(n) < 0.3 + 0.2 * (race == "White")).astype(int)
    predicted = (rng.random(n) < 0.15 + 0.4 * label + 0.15 * (gender == "Male")).astype(int)
    return label, predicted, {"race": race, "gender": gender}


@pytest.fixture(scope="module")
def found():
    label, predicted, columns = drawn()
    return fairness_report(label, predicted, partition_by(columns), resamples=200)


@pytest.fixture(scope="module")
def frame():
    label, predicted, columns = drawn()
    return theirs.MetricFrame(
        metrics={
            "P": theirs.selection_rate,
            "TPR": theirs.true_positive_rate,
            "FPR": theirs.false_positive_rate,
            "ACC": lambda y, h: float(np.mean(y == h)),
            "PPV": precision_score,
            "n": theirs.count,
        },
        y_true=label,
        y_pred=predicted,
        sensitive_features=columns,
    )


def test_rates_of_intersections_are_fairlearns(found, frame):
    assert found.attributes == ("race", "gender")
    assert len(found.groups) == 6
    for group in found.groups:
        race, gender = (part.split("=")[1] for part in group.name.split(", "))
        row = frame.by_group.loc[(race, gender)]
        assert group.n == row["n"]
        for rate, estimate in group.rates.items():
            assert estimate.value == pytest.approx(row[rate], abs=1e-12)


def test_spreads_are_fairlearns(found):
    label, predicted, columns = drawn()
    options = {"sensitive_features": columns}
    expected = {
        name: getattr(theirs, name)(label, predicted, **options)
        for name in (
            "demographic_parity_difference",
            "demographic_parity_ratio",
            "equalized_odds_difference",
            "equal_opportunity_difference",
        )
    }
    overall = theirs.MetricFrame(
        metrics={"FPR": theirs.false_positive_rate, "PPV": precision_score, "ACC": accuracy_score},
        y_true=label,
        y_pred=predicted,
        sensitive_features=columns,
    ).difference(method="between_groups")
    expected |= {
        "false_positive_rate_difference": overall["FPR"],
        "predictive_parity_difference": overall["PPV"],
        "accuracy_difference": overall["ACC"],
    }
    assert found.spreads.keys() == expected.keys()
    for name, value in expected.items():
        spread = found.spreads[name]
        assert spread.value == pytest.approx(value, abs=1e-12)
        assert spread.limits.lower <= spread.value <= spread.limits.upper
    rates = {group.name: group.rates["P"].value for group in found.groups}
    widest = found.spreads["demographic_parity_difference"]
    assert rates[widest.highest] == max(rates.values())
    assert rates[widest.lowest] == min(rates.values())


def test_comparisons_are_with_the_reference_in_the_papers_direction(found, frame):
    label, predicted, columns = drawn()
    assert found.reference.startswith("race=White")
    assert found.reference_is == "the largest group"
    names = [f"race={r}, gender={g}" for r, g in zip(*columns.values(), strict=True)]
    assert [one.group for one in found.comparisons] == [
        one.name for one in found.groups if one.name != found.reference
    ]
    for one in found.comparisons:
        side = [1 if name == found.reference else 0 if name == one.group else -1 for name in names]
        ours = measure(label, predicted, predicted, side)
        assert one.metrics.keys() == METRICS.keys()
        for metric, estimate in one.metrics.items():
            if metric in FAIRNESS:
                assert estimate.value == pytest.approx(ours[metric].number(), abs=1e-12)
            intervals = [estimate.closed_form]
            if METRICS[metric].is_largest:
                assert "largest of several differences" in estimate.bootstrap.reason
            else:
                intervals.append(estimate.bootstrap)
            for limits in intervals:
                assert limits.lower < estimate.value < limits.upper


def test_added_metrics_of_two_groups_are_fairlearns(found):
    label, predicted, columns = drawn()
    names = np.array([f"race={r}, gender={g}" for r, g in zip(*columns.values(), strict=True)])
    for comparison in found.comparisons:
        rows = np.isin(names, [found.reference, comparison.group])
        frame = theirs.MetricFrame(
            metrics={"FPRD": theirs.false_positive_rate, "PPD": precision_score},
            y_true=label[rows],
            y_pred=predicted[rows],
            sensitive_features=names[rows],
        ).by_group
        for name in ("FPRD", "PPD"):
            expected = frame[name][found.reference] - frame[name][comparison.group]
            assert comparison.metrics[name].value == pytest.approx(expected, abs=1e-12)
        assert comparison.metrics["EODDS"].value == pytest.approx(
            theirs.equalized_odds_difference(
                label[rows], predicted[rows], sensitive_features=names[rows]
            ),
            abs=1e-12,
        )


def test_the_manifests_groups_give_the_metrics_of_train(survey, people):
    published, codes = survey(), people(2000)
    label = codes["income"]
    predicted = (codes["age"] + codes["gender"] > 3).astype(int)
    partition = protected_partition(published, codes)
    found = fairness_report(label, predicted, partition, resamples=0)
    assert [one.name for one in found.groups] == ["unprivileged (Female)", "privileged (Male)"]
    assert found.reference == "privileged (Male)"
    assert found.outside == int((codes["gender"] == 2).sum()) > 0
    side = np.array([0, 1, -1])[codes["gender"]]
    ours = measure(label, predicted, predicted, side)
    for metric, estimate in found.comparisons[0].metrics.items():
        if metric in FAIRNESS:
            assert estimate.value == pytest.approx(ours[metric].number(), abs=1e-12)
        assert isinstance(estimate.bootstrap, Withheld)
    assert protected_partition(survey(protected=None), codes) is None


def test_a_seed_repeats_the_bootstrap(found):
    label, predicted, columns = drawn()
    options = {"resamples": 200}
    again = fairness_report(label, predicted, partition_by(columns), **options)
    assert again == found
    other = fairness_report(label, predicted, partition_by(columns), seed=1, **options)
    assert other != found
    assert other.comparisons[0].metrics["DI"].value == found.comparisons[0].metrics["DI"].value


def test_groups_that_are_too_small_are_said_so_and_left_out_of_the_spread():
    label, predicted, columns = drawn(n=2000)
    group = columns["gender"].copy()
    group[:12] = "Other"
    predicted[:12] = 1
    found = fairness_report(label, predicted, partition_by({"gender": group}), resamples=100)
    assert found.too_small == ("gender=Other",)
    other = next(one for one in found.groups if one.name == "gender=Other")
    assert other.n == 12
    assert all(isinstance(one, Withheld) for one in other.rates.values())
    assert other.rates["P"].reason == "gender=Other has 12 rows, and a rate needs at least 30"
    assert "rows with a positive label" in other.rates["TPR"].reason
    compared = next(one for one in found.comparisons if one.group == "gender=Other")
    assert all(isinstance(one, Withheld) for one in compared.metrics.values())
    assert found.spreads["demographic_parity_difference"].highest != "gender=Other"
    assert "NaN" not in json.dumps(found.to_dict(), allow_nan=False)
    allowed = fairness_report(
        label, predicted, partition_by({"gender": group}), resamples=100, smallest=1
    )
    assert allowed.spreads["demographic_parity_difference"].highest == "gender=Other"
    # all twelve are predicted positive: resampling knows of nothing else, Wilson does
    rate = allowed.groups[2].rates["P"]
    assert rate.value == 1.0
    assert isinstance(rate.bootstrap, Withheld)
    assert rate.closed_form.lower == pytest.approx(12 / (12 + 1.959964**2), abs=1e-6)
    assert rate.closed_form.upper == 1.0


def test_nobody_predicted_positive_is_a_reason_and_not_a_number():
    label, _, columns = drawn(n=400)
    found = fairness_report(
        label, 0 * label, partition_by({"gender": columns["gender"]}), resamples=100
    )
    metrics = found.comparisons[0].metrics
    assert metrics["DI"].code == "undefined"
    assert "predicted positive" in metrics["DI"].reason
    assert isinstance(metrics["SPD"], GroupEstimate)
    assert metrics["SPD"].value == 0
    assert metrics["SPD"].closed_form.lower < 0 < metrics["SPD"].closed_form.upper
    assert found.spreads["demographic_parity_ratio"].code == "undefined"
    assert isinstance(found.spreads["demographic_parity_difference"], Spread)


def test_one_group_has_nothing_to_be_compared_with():
    label, predicted, _ = drawn(n=200)
    found = fairness_report(label, predicted, partition_by({"all": ["x"] * 200}), resamples=100)
    assert found.comparisons == ()
    assert found.spreads["accuracy_difference"].code == "not-enough-data"


def test_limits_without_a_bound_are_null_in_json():
    assert Bounds(0.5, math.inf).to_dict() == {"lower": 0.5, "upper": None}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"resamples": 50}, "resamples"),
        ({"smallest": 0}, "smallest"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_arguments_are_refused(changes, field):
    label, predicted, columns = drawn(n=100)
    with pytest.raises(InvalidParameter) as caught:
        fairness_report(label, predicted, partition_by(columns), **changes)
    assert caught.value.field == field


def test_labels_and_groups_are_checked():
    label, predicted, columns = drawn(n=100)
    partition = partition_by(columns)
    with pytest.raises(InvalidParameter, match="label must be 100 values, 0 or 1"):
        fairness_report(label + 1, predicted, partition)
    with pytest.raises(InvalidParameter, match="predicted must be 100 values"):
        fairness_report(label, predicted[:50], partition)
    with pytest.raises(InvalidParameter, match=r"reference is 'race=Red'.*gender=Female") as caught:
        partition_by(columns, reference="race=Red")
    assert caught.value.field == "reference"
    with pytest.raises(InvalidParameter, match="columns of one length"):
        partition_by({"a": ["x"], "b": ["x", "y"]})
    with pytest.raises(InvalidParameter, match="more than 1000 groups"):
        partition_by({"id": [str(one) for one in range(1001)]})


PLACES = {
    "income": ["<=5", "<=5", ">5", ">5", "a, b"],
    "sex": ["f", "m", "f", "m", "f"],
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("income=<=5,sex=m", "income=<=5, sex=m"),
        ("income=<=5, sex=m", "income=<=5, sex=m"),
        ("sex=m,income=<=5", "income=<=5, sex=m"),
        ("income=a, b,sex=f", "income=a, b, sex=f"),
        ('income="a, b",sex=f', "income=a, b, sex=f"),
        ('"income=<=5",sex=m', "income=<=5, sex=m"),
    ],
)
def test_a_reference_is_named_as_its_help_shows_it(text, name):
    found = partition_by(PLACES, reference=text)
    assert found.names[found.reference] == name


@pytest.mark.parametrize("text", ["", "income=<=5", "sex=m,sex=f", "income=>5,sex=x", "sex=m,"])
def test_a_reference_that_is_no_group_is_refused_with_the_groups(text):
    with pytest.raises(InvalidParameter, match=r"which is no group; the groups are income=<=5, s"):
        partition_by(PLACES, reference=text)


def test_a_reference_that_may_be_two_groups_is_refused():
    columns = {"a": ["x,b=y", "x"], "b": ["z", "y,b=z"]}
    with pytest.raises(InvalidParameter, match=r"which may be a=x, b=y,b=z or a=x,b=y, b=z; put"):
        partition_by(columns, reference="a=x,b=y,b=z")
