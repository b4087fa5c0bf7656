"""Mitigation of several groups, of intersections, and of people who are in none of the two."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hushpoll_analysis import Records
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_server.jobs.limits import check_groups
from hushpoll_training import (
    FitOptions,
    Grouping,
    Recipe,
    RecordEncoder,
    ReweighingClassifier,
    ThresholdClassifier,
    cross_fit,
    fit_clear,
    fit_records,
    load_model,
    save_model,
)
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.evidence import GroupEvidence, Reports
from hushpoll_training.learners.grouping import crossed, split_code
from hushpoll_training.mitigation.report_law import CrossedLaw, ReportLaw
from hushpoll_training.reports.protection import protections
from hushpoll_training.runs.record import run_record
from hushpoll_training.runs.training_run import train_collected

FEW = {"n_estimators": 30, "num_leaves": 15}
NAMES = ("lightgbm-reweighed", "lightgbm-thresholds")
PATTERNS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.uint8)
TWO = ((0,), (1,))


def test_codes_of_combinations_count_the_last_attribute_fastest():
    assert crossed([((0,), (1, 2)), TWO], [3, 2]) == ((0,), (1,), (2, 4), (3, 5))
    assert crossed([((2,), (0,))], [3]) == ((2,), (0,))
    assert [split_code(code, [3, 2]) for code in (0, 1, 4, 5)] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    with pytest.raises(
        InvalidParameter, match="there are 40 groups, and there may be 32"
    ) as caught:
        crossed([tuple((code,) for code in range(20)), TWO], [20, 2])
    assert caught.value.field == "further_groups"


def test_groups_are_those_declared_all_people_or_categories():
    declared = ((1,), (0, 3))
    assert Grouping().of_protected(declared, 5) == declared
    assert Grouping("everybody").of_protected(declared, 5) == (*declared, (2, 4))
    assert Grouping("everybody").of_protected(TWO, 2) == TWO
    assert Grouping("categories").of_protected(declared, 3) == ((0,), (1,), (2,))
    assert Grouping().of_further(3, unanswered=1) == TWO
    assert Grouping("everybody").of_further(3, unanswered=1) == ((0,), (1,), (2,))
    with pytest.raises(InvalidParameter, match="must be one of declared, everybody, categories"):
        Grouping("both")
    with pytest.raises(InvalidParameter, match="must be different names"):
        Grouping(further=("race", "race"))


@pytest.mark.parametrize("name", ["OUE", "THE", "GRR"])
def test_products_of_weights_have_the_truth_of_both_attributes_as_expectation(name):
    """Exact, over all pairs of records: the mean of a row's weights is the one-hot pair."""
    first, second = create(name, k=2, epsilon="1.5"), create("GRR", k=3, epsilon="1")
    rows = np.eye(2, dtype=np.uint8) if first.names_one_value else PATTERNS
    law = np.kron(
        ReportLaw(first, TWO, 2).chances, ReportLaw(second, ((0,), (1,), (2,)), 3).chances
    )
    evidence = GroupEvidence(
        np.repeat(rows, 3, axis=0),
        first,
        tuple((code,) for code in range(6)),
        further=(Reports(np.tile(np.eye(3, dtype=np.uint8), (len(rows), 1)), second),),
    )
    assert evidence.k == 6
    assert law @ evidence.category_weights() == pytest.approx(np.eye(6), abs=1e-9)
    shares = law / np.maximum(evidence.likelihoods().T, 1e-300)
    assert shares == pytest.approx(np.tile(shares[:1], (6, 1)))  # likelihoods up to a factor a row


def test_chances_of_two_reports_are_products():
    laws = [ReportLaw(create("OUE", k=2, epsilon="1"), TWO, 2), ReportLaw(None, ((0,), (2,)), 3)]
    both = CrossedLaw(laws)
    assert both.chances == pytest.approx(np.kron(laws[0].chances, [[1, 0, 0], [0, 1, 0]]))
    clear = np.eye(3, dtype=np.uint8)[[0, 2, 1]]
    assert both.classes([PATTERNS[[3, 2, 1]], clear]).tolist() == [9, 7, 5]
    half = CrossedLaw([laws[0], ReportLaw(None, TWO, 2)])
    assert half.classes([PATTERNS[[3, 2]], np.eye(2, dtype=np.uint8)]).tolist() == [6, 5]


@pytest.fixture(scope="module")
def people_of_four():
    """Group and kind, features that follow both, and a label that does too."""
    rng = np.random.default_rng(3)
    n = 30_000
    first, second = rng.integers(0, 2, n), rng.integers(0, 3, n)
    features = rng.normal(size=(n, 3)) + np.stack([1.5 * first, 1.0 * second, 0 * first], axis=1)
    label = features[:, :2].sum(axis=1) + first * (second == 2) + rng.normal(size=n) > 1.8
    return first, second, features, label.astype(np.int64)


