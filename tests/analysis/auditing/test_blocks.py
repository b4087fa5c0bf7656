"""Audits of groups and labels that are randomised together."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis import AuditPredictions, Records, audit
from hushpoll_analysis.auditing.moments import row_terms_of_cells
from hushpoll_analysis.auditing.poisoning import extreme_rows_of_cells
from hushpoll_analysis.estimates.weight_law import weight_law
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many
from sample_survey import make_draft

N = 1500


def survey(protocol="SS", epsilon="3", *, missing=False, blocks=True):
    income = {
        "name": "income",
        "role": "target",
        "categories": ["low", "high"],
        "positive": "high",
        "protocol": protocol,
    }
    if missing:
        income["missing"] = "no answer"
    draft = {
        "epsilon": epsilon,
        "protocol": protocol,
        "attributes": [
            {"name": "gender", "role": "sensitive", "categories": ["Female", "Male", "Other"]},
            {"name": "age", "role": "plain", "categories": ["young", "old"]},
            {"name": "town", "role": "sensitive", "categories": ["a", "b"]},
            income,
        ],
        "protected": {"attribute": "gender", "privileged": ["Male"], "unprivileged": ["Female"]},
    }
    if blocks:
        draft["together"] = [{"name": "both", "attributes": ["gender", "income", "town"]}]
    return Manifest.from_dict(make_draft(**draft)).resolve()


def people(published, n=N, seed=1):
    rng = np.random.default_rng(seed)
    gender = rng.choice(3, n, p=[0.45, 0.5, 0.05])
    high = (rng.random(n) < np.where(gender == 1, 0.45, 0.2)).astype(int)
    codes = {"gender": gender, "age": rng.integers(0, 2, n), "town": rng.integers(0, 2, n)}
    codes["income"] = high
    if published.attribute("income").missing is not None:
        codes["income"] = np.where(rng.random(n) < 0.1, 2, high)
    predicted = (rng.random(n) < 0.25 + 0.4 * high + 0.1 * (gender == 1)).astype(int)
    return codes, predicted, rng


def records_of(published, codes, rng):
    return Records(published, encode_many(published, codes, rng))


def given(predicted, inputs=("age",)):
    return AuditPredictions(predicted, inputs, "external")


def true_rates(codes, predicted):
    """The rates of both groups, of people who are known."""
    found = {}
    for place, group in ((1, 1), (0, 0)):
        of = (codes["gender"] == group) & (codes["income"] < 2)
        yes = of & (codes["income"] == 1)
        found[f"P{place}"] = predicted[of].mean()
        found[f"TPR{place}"] = predicted[yes].mean()
    return found


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("protocol", ["SS", "RAPPOR"])
def test_audits_of_a_block_are_of_the_people_who_answered(protocol, missing):
    published = survey(protocol, "30", missing=missing)
    codes, predicted, rng = people(published)
    result = audit(records_of(published, codes, rng), given(predicted), outlook=False)
    for name, rate in true_rates(codes, predicted).items():
        assert result.rates[name].value == pytest.approx(rate, abs=0.02), name
    answered = codes["income"] < 2
    for name, group in (("privileged", 1), ("unprivileged", 0)):
        share = (answered & (codes["gender"] == group)).mean()
        assert result.shares[name].value == pytest.approx(share, abs=0.02)


def test_predictions_for_each_category_are_weighed_with_it():
    published = survey("SS", "30")
    codes, _, rng = people(published)
    each = np.tile([0, 1, 1], (N, 1))
    records = records_of(published, codes, rng)
    predictions = AuditPredictions(each, ("age", "gender"), "external")
    result = audit(records, predictions, outlook=False)
    assert result.rates["P1"].value == pytest.approx(1, abs=1e-9)
    assert result.rates["P0"].value == pytest.approx(0, abs=1e-9)


def test_sets_of_a_block_cover_and_are_narrower_than_those_of_questions_apart():
    missed, widths = {"SPD": 0, "EOD": 0}, {True: [], False: []}
    truth = {"SPD": 0.0, "EOD": 0.0}
    codes, predicted, _ = people(survey(), 200_000, 3)
    rates = true_rates(codes, predicted)
    truth = {"SPD": rates["P1"] - rates["P0"], "EOD": rates["TPR1"] - rates["TPR0"]}
    surveys = 100
    for blocks in (True, False):
        published = survey("SS", "3", blocks=blocks)
        for seed in range(surveys if blocks else 10):
            rng = np.random.default_rng(seed)
            some = rng.choice(len(predicted), 3000, replace=False)
            drawn = {name: values[some] for name, values in codes.items()}
            found = audit(records_of(published, drawn, rng), given(predicted[some]), outlook=False)
            for name, value in truth.items():
                metric = found.metrics[name]
                if blocks:
                    missed[name] += not metric.lower <= value <= metric.upper
            width = found.metrics["SPD"].upper - found.metrics["SPD"].lower
            widths[blocks].append(width)
    # at 95 %, 5 of 100 miss; four standard errors are 9
    assert max(missed.values()) <= 14, missed
    assert np.median(widths[True]) < 0.7 * np.median(widths[False])


@pytest.mark.parametrize("each_value", [False, True])
@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_no_fake_of_a_block_lies_outside_the_extreme_rows(protocol, each_value):
    from scipy.optimize import linprog

    oracle = create(protocol, k=5, epsilon="1")
    sizes, shares = [1, 1, 1, 1, 1], np.array([0.3, 0.15, 0.2, 0.25, 0.1])
    rows = extreme_rows_of_cells((oracle, sizes, shares), each_value=each_value)
    weights = np.concatenate([one for one, _ in weight_law(oracle, sizes, shares.tolist())])
    # cells of the two groups and of nobody's: [.., group, label], the positive label first
    cells = weights[:, [1, 0, 3, 2, 4, 4]].reshape(-1, 3, 2)
    rng = np.random.default_rng(2)
    for one in rng.permutation(len(cells))[:6]:
        shape = (1, 3) if each_value else (1,)
        predicted = rng.integers(0, 2, shape).astype(np.int8)
        terms = row_terms_of_cells(cells[[one]], predicted, ([0], [1]))[0]
        equations = np.vstack([rows.T, np.ones(len(rows))])
        found = linprog(np.zeros(len(rows)), A_eq=equations, b_eq=np.append(terms, 1.0))
        assert found.success


@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_outlook_and_poisoning_of_a_block_are_said(protocol):
    published = survey(protocol, "3")
    codes, predicted, rng = people(published)
    result = audit(records_of(published, codes, rng), given(predicted))
    metric = result.metrics["SPD"]
    assert metric.outlook is not None
    assert metric.poisoning.lowest < metric.value < metric.poisoning.highest


def test_predictions_from_the_block_of_group_or_label_are_refused():
    published = survey()
    codes, predicted, rng = people(published, 50)
    records = records_of(published, codes, rng)
    with pytest.raises(InvalidParameter) as at:
        audit(records, given(predicted, ("town",)))
    assert at.value.field == "inputs"
    said = str(at.value)
    assert "town, which is randomised together with gender, the protected attribute" in said
    assert "in the block both" in said


def test_groups_and_incomes_of_adult_together_are_audited_more_closely_than_apart(data_dir):
    rows = np.loadtxt(data_dir / "adult_26k.csv", delimiter=",", skiprows=1, dtype=int)
    with (data_dir / "adult_26k.csv").open() as file:
        columns = dict(zip(file.readline().strip().split(","), rows.T, strict=True))
    gender, income = columns["gender"], columns["income"]
    predicted = (columns["education"] + columns["hours-per-week"] // 8 > 14).astype(int)
    codes = {"age": np.zeros(len(rows), int), "gender": gender, "income": income}
    attributes = [
        {"name": "age", "role": "plain", "categories": ["young", "old"]},
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {
            "name": "income",
            "role": "target",
            "categories": ["low", "high"],
            "positive": "high",
            "protocol": "SS",
        },
    ]
    # the ratios that were to be reached: of EOD and SPD
    for epsilon, most in (("2", (0.45, 0.78)), ("1", (0.29, 0.82))):
        halves = {}
        for blocks in (True, False):
            draft = {
                "name": "adult",
                "version": 1,
                "title": "Adult",
                "epsilon": epsilon,
                "protocol": "SS",
                "attributes": attributes,
                "protected": {
                    "attribute": "gender",
                    "privileged": ["Male"],
                    "unprivileged": ["Female"],
                },
            }
            if blocks:
                draft["together"] = [{"name": "both", "attributes": ["gender", "income"]}]
            published = Manifest.from_dict(draft).resolve()
            found = []
            for seed in range(5):
                records = records_of(published, codes, np.random.default_rng(seed))
                result = audit(records, given(predicted), outlook=False)
                metrics = result.metrics["EOD"], result.metrics["SPD"]
                found.append([(one.upper - one.lower) / 2 for one in metrics])
            halves[blocks] = np.median(found, axis=0)
        assert (halves[True] / halves[False] <= most).all(), (epsilon, halves)
