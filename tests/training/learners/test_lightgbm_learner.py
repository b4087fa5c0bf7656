"""The learner equals LightGBM's own classifier and reproduces itself."""

import lightgbm
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.lightgbm_learner import fit, scores

NAMES = [f"c{i}" for i in range(12)]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    features = rng.integers(0, 2, (3000, 12)).astype(np.float32)
    chance = 1 / (1 + np.exp(-(features @ rng.normal(size=12) - 1)))
    return csr_matrix(features), (rng.random(3000) < chance).astype(np.int64)


PARAMETERS = {"n_estimators": 40, "max_depth": 5, "learning_rate": 0.07, "min_child_samples": 11}


def test_it_equals_lightgbms_classifier(table):
    features, label = table
    ours = scores(fit(features, label, NAMES, PARAMETERS, seed=4), features)
    classifier = lightgbm.LGBMClassifier(
        objective="binary", random_state=4, n_jobs=1, verbosity=-1, **PARAMETERS
    ).fit(features, label)
    theirs = classifier.predict_proba(features)[:, 1]
    assert np.unique(theirs).size > 100
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_the_number_of_threads_changes_nothing(table):
    one = fit(*table, NAMES, PARAMETERS, seed=4, threads=1)
    two = fit(*table, NAMES, PARAMETERS, seed=4, threads=2)
    assert scores(one, table[0]).tolist() == scores(two, table[0], threads=2).tolist()


def test_the_seed_decides_what_is_sampled(table):
    sampling = PARAMETERS | {"subsample": 0.5, "subsample_freq": 1}
    found = [scores(fit(*table, NAMES, sampling, seed=seed), table[0]) for seed in (1, 1, 2)]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


def test_scoring_in_parts_equals_scoring_at_once(table, monkeypatch):
    booster = fit(*table, NAMES, PARAMETERS, seed=4)
    whole = scores(booster, table[0])
    monkeypatch.setattr("hushpoll_training.learners.lightgbm_learner.PREDICT_ROWS", 700)
    assert scores(booster, table[0]).tolist() == whole.tolist()
    assert scores(booster, table[0][:0]).shape == (0,)


def test_every_round_is_reported(table):
    seen = []
    fit(*table, NAMES, PARAMETERS, seed=4, on_round=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 40) for done in range(1, 41)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"seed": -1}, "seed"), ({"seed": 2**31}, "seed"), ({"threads": 0}, "threads")],
)
def test_bad_seed_and_threads_are_refused(table, changes, field):
    with pytest.raises(InvalidParameter) as caught:
        fit(*table, NAMES, PARAMETERS, **({"seed": 1} | changes))
    assert caught.value.field == field


def test_labels_of_one_class_are_refused(table):
    with pytest.raises(InvalidParameter, match="all of one class"):
        fit(table[0], np.ones(3000, dtype=np.int64), NAMES, PARAMETERS, seed=1)