def perturbed_table(first, second, features, oracles, seed=1):
    rng = np.random.default_rng(seed)
    pair = zip((first, second), oracles, strict=True)
    own = [indicators(oracle, perturb(oracle, codes, rng)) for codes, oracle in pair]
    return np.column_stack([*own, features])


def clear_table(first, second, features):
    return np.column_stack([np.eye(2)[first], np.eye(3)[second], features])


def spread(first, second, predicted):
    rates = [predicted[(first == a) & (second == b)].mean() for a in (0, 1) for b in (0, 1, 2)]
    return max(rates) - min(rates)


def test_shares_of_intersections_are_unbiased(people_of_four):
    first, second, features, label = people_of_four
    oracles = create("OUE", k=2, epsilon="3"), create("GRR", k=3, epsilon="3")
    table = perturbed_table(first, second, features, oracles)
    made = ReweighingClassifier(LogisticRegression(), ((0, 1), (2, 3, 4)), oracle=oracles)
    joint = made.fit(table, label).reweighing_.joint
    truth = np.array(
        [
            [np.mean((first == a) & (second == b) & (label == y)) for y in (0, 1)]
            for a in (0, 1)
            for b in (0, 1, 2)
        ]
    )
    assert joint == pytest.approx(truth, abs=0.02)
    assert np.abs(joint.sum(axis=1) - 1 / 6).max() < 0.03


def test_thresholds_make_intersections_of_two_attributes_alike(people_of_four):
    first, second, features, label = people_of_four
    oracles = create("OUE", k=2, epsilon="3"), create("GRR", k=3, epsilon="3")
    table = perturbed_table(first, second, features, oracles)
    made = ThresholdClassifier(LogisticRegression(), ((0, 1), (2, 3, 4)), oracle=oracles)
    made.fit(table, label)
    plain = LogisticRegression().fit(features, label).predict(features)
    assert spread(first, second, plain) > 0.7
    assert spread(first, second, made.predict(clear_table(first, second, features))) < 0.12


def test_weights_make_the_label_independent_of_the_intersection(people_of_four):
    first, second, features, label = people_of_four
    oracles = create("OUE", k=2, epsilon="6"), create("GRR", k=3, epsilon="6")
    table = perturbed_table(first, second, features, oracles)
    made = ReweighingClassifier(LogisticRegression(), ((0, 1), (2, 3, 4)), oracle=oracles)
    weight = made.fit(table, label).weights_.weight
    own = [(first == a) & (second == b) for a in (0, 1) for b in (0, 1, 2)]
    rates = [label[rows].mean() for rows in own]
    weighed = [np.average(label[rows], weights=weight[rows]) for rows in own]
    assert max(rates) - min(rates) > 0.6
    assert max(weighed) - min(weighed) < 0.2


def test_rules_for_two_reports_make_the_true_intersections_alike(people_of_four):
    first, second, features, label = people_of_four
    oracles = create("OUE", k=2, epsilon="5"), create("GRR", k=3, epsilon="5")
    made = ThresholdClassifier(
        LogisticRegression(),
        [[0, 1], [2, 3, 4]],
        oracle=oracles,
        groups=[TWO, None],
        at_prediction="perturbed",
    ).fit(perturbed_table(first, second, features, oracles), label)
    assert made.rule_.chances.shape[0] == 4 * 3
    again = perturbed_table(first, second, features, oracles, seed=2)
    assert spread(first, second, made.predict(again)) < 0.15


