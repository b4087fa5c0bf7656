"""Private logistic regression as a learner: what it claims, takes, saves and refuses."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.audits.predictions import cross_fit
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.claim import privacy_sentence
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, UnsoundModel
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.tuning.folds import Problem

NAMES = ("a", "b", "c")


def design(rows: int = 3000, scale: float = 1.0, **changes: object) -> Design:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(rows, 3)) * scale
    label = (table[:, 0] > 0.2 * scale * rng.normal(size=rows)).astype(np.int64)
    return Design(**{"table": table, "label": label, "names": NAMES, **changes})  # type: ignore[arg-type]


def learner(**parameters: float):
    return create_learner("output-perturbation", parameters)


def test_model_learns_and_is_read_as_it_was_saved():
    rows = design()
    fitted = learner(epsilon=4.0).fit(rows, FitOptions(noise_seed=1))
    scores = fitted.scores(rows.table)
    assert np.mean((scores > 0.5) == rows.label) > 0.85
    again = fitted.learner.load(fitted.save(), NAMES)
    assert again.scores(csr_matrix(rows.table)) == pytest.approx(scores)


def test_noise_is_fresh_unless_a_simulation_seeds_it():
    rows = design(200)
    fits = [
        learner().fit(rows, FitOptions(seed=3, noise_seed=seed)).scores(rows.table)
        for seed in (None, None, 5, 5)
    ]
    assert (fits[0] != fits[1]).any()
    assert (fits[2] == fits[3]).all()


def test_claim_names_epsilon_delta_and_neighbours():
    sentence = privacy_sentence(learner(epsilon=0.5, delta=1e-6).to_json()["privacy"])
    assert "(0.5, 1e-06)-differentially private" in sentence
    assert "replace one row" in sentence


def test_long_rows_weigh_no_more_than_the_radius_allows():
    """One row a thousand times as long moves the weights as little as one at the radius."""
    near, far = design(200), design(200)
    near.table[0] *= 3 / np.linalg.norm(near.table[0])
    far.table[0] = near.table[0] * 1000
    weights = [
        learner(radius=2.0).fit(rows, FitOptions(noise_seed=1)).save() for rows in (near, far)
    ]
    assert weights[0] == weights[1]


def test_bad_designs_and_parameters_are_refused():
    with pytest.raises(InvalidParameter, match="takes no weights of rows"):
        learner().fit(design(10, weight=np.ones(10)), FitOptions())
    with pytest.raises(
        InvalidParameter, match=r"epsilon is 65; it must be a number in \[1e-06, 64\]"
    ):
        learner(epsilon=65)
    with pytest.raises(UnsoundModel, match="cannot be read"):
        learner().load({"weights.npz": b"other"}, NAMES)


def test_learner_without_privacy_has_no_noise_and_claims_nothing():
    rows = design(300)
    plain = learner(epsilon=1e-3).without_privacy()
    assert plain.claim.epsilon is None
    fits = [plain.fit(rows, FitOptions()).scores(rows.table) for _ in range(2)]
    assert (fits[0] == fits[1]).all()
    assert np.mean((fits[0] > 0.5) == rows.label) > 0.9


def test_private_learner_is_refused_where_it_would_be_fitted_many_times(survey, people, perturbed):
    published = survey()
    records = Records(published, perturbed(published, people(20)))
    recipe = Recipe(learner())
    with pytest.raises(InvalidParameter, match="cross-fitting fits it several times"):
        cross_fit(records, recipe, FitOptions(), folds=2)
    problem = Problem(published, {}, records, ((np.arange(2), np.arange(2)),), "accuracy", 0)
    with pytest.raises(InvalidParameter, match="a search fits it several times"):
        next(problem.scores(recipe))
