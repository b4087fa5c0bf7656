"""Mitigation as classifiers of scikit-learn's: its own checks, records of a survey, refusals."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training import (
    LDPClassifier,
    RecordEncoder,
    ReweighingClassifier,
    ThresholdClassifier,
)

BOTH = pytest.mark.parametrize("kind", [ReweighingClassifier, ThresholdClassifier])
UNEQUAL = "rows are held out, so a row twice is not a row of weight two"
PEOPLE = 6000


def draw(seed, *, classes=2):
    """Return group, label and features of people; the first feature goes along with the group."""
    rng = np.random.default_rng(seed)
    group = (rng.random(PEOPLE) < 0.6).astype(np.int64)
    features = rng.normal(size=(PEOPLE, 3)) + np.outer(group, [2.5, 0, 0])
    total = features[:, 1:].sum(axis=1) + 1.5 * group + rng.normal(size=PEOPLE)
    label = np.searchsorted(np.quantile(total, np.arange(1, classes) / classes), total)
    return group, label.astype(np.int64), features


def table(group, features, oracle=None, seed=0):
    """Return the features after the protected columns: one-hot, or records."""
    own = np.eye(2)[group]
    if oracle is not None:
        own = indicators(oracle, perturb(oracle, group, np.random.default_rng(seed)))
    return np.column_stack([own, features])


def gap(group, predicted):
    return predicted[group == 1].mean() - predicted[group == 0].mean()


@BOTH
def test_check_estimator_passes(kind):
    missing = {}
    if kind is ThresholdClassifier:
        missing = dict.fromkeys(
            [f"check_sample_weight_equivalence_on_{word}_data" for word in ("dense", "sparse")],
            UNEQUAL,
        )
    results = check_estimator(
        kind(LogisticRegression()), on_skip=None, expected_failed_checks=missing
    )
    assert {one["status"] for one in results} <= {"passed", "skipped", "xfail"}
    assert sum(one["status"] == "passed" for one in results) >= 60


@BOTH
@pytest.mark.parametrize("name", [None, "GRR", "OUE"])
def test_disparity_falls_with_groups_in_clear_or_in_records(kind, name):
    oracle = None if name is None else create(name, k=2, epsilon="2")
    group, label, features = draw(1)
    made = kind(LogisticRegression(), (0, 1), oracle=oracle)
    made.fit(table(group, features, oracle), label)
    new, truth, values = draw(2)
    rows = table(new, values)
    predicted = made.predict(rows)
    plain = LogisticRegression().fit(features, label).predict(values)
    assert gap(new, plain) > 0.25
    assert abs(gap(new, predicted)) < (0.1 if kind is ThresholdClassifier else 0.15)
    assert np.mean(predicted == truth) > 0.65
    assert (predicted == made.predict(csr_matrix(rows))).all()
    assert (predicted == clone(made).fit(table(group, features, oracle), label).predict(rows)).all()


def test_rules_of_reports_need_no_group_in_clear():
    oracle = create("OUE", k=2, epsilon="2")
    group, label, features = draw(1)
    made = ThresholdClassifier(
        LogisticRegression(), (0, 1), oracle=oracle, at_prediction="perturbed"
    )
    made.fit(table(group, features, oracle), label)
    new, _, values = draw(2)
    predicted = made.predict(table(new, values, oracle, seed=1))
    assert abs(gap(new, predicted)) < 0.12
    assert made.rule_.chances.shape[0] == 4
    own = clone(made).set_params(at_prediction="clear").fit(table(group, features, oracle), label)
    with pytest.raises(InvalidParameter, match="do not name one category in each row"):
        own.predict(table(new, values, oracle, seed=1))


@BOTH
def test_records_of_a_survey(kind, survey, people, perturbed):
    published = survey(epsilon="12", protocol="SS", target={"protocol": "GRR"})
    records = perturbed(published, people(6000))
    encoder = RecordEncoder(published).fit(records)
    wrapped = LDPClassifier.for_survey(published, n_estimators=20, num_leaves=7)
    made = kind.for_survey(encoder, wrapped)
    assert made.groups == ((0,), (1,))
    assert made.label_p == wrapped.label_p
    rows, label = encoder.transform(records), encoder.labels(records)[0]
    made.fit(rows, label)
    codes = people(6000, seed=5)
    clear = encoder.transform_clear(codes)
    kept = codes["gender"] < 2
    plain = clone(wrapped).fit(rows, label).predict(clear)[kept]
    predicted = made.predict(clear)[kept]
    assert abs(gap(codes["gender"][kept], predicted)) < 0.7 * gap(codes["gender"][kept], plain)


def test_surveys_and_encodings_that_give_no_groups_are_refused(survey, people, perturbed):
    published = survey(protected=None)
    encoder = RecordEncoder(published).fit(perturbed(published, people(50)))
    with pytest.raises(InvalidParameter, match="declares no protected attribute"):
        ReweighingClassifier.for_survey(encoder, LogisticRegression())
    published = survey()
    encoder = RecordEncoder(published, encoding="posterior").fit(perturbed(published, people(50)))
    with pytest.raises(InvalidParameter, match="needs the encoding indicator"):
        ReweighingClassifier.for_survey(encoder, LogisticRegression())


def test_reweighing_takes_several_classes_and_thresholds_refuse_them():
    group, label, features = draw(3, classes=3)
    words = np.array(["high", "low", "middle"])[label]
    rows = table(group, features)
    made = ReweighingClassifier(LogisticRegression(), (0, 1)).fit(rows, words)
    assert made.reweighing_.factors.shape == (2, 3)
    assert made.predict_proba(rows).shape == (PEOPLE, 3)
    joint = np.zeros((2, 3))
    np.add.at(joint, (group, label), made.weights_.weight)
    joint /= joint.sum()
    assert joint == pytest.approx(np.outer(joint.sum(axis=1), joint.sum(axis=0)), abs=1e-9)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        ThresholdClassifier(LogisticRegression(), (0, 1)).fit(rows, words)


@BOTH
def test_sample_weights_reach_the_estimator(kind):
    group, label, features = draw(4)
    rows = table(group, features)
    made = kind(LogisticRegression(), (0, 1))
    plain = made.fit(rows, label).estimator_.intercept_
    ones = clone(made).fit(rows, label, sample_weight=np.ones(PEOPLE)).estimator_.intercept_
    heavy = clone(made).fit(rows, label, sample_weight=1 + 9 * label).estimator_.intercept_
    assert ones == pytest.approx(plain, abs=1e-3)
    assert heavy > plain + 0.5
    for weight, words in (
        ([1.0], "shape"),
        (-np.ones(PEOPLE), "negative"),
        (0 * label, "all zero"),
    ):
        with pytest.raises(ValueError, match=words):
            clone(made).fit(rows, label, sample_weight=weight)


def test_scores_of_the_estimator_behind_are_given_where_it_has_them():
    group, label, features = draw(5)
    rows = table(group, features)
    hinge = SGDClassifier(random_state=0)
    for kind in (ReweighingClassifier, ThresholdClassifier):
        made = kind(hinge, (0, 1)).fit(rows, label)
        assert abs(gap(group, made.predict(rows))) < 0.5
        assert not hasattr(made, "predict_proba")
    assert ReweighingClassifier(hinge, (0, 1)).fit(rows, label).decision_function(rows).size
    assert not hasattr(ReweighingClassifier(DecisionTreeClassifier()), "decision_function")


def test_grid_search_over_tolerances_in_a_pipeline():
    group, label, features = draw(6)
    rows = table(group, features)
    search = GridSearchCV(
        make_pipeline(ThresholdClassifier(LogisticRegression(), (0, 1))),
        {"thresholdclassifier__tolerance": [0.0, 1.0]},
        cv=2,
    ).fit(rows, label)
    # accuracy alone wants no mitigation
    assert search.best_params_ == {"thresholdclassifier__tolerance": 1.0}


@BOTH
def test_nothing_is_predicted_before_fitting(kind):
    with pytest.raises(NotFittedError):
        kind(LogisticRegression(), (0, 1)).predict(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("kind", "changes", "field"),
    [
        (ReweighingClassifier, {"protected": (0, 9)}, "protected"),
        (ReweighingClassifier, {"protected": (0, 0)}, "protected"),
        (ReweighingClassifier, {"protected": (0, 1, 2, 3, 4)}, "protected"),
        (ReweighingClassifier, {"protected": (1, 2)}, "protected"),
        (ReweighingClassifier, {"groups": ((0,), (0,))}, "groups"),
        (ReweighingClassifier, {"label_p": 0.4, "label_q": 0.6}, "label_p"),
        (ReweighingClassifier, {"assignment": "other"}, "assignment"),
        (ThresholdClassifier, {"criterion": "parity"}, "criterion"),
        (ThresholdClassifier, {"tolerance": 2.0}, "tolerance"),
        (ThresholdClassifier, {"objective": "f1"}, "objective"),
        (ThresholdClassifier, {"thresholds": 0}, "thresholds"),
        (ThresholdClassifier, {"held_out": 1.0}, "held_out"),
        (ThresholdClassifier, {"held_out": 1e-6}, "held_out"),
        (ThresholdClassifier, {"at_prediction": "never"}, "at_prediction"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(kind, changes, field):
    group, label, features = draw(7)
    made = kind(LogisticRegression(), (0, 1)).set_params(**changes)
    with pytest.raises(InvalidParameter) as caught:
        made.fit(table(group, features)[:300], label[:300])
    assert caught.value.field == field
