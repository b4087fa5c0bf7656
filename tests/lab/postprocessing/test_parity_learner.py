"""Learners with parity: equal shares on new rows, the same decision for the same row, refusals."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learner_registry import LEARNERS, create_learner
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, UnsoundModel

NAMES = ("women", "men", "a", "b")


def design(rows: int = 6000, seed: int = 1, **changes: object) -> Design:
    rng = np.random.default_rng(seed)
    group = (rng.random(rows) < 0.6).astype(np.int64)
    features = rng.normal(size=(rows, 2))
    label = (features[:, 0] + 0.9 * group - 0.5 + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)
    table = csr_matrix(np.column_stack([1 - group, group, features]))
    whole = {"table": table, "label": label, "names": NAMES, "protected": slice(0, 2)}
    return Design(**(whole | changes))  # type: ignore[arg-type]


def shares(scores: np.ndarray, rows: Design) -> list[float]:
    group = rows.table.toarray()[:, 1]
    return [float(np.mean(scores[group == number] > 0.5)) for number in (0, 1)]


@pytest.mark.parametrize("name", ["lightgbm-parity", "output-perturbation-parity"])
def test_groups_get_the_same_share_on_rows_that_were_not_trained_on(name: str):
    learner = create_learner(name, {"rate_epsilon": 2.0})
    fitted = learner.fit(design(), FitOptions(seed=1, noise_seed=1))
    new = design(seed=2)
    before, after = (
        shares(scores, new)
        for scores in (fitted.fitted.scores(new.table), fitted.scores(new.table))
    )
    assert abs(before[0] - before[1]) > 0.2
    assert abs(after[0] - after[1]) < 0.06
    assert np.mean((fitted.scores(new.table) > 0.5) == new.label) > 0.7


def test_same_row_always_gets_the_same_decision_in_any_form():
    fitted = create_learner("lightgbm-parity").fit(design(), FitOptions())
    new = design(seed=3)
    scores = fitted.scores(new.table)
    assert (fitted.scores(new.table.toarray()) == scores).all()
    order = np.random.default_rng(1).permutation(scores.size)
    assert (fitted.scores(new.table[order]) == scores[order]).all()


def test_coins_are_uniform_over_rows_and_independent_of_those_of_another_seed():
    new = design(seed=4)
    coins = [
        create_learner("lightgbm-parity", {"n_estimators": 1})
        .fit(design(400), FitOptions(seed=seed))
        .coins(new.table)
        for seed in (1, 2)
    ]
    assert np.histogram(coins[0], bins=10, range=(0, 1))[0] / 6000 == pytest.approx(0.1, abs=0.02)
    assert abs(np.corrcoef(coins)[0, 1]) < 0.06


def test_scores_keep_the_order_among_rows_that_are_predicted_alike():
    fitted = create_learner("lightgbm-parity").fit(design(), FitOptions())
    new = design(seed=5)
    own, scores = fitted.fitted.scores(new.table), fitted.scores(new.table)
    assert ((scores >= 0) & (scores <= 1)).all()
    for positive in (True, False):
        chosen = (scores > 0.5) == positive
        assert (
            np.argsort(own[chosen], kind="stable") == np.argsort(scores[chosen], kind="stable")
        ).all()


@pytest.mark.parametrize("name", ["lightgbm-parity", "output-perturbation-parity"])
def test_model_is_read_as_it_was_saved(name: str):
    learner = create_learner(name)
    fitted = learner.fit(design(), FitOptions(noise_seed=1))
    files = fitted.save()
    assert set(files) == set(learner.files)
    rows = design(seed=6).table
    assert (learner.load(files, NAMES).scores(rows) == fitted.scores(rows)).all()


@pytest.mark.parametrize(
    "change",
    [{"flip": [[0, 2], [0, 0]]}, {"key": "00"}, {"protected": [0, 9]}, {"protected": None}],
)
def test_altered_rules_are_refused(change: dict[str, object]):
    learner = create_learner("lightgbm-parity", {"n_estimators": 2})
    files = learner.fit(design(300), FitOptions()).save()
    altered = json.dumps(json.loads(files["parity.json"]) | change).encode()
    with pytest.raises(UnsoundModel) as caught:
        learner.load(files | {"parity.json": altered}, NAMES)
    assert caught.value.file == "parity.json"


def test_claim_is_the_sum_of_the_learners_and_of_both_rates():
    private = create_learner("output-perturbation-parity", {"epsilon": 2.9, "rate_epsilon": 0.05})
    assert private.claim.epsilon == pytest.approx(3.0)
    assert "discrete Laplace" in private.claim.accountant
    assert create_learner("lightgbm-parity").claim.epsilon is None
    exact = create_learner("output-perturbation-parity", {"rate_epsilon": 0})
    assert exact.claim.epsilon is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protected": None}, "declare one in the manifest"),
        ({"protected": slice(2, 4)}, "needs each row's group in clear"),
        ({"protected": slice(0, 1), "table": np.ones((6000, 4))}, r"have the categories \[1\]"),
    ],
)
def test_designs_without_two_groups_are_refused(changes: dict[str, object], message: str):
    with pytest.raises(InvalidParameter, match=message):
        create_learner("lightgbm-parity").fit(design(**changes), FitOptions())


def test_third_category_is_refused():
    rows = design(300)
    table = np.column_stack([rows.table.toarray(), np.zeros(300)])[:, [0, 1, 4, 2, 3]]
    table[0, :3] = [0, 0, 1]
    with pytest.raises(InvalidParameter, match=r"have the categories \[1, 2, 3\]"):
        create_learner("lightgbm-parity").fit(
            design(300, table=table, names=(*NAMES, "x"), protected=slice(0, 3)), FitOptions()
        )


@pytest.mark.parametrize("rows", [3, 4])
def test_every_row_is_held_out_by_a_draw_of_its_own(rows: int):
    """So the three others of four rows have the law of three rows, wherever the fourth stands.

    By a public seed and their places, a row that is added in front would move all the others.
    """
    learner, draws = create_learner("lightgbm-parity", {"held_out": 0.4}), 5000
    patterns = np.zeros(2**rows)
    for _ in range(draws):
        held = learner.held_out(rows, FitOptions(seed=5))
        patterns[int(held @ 2 ** np.arange(rows))] += 1
    ones = np.array([number.bit_count() for number in range(2**rows)])
    assert patterns / draws == pytest.approx(0.4**ones * 0.6 ** (rows - ones), abs=0.05)


def test_simulation_repeats_its_split():
    learner = create_learner("lightgbm-parity")
    first, again = (learner.held_out(50, FitOptions(seed=5, noise_seed=1)) for _ in range(2))
    assert (first == again).all()
    assert (first != learner.held_out(50, FitOptions(seed=6, noise_seed=1))).any()


def test_every_learner_with_parity_has_its_parameters_and_those_of_the_rule():
    for name, learner in LEARNERS.items():
        if name.endswith("-parity"):
            behind = LEARNERS[name.removesuffix("-parity")]
            assert set(learner.bounds) == {*behind.bounds, "rate_epsilon", "held_out"}
