"""Private learners refuse nothing because of the rows: a refusal would tell what they protect."""

import numpy as np
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learner_registry import LEARNERS, create_learner
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions

PRIVATE = [
    name
    for name, learner in LEARNERS.items()
    if learner.extra is None and create_learner(name).claim.epsilon is not None
]
"""Those of the extra dpsgd are in tests/dpsgd/test_learners.py."""


def design(rows: int = 600, *, positive: int = 0, men: int | None = None) -> Design:
    """Return rows of which the last ones are positive, and the last ones are men."""
    group = np.arange(rows) % 2 if men is None else (np.arange(rows) >= rows - men).astype(int)
    features = np.random.default_rng(1).normal(size=(rows, 2))
    label = (np.arange(rows) >= rows - positive).astype(np.int64)
    table = np.column_stack([1 - group, group, features])
    return Design(table, label, ("women", "men", "a", "b"), slice(0, 2))


@pytest.mark.parametrize("positive", [0, 1, 599, 600])
@pytest.mark.parametrize("name", PRIVATE)
def test_one_class_is_no_reason_to_refuse(name: str, positive: int):
    """The neighbour with another label gives a model, so the data set without it does, too."""
    rows = design(positive=positive)
    fitted = create_learner(name, {"epsilon": 20.0}).fit(rows, FitOptions(noise_seed=1))
    scores = fitted.scores(rows.table)
    assert np.isfinite(scores).all()
    if not name.endswith("-parity"):  # where a coin of chance one half may flip predictions
        assert np.mean(scores > 0.5) == pytest.approx(positive / 600, abs=0.01)


@pytest.mark.parametrize("men", [0, 1, 600])
@pytest.mark.parametrize("name", [name for name in PRIVATE if not name.endswith("-parity")])
def test_one_group_is_no_reason_to_refuse(name: str, men: int):
    rows = design(positive=300, men=men)
    fitted = create_learner(name, {"epsilon": 20.0}).fit(rows, FitOptions(noise_seed=1))
    assert np.isfinite(fitted.scores(rows.table)).all()


@pytest.mark.parametrize("rows", [0, 1])
def test_functional_mechanism_fits_no_rows_since_their_number_is_not_public(rows: int):
    fitted = create_learner("functional-mechanism").fit(design(rows), FitOptions(noise_seed=1))
    assert np.isfinite(fitted.scores(design(10).table)).all()


def test_no_rows_are_refused_where_their_number_is_public():
    learner = create_learner("output-perturbation")
    assert "replace one row" in str(learner.claim.neighbours)
    with pytest.raises(InvalidParameter, match="there are 0 rows"):
        learner.fit(design(0), FitOptions())
