"""The learner equals LightGBM's own classifier and reproduces itself."""

import lightgbm
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM, safe_names

NAMES = tuple(f"c{i}" for i in range(12))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    features = rng.integers(0, 2, (3000, 12)).astype(np.float32)
    chance = 1 / (1 + np.exp(-(features @ rng.normal(size=12) - 1)))
    return csr_matrix(features), (rng.random(3000) < chance).astype(np.int64)


PARAMETERS = {"n_estimators": 40, "max_depth": 5, "learning_rate": 0.07, "min_child_samples": 11}


def fit(features, label, parameters, **options):
    return LightGBM(parameters).fit(Design(features, label, NAMES), FitOptions(**options))


def test_it_equals_lightgbms_classifier(table):
    features, label = table
    ours = fit(features, label, PARAMETERS, seed=4).scores(features)
    classifier = lightgbm.LGBMClassifier(
        objective="binary", random_state=4, n_jobs=1, verbosity=-1, **PARAMETERS
    ).fit(features, label)
    theirs = classifier.predict_proba(features)[:, 1]
    assert np.unique(theirs).size > 100
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_the_number_of_threads_changes_nothing(table):
    one = fit(*table, PARAMETERS, seed=4, threads=1)
    two = fit(*table, PARAMETERS, seed=4, threads=2)
    assert one.scores(table[0]).tolist() == two.scores(table[0], threads=2).tolist()


def test_the_seed_decides_what_is_sampled(table):
    sampling = PARAMETERS | {"subsample": 0.5, "subsample_freq": 1}
    found = [fit(*table, sampling, seed=seed).scores(table[0]) for seed in (1, 1, 2)]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


def test_scoring_in_parts_equals_scoring_at_once(table, monkeypatch):
    trees = fit(*table, PARAMETERS, seed=4)
    whole = trees.scores(table[0])
    monkeypatch.setattr("hushpoll_training.learners.lightgbm.PREDICT_ROWS", 700)
    assert trees.scores(table[0]).tolist() == whole.tolist()
    assert trees.scores(table[0][:0]).shape == (0,)


def test_every_round_is_reported(table):
    seen = []
    fit(*table, PARAMETERS, seed=4, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 40) for done in range(1, 41)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"seed": -1}, "seed"), ({"seed": 2**31}, "seed"), ({"threads": 0}, "threads")],
)
def test_bad_seed_and_threads_are_refused(table, changes, field):
    with pytest.raises(InvalidParameter) as caught:
        fit(*table, PARAMETERS, **({"seed": 1} | changes))
    assert caught.value.field == field


def test_labels_of_one_class_are_refused(table):
    with pytest.raises(InvalidParameter, match="all of one class"):
        fit(table[0], np.ones(3000, dtype=np.int64), PARAMETERS, seed=1)


def test_safe_names_differ_and_are_taken_by_lightgbm_as_they_are(survey):
    names = safe_names(one_hot_features(survey()).names)
    assert len(set(names)) == len(names) == 12
    table = lightgbm.Dataset(
        np.eye(12), label=np.arange(12) % 2, feature_name=list(names), params={"verbosity": 1}
    )
    assert tuple(table.construct().get_feature_name()) == names