def test_parameters_that_do_not_fit_the_attributes_are_refused(people_of_four):
    first, second, features, label = people_of_four
    table = clear_table(first, second, features)[:200]
    columns = ((0, 1), (2, 3, 4))
    for more, message in (
        ({"oracle": create("GRR", k=2, epsilon="1")}, "one oracle, or None"),
        ({"groups": (TWO,)}, "one tuple of groups"),
        ({"groups": (TWO, ((0,), (3,)))}, r"must lie in \[0, 2\]"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            ReweighingClassifier(LogisticRegression(), columns, **more).fit(table, label[:200])


@pytest.fixture(scope="module")
def collected(survey, people, perturbed):
    published = survey(epsilon="10", protocol="OUE", target={"protocol": None})
    return Records(published, perturbed(published, people(12_000)))


@pytest.fixture(scope="module")
def tested(people):
    return people(12_000, seed=3)


def fitted(records, learner="lightgbm", **parameters):
    return fit_records(records, Recipe.of(FEW | parameters, learner=learner), FitOptions(1))


def widest(model, codes, further="job"):
    """The widest gap of positive rates of Female and Male, by category of another attribute."""
    positive = model.predict(codes)
    rates = [
        positive[(codes["gender"] == a) & (codes[further] == b)].mean()
        for a in (0, 1)
        for b in np.unique(codes[further])
    ]
    return max(rates) - min(rates)


@pytest.mark.parametrize(("name", "left"), [(NAMES[0], 0.8), (NAMES[1], 0.4)])
def test_learners_make_intersections_alike(collected, tested, name, left, tmp_path):
    before = widest(fitted(collected), tested)
    model = fitted(collected, name, further_groups="job")
    assert before > 0.4
    assert widest(model, tested) < left * before
    assert widest(model, tested) < widest(fitted(collected, name), tested)
    save_model(model, tmp_path / "model", {})
    assert (load_model(tmp_path / "model").scores(tested) == model.scores(tested)).all()
    if name == NAMES[0]:
        changed = tested | {"job": (tested["job"] + 1) % 3}
        assert (model.scores(changed) == model.scores(tested)).all()


@pytest.mark.parametrize("kind", ["everybody", "categories"])
def test_people_of_no_group_are_a_group_if_asked_for(collected, tested, kind):
    model = fitted(collected, NAMES[1], groups=kind, tolerance=0.0)
    assert len(model.fitted.rule.chances) == 3
    assert len(model.fitted.measured) == 9
    positive = model.predict(tested)
    rates = [positive[tested["gender"] == group].mean() for group in range(3)]
    left, alone = (
        fitted(collected, NAMES[0], groups=word).fitted.save()["reweighing.json"]
        for word in ("declared", kind)
    )
    # the 4 % who gave no answer are few, so their rate is known the least
    assert rates[2] == pytest.approx(np.mean(rates[:2]), abs=0.2)
    assert [len(json.loads(saved)["joint"]) for saved in (left, alone)] == [2, 3]


def test_rows_in_clear_have_further_groups_too(survey, people, tested):
    codes = people(6000)
    models = [
        fit_clear(survey(), codes, create_learner(name, FEW | more), FitOptions(1))
        for name, more in (
            ("lightgbm", {}),
            (NAMES[1], {"further_groups": "job", "groups": "everybody"}),
        )
    ]
    assert widest(models[1], tested) < 0.3 * widest(models[0], tested)
    with pytest.raises(InvalidParameter, match="further_groups has 'income'"):
        fit_clear(
            survey(), codes, create_learner(NAMES[1], {"further_groups": "income"}), FitOptions(1)
        )


def test_classifiers_of_a_survey_take_its_groups(collected):
    encoder = RecordEncoder(collected.published).fit(collected.rows)
    made = ThresholdClassifier.for_survey(
        encoder, LogisticRegression(), grouping=Grouping("everybody", ("job",))
    )
    assert made.groups == (((0,), (1,), (2,)), ((0,), (1,), (2,)))
    assert [len(columns) for columns in made.protected] == [3, 3]
    assert made.oracle[1] is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("further", ["income", "gender", "wealth"])
def test_names_that_are_no_further_group_are_refused(collected, name, further):
    with pytest.raises(InvalidParameter, match=f"further_groups has '{further}'") as caught:
        fitted(collected.take(slice(0, 500)), name, further_groups=further)
    assert caught.value.field == "further_groups"
    learner = create_learner(name, {"further_groups": further})
    with pytest.raises(InvalidParameter) as caught:
        check_groups(learner, collected.published)
    assert caught.value.field == "parameters.further_groups"


def test_audits_of_records_take_further_groups_where_predicting_needs_none(collected):
    few = collected.take(slice(0, 2000))
    recipe = Recipe.of(FEW | {"further_groups": "job"}, learner=NAMES[0])
    assert cross_fit(few, recipe, FitOptions(1), folds=2).predicted.shape == (2000,)
    recipe = Recipe.of(FEW | {"further_groups": "job"}, learner=NAMES[1])
    with pytest.raises(InvalidParameter, match="puts the protected attribute's alone in place"):
        cross_fit(few, recipe, FitOptions(1), folds=2, protected_input="each-value")


def test_card_says_which_groups_a_prediction_reads(collected):
    recipe = Recipe.of(FEW | {"further_groups": "job"}, learner=NAMES[1])
    trained = train_collected(collected.take(slice(0, 3000)), recipe, FitOptions(1))
    said = [one.what for one in protections(run_record(trained, {}))]
    assert "the gender and job of each person who is predicted" in said
