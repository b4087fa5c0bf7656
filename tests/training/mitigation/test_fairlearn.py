"""fairlearn's reductions and metrics on rows of a survey whose groups are known in clear."""

import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    equalized_odds_difference,
    selection_rate,
)
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier

from hushpoll_analysis import Records
from hushpoll_training import (
    FitOptions,
    Recipe,
    RecordEncoder,
    evaluate,
    fit_records,
)

# of its own tables, with pandas 3
pytestmark = [
    pytest.mark.filterwarnings("ignore:Setting a value on a Series via .at"),
    pytest.mark.filterwarnings("ignore:Setting an item of incompatible dtype"),
]
FEW = {"n_estimators": 10, "num_leaves": 7}


@pytest.fixture(scope="module")
def panel(people):
    codes = people(5000, seed=4)
    kept = codes["gender"] < 2
    return {name: values[kept] for name, values in codes.items()}


def test_its_metrics_of_a_mitigated_model_are_those_of_our_evaluation(
    survey, people, perturbed, panel
):
    published = survey(epsilon="8")
    records = Records(published, perturbed(published, people(5000)))
    model = fit_records(records, Recipe.of(FEW, learner="lightgbm-thresholds"), FitOptions(1))
    metrics = evaluate(model, panel).metrics
    predicted, label, group = model.predict(panel), panel["income"], panel["gender"]
    frame = MetricFrame(
        metrics={"P": selection_rate, "ACC": accuracy_score},
        y_true=label, y_pred=predicted, sensitive_features=group,
    )  # fmt: skip
    assert metrics["SPD"].number() == pytest.approx(frame.by_group["P"].diff().iloc[1])
    assert metrics["OAD"].number() == pytest.approx(frame.by_group["ACC"].diff().iloc[1])
    widest = demographic_parity_difference(label, predicted, sensitive_features=group)
    assert abs(metrics["SPD"].number()) == pytest.approx(widest)


@pytest.mark.parametrize(
    ("constraint", "measure"),
    [
        (DemographicParity, demographic_parity_difference),
        (EqualizedOdds, equalized_odds_difference),
    ],
)
def test_reductions_of_rows_in_clear_keep_their_bound(survey, people, perturbed, panel, constraint,
                                                      measure):  # fmt: skip
    published = survey()
    encoder = RecordEncoder(published).fit(perturbed(published, people(50)))
    rows, label = encoder.transform_clear(panel).toarray(), panel["income"]
    model = ExponentiatedGradient(
        DecisionTreeClassifier(max_depth=4), constraint(difference_bound=0.02), max_iter=15
    )
    model.fit(rows, label, sensitive_features=panel["gender"])
    plain = DecisionTreeClassifier(max_depth=4).fit(rows, label).predict(rows)
    before = measure(label, plain, sensitive_features=panel["gender"])
    after = measure(label, model.predict(rows, random_state=1), sensitive_features=panel["gender"])
    # the bound is about the distance to all people, so groups may be twice as far apart
    assert before > 0.15
    assert after < 0.04 + 0.04
