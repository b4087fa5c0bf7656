"""LDPClassifier is a classifier of scikit-learn's, and the same model as everywhere else."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training import LDPClassifier, RecordEncoder, fit_records, load_model, save_model
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.recipe import Recipe

FEW = {"n_estimators": 12, "num_leaves": 7}


@pytest.fixture(scope="module")
def encoded(survey, people, perturbed):
    published = survey(epsilon="4", protocol="SS", target={"protocol": "GRR"})
    records = perturbed(published, people(2000))
    encoder = RecordEncoder(published).fit(records)
    return encoder, encoder.transform(records), encoder.labels(records)[0], records


def test_check_estimator_passes_without_exception():
    results = check_estimator(LDPClassifier(n_estimators=20), on_skip=None)
    assert {one["status"] for one in results} <= {"passed", "skipped"}
    assert sum(one["status"] == "passed" for one in results) >= 60


def test_its_parameters_are_those_of_the_learner():
    parameters = LDPClassifier().get_params()
    assert {name: parameters.pop(name) for name in LightGBM.bounds} == {
        name: one.default for name, one in LightGBM.bounds.items()
    }
    assert set(parameters) == {"label_p", "label_q", "random_state", "n_jobs"}


def test_sparse_and_dense_give_the_same_predictions(encoded):
    _, sparse, label, _ = encoded
    dense = sparse.toarray()
    one, other = (LDPClassifier(**FEW).fit(table, label) for table in (sparse, dense))
    found = one.predict_proba(sparse)
    assert np.unique(found).size > 20
    for model in (one, other):
        for table in (sparse, dense, csr_matrix(dense)):
            assert (model.predict_proba(table) == found).all()


def test_scores_are_about_the_truth_where_labels_were_randomised(encoded):
    encoder, table, label, _ = encoded
    target = encoder.published.attribute("income").oracle
    p, q = float(target.p), float(target.q)
    plain = LDPClassifier(**FEW).fit(table, label)
    made = LDPClassifier.for_survey(encoder.published, **FEW).fit(table, label)
    assert made.label_p == pytest.approx(p)
    chance = np.clip((plain.predict_proba(table)[:, 1] - q) / (p - q), 0, 1)
    assert made.predict_proba(table)[:, 1] == pytest.approx(chance)
    assert (made.predict(table) == (chance > 0.5)).all()


def test_labels_of_any_two_kinds_and_weights(encoded):
    _, table, label, _ = encoded
    words = np.array(["no", "yes"])[label]
    made = LDPClassifier(**FEW).fit(table, words)
    assert made.classes_.tolist() == ["no", "yes"]
    assert set(made.predict(table)) == {"no", "yes"}
    ones = LDPClassifier(**FEW).fit(table, label, sample_weight=np.ones(len(label)))
    assert (ones.predict_proba(table) == made.predict_proba(table)).all()
    heavy = LDPClassifier(**FEW).fit(table, label, sample_weight=1 + 9 * label)
    assert heavy.predict(table).mean() > ones.predict(table).mean()
    for weight, words in (
        ([1.0], "shape"),
        (-np.ones(len(label)), "negative"),
        (0 * label, "all zero"),
    ):
        with pytest.raises(ValueError, match=words):
            LDPClassifier().fit(table, label, sample_weight=weight)


def test_random_states(encoded):
    _, table, label, _ = encoded
    options = {**FEW, "subsample": 0.5, "subsample_freq": 1}

    def fitted(state):
        return LDPClassifier(**options, random_state=state).fit(table, label).predict_proba(table)

    assert (fitted(3) == fitted(3)).all()
    assert (fitted(3) != fitted(4)).any()
    assert (fitted(np.random.RandomState(5)) == fitted(np.random.RandomState(5))).all()
    assert (fitted(None) != fitted(None)).any()


def test_a_fitted_line_is_saved_as_the_models_of_train_are(encoded, people, tmp_path):
    encoder, table, label, records = encoded
    made = LDPClassifier.for_survey(encoder.published, **FEW).fit(table, label)
    save_model(made.to_model(encoder), tmp_path / "ours", {})
    theirs = fit_records(Records(encoder.published, records), Recipe.of(FEW), FitOptions())
    save_model(theirs, tmp_path / "theirs", {})
    for name in ("model.txt", "model.json"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    codes = people(300, seed=8)
    loaded = load_model(tmp_path / "ours")
    ours = made.predict_proba(encoder.transform_clear(codes))[:, 1]
    assert loaded.scores(codes).tolist() == ours.tolist()


def test_only_what_fits_together_becomes_a_model(encoded):
    encoder, table, label, _ = encoded
    survey = encoder.published
    with pytest.raises(InvalidParameter, match="label_p and label_q are 1 and 0"):
        LDPClassifier(**FEW).fit(table, label).to_model(encoder)
    with pytest.raises(InvalidParameter, match="takes 3 columns and the encoder gives 12"):
        LDPClassifier.for_survey(survey, **FEW).fit(table[:, :3], label).to_model(encoder)
    with pytest.raises(InvalidParameter, match="fitted to 0 and 1"):
        LDPClassifier.for_survey(survey, **FEW).fit(table, label + 1).to_model(encoder)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"num_leaves": 1}, "num_leaves"),
        ({"label_p": 0.4, "label_q": 0.6}, "label_p"),
        ({"n_jobs": 0}, "threads"),
        ({"random_state": -1}, "seed"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(encoded, changes, field):
    _, table, label, _ = encoded
    made = clone(LDPClassifier()).set_params(**changes)
    with pytest.raises(InvalidParameter) as caught:
        made.fit(table, label)
    assert caught.value.field == field


def test_more_than_two_classes_are_refused(encoded):
    _, table, label, _ = encoded
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        LDPClassifier().fit(table, np.arange(len(label)) % 3)
