"""The learners of the extra ``dpsgd``: claims, saved models and refusals."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.central.accounting import ACCOUNTANTS, epsilon_spent
from hushpoll_training.learners.learner import Design, FitOptions
from hushpoll_training.learners.registry import create_learner

NAMES = ("women", "men", "a", "b")
QUICK = {
    "dpsgd": {"epochs": 10, "batch_size": 200, "learning_rate": 0.5, "epsilon": 4},
    "fairdp": {"steps": 60, "hidden": 8, "sample_rate": 0.05, "epsilon": 4},
}


def design(rows: int = 2000, **changes: object) -> Design:
    rng = np.random.default_rng(1)
    group = np.arange(rows) % 2
    features = rng.normal(size=(rows, 2))
    label = (features[:, 0] + 0.2 * rng.normal(size=rows) > 0).astype(np.int64)
    table = csr_matrix(np.column_stack([1 - group, group, features]))
    whole = {"table": table, "label": label, "names": NAMES, "protected": slice(0, 2)}
    return Design(**(whole | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", QUICK)
def test_model_learns_and_is_read_as_it_was_saved(name: str):
    rows = design()
    fitted = create_learner(name, QUICK[name]).fit(rows, FitOptions(noise_seed=2))
    scores = fitted.scores(rows.table)
    assert np.mean((scores > 0.5) == rows.label) > 0.8
    again = fitted.learner.load(fitted.save(), NAMES)
    assert (again.scores(rows.table) == scores).all()
    assert fitted.learner.versions().keys() >= {"opacus", "torch"}


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_noise_of_the_plans_spends_what_is_claimed(accountant: str):
    chosen = {"accountant": accountant}
    dpsgd = create_learner("dpsgd", QUICK["dpsgd"] | chosen)
    plan = dpsgd.plan(2000)
    spent = epsilon_spent(accountant, [plan.schedule(2000)], plan.noise_multiplier, 1e-5)
    assert 3.95 < spent <= dpsgd.claim.epsilon == 4
    fairdp = create_learner("fairdp", QUICK["fairdp"] | chosen)
    plan = fairdp.plan()
    assert epsilon_spent(accountant, plan.schedules(), plan.noise_multiplier, 1e-5) <= 4
    assert "group stays as it is" in fairdp.claim.neighbours
    assert fairdp.claim.accountant.endswith("of Opacus, in parallel over the groups")


def test_fairdp_never_reads_the_protected_columns_when_it_scores():
    rows = design()
    fitted = create_learner("fairdp", QUICK["fairdp"]).fit(rows, FitOptions(noise_seed=2))
    other = rows.table.toarray()
    other[:, :2] = 1 - other[:, :2]
    assert fitted.scores(other) == pytest.approx(fitted.scores(rows.table))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protected": None}, "declare one in the manifest, or use the learner dpsgd"),
        ({"protected": slice(2, 4)}, "train it on rows in clear, or use the learner dpsgd"),
        ({"protected": slice(0, 1), "table": np.ones((2000, 4))}, "all rows are of one group"),
        ({"weight": np.ones(2000)}, "takes no weights of rows"),
        ({"label": np.zeros(2000, np.int64)}, "all of one class"),
    ],
)
def test_designs_that_fairdp_cannot_take_are_refused(changes: dict[str, object], message: str):
    with pytest.raises(InvalidParameter, match=message):
        create_learner("fairdp", QUICK["fairdp"]).fit(design(**changes), FitOptions())


@pytest.mark.parametrize("name", QUICK)
def test_learner_without_privacy_has_no_noise_and_claims_nothing(name: str):
    rows = design()
    plain = create_learner(name, QUICK[name] | {"epsilon": 0.01}).without_privacy()
    assert plain.claim.epsilon is None
    fitted = plain.fit(rows, FitOptions(noise_seed=1))
    assert np.mean((fitted.scores(rows.table) > 0.5) == rows.label) > 0.85
