"""Learners with noise on a polynomial objective: what they claim, take, save and refuse."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.claim import privacy_sentence
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, UnsoundModel

NAMES = ("women", "men", "a", "b")
LEARNERS = ("functional-mechanism", "fairfm")
pytestmark = pytest.mark.parametrize("name", LEARNERS)


def design(rows: int = 4000, **changes: object) -> Design:
    rng = np.random.default_rng(1)
    group = np.arange(rows) % 2
    features = rng.normal(size=(rows, 2))
    label = (features[:, 0] + 0.2 * rng.normal(size=rows) > 0).astype(np.int64)
    table = np.column_stack([1 - group, group, features])
    whole = {"table": table, "label": label, "names": NAMES, "protected": slice(0, 2)}
    return Design(**(whole | changes))  # type: ignore[arg-type]


def test_model_learns_and_is_read_as_it_was_saved(name: str):
    rows = design()
    fitted = create_learner(name, {"epsilon": 2.0}).fit(rows, FitOptions(noise_seed=1))
    scores = fitted.scores(rows.table)
    assert np.mean((scores > 0.5) == rows.label) > 0.85
    again = fitted.learner.load(fitted.save(), NAMES)
    assert again.scores(csr_matrix(rows.table)) == pytest.approx(scores)


def test_noise_is_fresh_unless_a_simulation_seeds_it(name: str):
    rows = design(2000)
    fits = [
        create_learner(name).fit(rows, FitOptions(seed=3, noise_seed=seed)).scores(rows.table)
        for seed in (None, None, 5, 5)
    ]
    assert (fits[0] != fits[1]).any()
    assert (fits[2] == fits[3]).all()


def test_claim_is_pure_and_names_the_neighbours(name: str):
    sentence = privacy_sentence(create_learner(name, {"epsilon": 0.5}).to_json()["privacy"])
    assert "(0.5, 0)-differentially private" in sentence
    assert "add or remove one row" in sentence


def test_learner_without_privacy_has_no_noise_and_claims_nothing(name: str):
    rows = design(300)
    plain = create_learner(name, {"epsilon": 1e-3}).without_privacy()
    assert plain.claim.epsilon is None
    fits = [plain.fit(rows, FitOptions()).scores(rows.table) for _ in range(2)]
    assert (fits[0] == fits[1]).all()
    assert np.mean((fits[0] > 0.5) == rows.label) > 0.9


def test_long_rows_weigh_no_more_than_the_radius_allows(name: str):
    near, far = design(2000), design(2000)
    near.table[0, 2:] *= 30 / np.abs(near.table[0]).sum()
    far.table[0, 2:] = near.table[0, 2:] * 1e6
    models = [create_learner(name).fit(rows, FitOptions(noise_seed=1)) for rows in (near, far)]
    scores = [model.scores(design(300).table) for model in models]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


def test_bad_designs_and_files_are_refused(name: str):
    learner = create_learner(name)
    with pytest.raises(InvalidParameter, match="takes no weights of rows"):
        learner.fit(design(10, weight=np.ones(10)), FitOptions())
    with pytest.raises(UnsoundModel, match="cannot be read"):
        learner.load({"weights.npz": b"other"}, NAMES)
