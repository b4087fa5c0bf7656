"""The learners of the extra ``dpsgd``: claims, saved models and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_lab.central.accounting import ACCOUNTANTS, epsilon_spent
from hushpoll_lab.central.dpsgd import train_dpsgd
from hushpoll_lab.central.logistic import minimise
from hushpoll_lab.learners.output_perturbation import (
    LinearModel,
    bounded,
    with_constant,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learner_registry import LEARNERS, create_learner
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions

NAMES = ("women", "men", "a", "b")
QUICK = {
    "dpsgd": {"epochs": 10, "batch_size": 200, "learning_rate": 0.5, "epsilon": 4},
    "penalised-dpsgd": {"epochs": 10, "batch_size": 2000, "epsilon": 4},
    "dpsgd-f": {"epochs": 10, "batch_size": 200, "learning_rate": 0.5, "epsilon": 4},
    "dp-fermi": {"epochs": 10, "batch_size": 200, "epsilon": 4},
    "smoothed-dpsgd": {
        "epochs": 10,
        "batch_size": 200,
        "learning_rate": 0.5,
        "epsilon": 4,
        "smoothing": 0.05,
    },
    "fairdp": {"steps": 60, "hidden": 8, "sample_rate": 0.05, "epsilon": 4},
}

GROUPED = ("dpsgd-f", "dp-fermi", "fairdp")


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


def test_penalised_model_is_as_close_to_the_best_one_as_promised_and_no_gradient_is_clipped():
    rows = design()
    learner = create_learner("penalised-dpsgd", {"epochs": 80, "batch_size": 2000, "epsilon": 4})
    plan = learner.plan(2000)
    assert learner.without_privacy().plan(2000).noise_multiplier == 0
    inputs = bounded(rows.table, learner.feature_radius)
    best = minimise(with_constant(inputs), rows.label, 0.1).weights
    drawn = []
    for seed in range(15):
        network = train_dpsgd(inputs, rows.label, plan, noise_seed=seed)
        drawn.append(np.linalg.norm(network.linear_weights - best))
    bound = LinearModel(learner, network).distance(2000, 0.01)
    assert max(drawn) < bound < 4 * max(drawn)
    steady = train_dpsgd(inputs, rows.label, learner.without_privacy().plan(2000), noise_seed=1)
    assert np.linalg.norm(steady.linear_weights - best) < bound / 3


def test_fairdp_never_reads_the_protected_columns_when_it_scores():
    rows = design()
    fitted = create_learner("fairdp", QUICK["fairdp"]).fit(rows, FitOptions(noise_seed=2))
    other = rows.table.toarray()
    other[:, :2] = 1 - other[:, :2]
    assert fitted.scores(other) == pytest.approx(fitted.scores(rows.table))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protected": None}, "declare one in the manifest, train on rows in clear"),
        ({"protected": slice(2, 4)}, "train it on rows in clear, or use the learner dpsgd"),
        ({"protected": slice(0, 1), "table": np.ones((2000, 4))}, "has a single category"),
        ({"weight": np.ones(2000)}, "takes no weights of rows"),
    ],
)
@pytest.mark.parametrize("name", GROUPED)
def test_designs_whose_groups_are_not_told_are_refused(
    name: str, changes: dict[str, object], message: str
):
    with pytest.raises(InvalidParameter, match=message):
        create_learner(name, QUICK[name]).fit(design(**changes), FitOptions())


def test_every_learner_of_the_extra_is_here():
    assert set(QUICK) == {
        name
        for name, learner in LEARNERS.items()
        if learner.extra == "dpsgd" and not name.endswith("-parity")
    }


@pytest.mark.parametrize(
    ("positive", "men"), [(0, None), (1, None), (200, None), (100, 0), (100, 1), (100, 200)]
)
@pytest.mark.parametrize("name", QUICK)
def test_one_class_or_one_group_is_no_reason_to_refuse(name: str, positive: int, men: int | None):
    """The neighbour with another row gives a model, so the data set without it does, too."""
    places = np.arange(200)
    group = places % 2 if men is None else (places >= 200 - men).astype(int)
    features = np.random.default_rng(1).normal(size=(200, 2))
    rows = design(
        table=csr_matrix(np.column_stack([1 - group, group, features])),
        label=(places >= 200 - positive).astype(np.int64),
    )
    few = {"steps": 3} if name == "fairdp" else {"epochs": 2}
    parameters = QUICK[name] | few | {"accountant": "rdp"}
    if name == "dp-fermi" and men is not None:
        # The groups' counts have noise, and so has this refusal: two are wanted for a penalty.
        with pytest.raises(InvalidParameter, match="which noise alone can reach"):
            create_learner(name, parameters).fit(rows, FitOptions(noise_seed=1))
        return
    if name == "dp-fermi":
        parameters |= {"count_epsilon": 1.0}
    fitted = create_learner(name, parameters).fit(rows, FitOptions(noise_seed=1))
    assert np.isfinite(fitted.scores(rows.table)).all()


@pytest.mark.parametrize("name", QUICK)
def test_no_rows_are_refused_only_where_their_number_is_public(name: str):
    few = {"steps": 3, "accountant": "rdp"} if name == "fairdp" else {}
    learner, empty = create_learner(name, QUICK[name] | few), design(0)
    if "the number of rows is public" in learner.claim.neighbours:
        with pytest.raises(InvalidParameter, match="there are 0 rows"):
            learner.fit(empty, FitOptions())
    else:
        fitted = learner.fit(empty, FitOptions(noise_seed=1))
        assert np.isfinite(fitted.scores(design(5).table)).all()


@pytest.mark.parametrize("name", QUICK)
def test_learner_without_privacy_has_no_noise_and_claims_nothing(name: str):
    rows = design()
    plain = create_learner(name, QUICK[name] | {"epsilon": 0.1}).without_privacy()
    assert plain.claim.epsilon is None
    fitted = plain.fit(rows, FitOptions(noise_seed=1))
    assert np.mean((fitted.scores(rows.table) > 0.5) == rows.label) > 0.85


def several(rows: int = 600) -> Design:
    """Return rows with a second protected attribute of three categories, and one more without."""
    plain, town = design(rows), np.arange(rows) // 2 % 3
    table = np.column_stack([plain.table.toarray(), np.eye(3)[town], np.eye(2)[town % 2]])
    names = (*NAMES, "town=a", "town=b", "town=c", "pet=no", "pet=yes")
    places = {"sex": slice(0, 2), "town": slice(4, 7), "pet": slice(7, 9)}
    return Design(table, plain.label, names, slice(0, 2), attributes=places)


def test_groups_of_fairdp_are_the_combinations_of_several_attributes():
    rows = several()
    learner = create_learner("fairdp", QUICK["fairdp"] | {"further_groups": " town ,pet"})
    assert learner.parameters["further_groups"] == "town, pet"
    fitted = learner.fit(rows, FitOptions(noise_seed=2))
    assert fitted.last_step.groups == 2 * 3 * 2
    other = rows.table.copy()
    other[:, [0, 1, 4, 5, 6, 7, 8]] = other[:, [1, 0, 5, 6, 4, 8, 7]]
    assert fitted.scores(other) == pytest.approx(fitted.scores(rows.table))
    claims = [create_learner("fairdp", QUICK["fairdp"]).claim, learner.claim]
    assert claims[0] == claims[1]  # a row is in one group, however many attributes make it


def test_each_of_several_attributes_has_its_certificate():
    rows = several()
    learner = create_learner("fairdp", QUICK["fairdp"] | {"further_groups": "town"})
    proved = learner.fit(rows, FitOptions(noise_seed=2)).certificates(rows)
    alone = [proved[f"tau_demographic_parity_{name}"] for name in ("protected", "town")]
    # A group is a mean of the combinations in it, so its rate lies between theirs.
    assert 0 < max(alone) <= proved["tau_demographic_parity"] <= proved["tau_worst_case"]


def test_row_that_is_alone_in_its_combination_does_not_change_their_number():
    whole = several()
    learner = create_learner("fairdp", QUICK["fairdp"] | {"further_groups": "town, pet"})
    counts = [
        learner.groups(replace(whole, table=whole.table[:size], label=whole.label[:size])).count
        for size in (600, 1, 0)
    ]
    assert counts == [12, 12, 12]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("country", "has 'country'; it must name attributes .*: town, pet"),
        ("sex", "has 'sex'; it must name attributes"),
        ("town, town", "must be different names with commas between them"),
    ],
)
def test_bad_further_groups_are_refused(names: str, message: str):
    with pytest.raises(InvalidParameter, match=message):
        create_learner("fairdp", QUICK["fairdp"] | {"further_groups": names}).fit(
            several(), FitOptions()
        )
