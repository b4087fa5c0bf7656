"""The audit of records: what it refuses, what it withholds, and that it is about the truth."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.auditing import audit as fairness
from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.moments import row_terms, weights
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.auditing.predictions import (
    AS_DEPLOYED,
    EACH_VALUE,
    IN_CLEAR,
    AuditPredictions,
)
from hushpoll_analysis.auditing.report import MetricConclusion
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.wire.batch import encode_many

N = 20_000


def publish(*, protocol="GRR", target=None, gender=None, epsilon="6", **changes):
    draft = {
        "name": "audited",
        "version": 2,
        "title": "Audited",
        "epsilon": epsilon,
        "split": "uniform",
        "protocol": protocol,
        "attributes": [
            {
                "name": "gender",
                "role": "sensitive",
                "categories": ["f", "m", "x", "y"],
                **(gender or {}),
            },
            {"name": "age", "role": "sensitive", "categories": ["1", "2", "3"]},
            {"name": "job", "role": "plain", "categories": ["a", "b"]},
            {
                "name": "income",
                "role": "target",
                "categories": ["low", "high"],
                "positive": "high",
                **(target or {}),
            },
        ],
        "protected": {"attribute": "gender", "privileged": ["m", "y"], "unprivileged": ["f"]},
    } | changes
    if changes.get("protected", 1) is None:
        del draft["protected"]
    return Manifest.from_dict(draft).resolve()


def draw(published, n=N, seed=5):
    """People whose prediction depends on group and label, and their records."""
    rng = np.random.default_rng(seed)
    gender = rng.choice(4, n, p=[0.3, 0.4, 0.1, 0.2])
    privileged = np.isin(gender, (1, 3))
    label = (rng.random(n) < 0.3 + 0.3 * privileged).astype(np.int64)
    guess = (rng.random(n) < 0.2 + 0.5 * label + 0.15 * privileged).astype(np.int64)
    codes = {"gender": gender, "age": rng.integers(0, 3, n), "job": rng.integers(0, 2, n)}
    codes["income"] = label
    target = published.target
    if target is not None and target.missing is not None:
        codes["income"] = np.where(rng.random(n) < 0.2, 2, label)
    return codes, guess, encode_many(published, codes, rng)


def truth(codes, guess, answered=None):
    keep = np.ones(len(guess), bool) if answered is None else answered
    gender, label, guess = (array[keep] for array in (codes["gender"], codes["income"], guess))
    found = {}
    for group, inside in ((0, gender == 0), (1, np.isin(gender, (1, 3)))):
        found[f"P{group}"] = guess[inside].mean()
        found[f"TPR{group}"] = guess[inside & (label == 1)].mean()
        found[f"FPR{group}"] = guess[inside & (label == 0)].mean()
        found[f"ACC{group}"] = (guess == label)[inside].mean()
        found[f"PPV{group}"] = label[inside & (guess == 1)].mean()
    found |= {
        "DI": found["P0"] / found["P1"],
        "SPD": found["P1"] - found["P0"],
        "EOD": found["TPR1"] - found["TPR0"],
        "OAD": found["ACC1"] - found["ACC0"],
        "FPRD": found["FPR1"] - found["FPR0"],
        "PPD": found["PPV1"] - found["PPV0"],
        "EODDS": max(abs(found[f"{rate}1"] - found[f"{rate}0"]) for rate in ("TPR", "FPR")),
    }
    return found


def predictions(guess, inputs=("job",), origin="external"):
    return AuditPredictions(guess, inputs, origin)


def near_truth(found, expected):
    for name, one in {**found.metrics, **found.rates}.items():
        assert isinstance(one, Interval), (name, one)
        # respondents are given here, so that the standard error is more than enough
        assert abs(one.value - expected[name]) < 4 * one.standard_error + 1e-9, name
        assert one.lower < one.value < one.upper


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, None),
        ({"protocol": "OUE"}, None),
        ({"protocol": "OLH"}, None),
        ({"target": {"protocol": "GRR"}}, None),
        ({"target": {"protocol": "OUE"}, "epsilon": "12"}, None),
        ({"target": {"missing": "none"}}, "answered"),
        ({"target": {"missing": "none", "protocol": "GRR"}, "epsilon": "12"}, "answered"),
    ],
)
def test_an_audit_of_records_is_about_the_true_groups_and_labels(changes, kept):
    published = publish(**changes)
    codes, guess, records = draw(published)
    found = audit(Records(published, records), predictions(guess), outlook=False)
    answered = codes["income"] != 2 if kept else None
    near_truth(found, truth(codes, guess, answered))
    assert found.n == N
    expected = np.isin(codes["gender"], (1, 3))[answered if kept else slice(None)].sum() / N
    share = found.shares["privileged"]
    assert abs(share.value - expected) < 4 * share.standard_error


def test_a_protected_attribute_in_clear_gives_the_counted_values_exactly():
    published = publish(gender={"role": "plain"})
    codes, guess, records = draw(published)
    found = audit(Records(published, records), predictions(guess, ("gender", "job")))
    expected = truth(codes, guess)
    for name, one in {**found.metrics, **found.rates}.items():
        assert one.value == pytest.approx(expected[name], rel=1e-9), name
    assert found.protocol is found.epsilon is None
    assert found.setting == IN_CLEAR


def test_predictions_at_each_value_are_weighed_by_the_value():
    published = publish(protocol="OUE")
    codes, _, records = draw(published)
    rng = np.random.default_rng(9)
    each = (rng.random((N, 4)) < [0.2, 0.6, 0.9, 0.8]).astype(np.int8)
    guess = each[np.arange(N), codes["gender"]]
    found = audit(
        Records(published, records), predictions(each, ("gender", "age", "job")), outlook=False
    )
    near_truth(found, truth(codes, guess.astype(np.int64)))
    assert found.setting == EACH_VALUE
    # one prediction for every value is one prediction
    same = np.repeat(each[:, :1], 4, axis=1)
    wide = audit(Records(published, records), predictions(same, ("job",)), outlook=False)
    narrow = audit(Records(published, records), predictions(each[:, 0], ("job",)), outlook=False)
    # a fake may be predicted otherwise in each group only where each value has a prediction
    for name, given in wide.metrics.items():
        assert replace(given, poisoning=None) == replace(narrow.metrics[name], poisoning=None)
        assert given.poisoning.lowest <= narrow.metrics[name].poisoning.lowest
        assert given.poisoning.highest >= narrow.metrics[name].poisoning.highest
    assert wide.rates == narrow.rates


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.4, 0.6)])
def test_the_product_of_a_perturbed_group_and_a_perturbed_label_is_unbiased(shares):
    """Exact: the expectation of every term over all records of both is the term of the truth."""
    group_law, label_law = (
        Channel(Fraction(3, 4), Fraction(1, 8)),
        Channel(Fraction(1, 2), Fraction(1, 4)),
    )
    sets = np.array(list(itertools.product((0, 1), repeat=2)), dtype=np.uint8)

    def chances(law, value):
        own, other = sets[:, value].astype(bool), sets[:, 1 - value].astype(bool)
        p, q = float(law.p), float(law.q)
        return np.where(own, p, 1 - p) * np.where(other, q, 1 - q)

    group_weight = weights(sets, group_law, np.array(shares))
    label_weight = weights(sets, label_law, np.array(shares))
    at_each = np.array([0, 1], dtype=np.int8)
    for group, label in itertools.product((0, 1), repeat=2):
        expected = np.zeros(8)
        for i, j in itertools.product(range(4), repeat=2):
            chance = chances(group_law, group)[i] * chances(label_law, label)[j]
            positive = label_weight[j, 1]
            expected += chance * row_terms(
                group_weight[i], at_each, ([0], [1]), positive, 1.0 - positive
            )
        true = row_terms(
            np.eye(2)[group], at_each, ([0], [1]), np.float64(label), np.float64(1 - label)
        )
        assert expected == pytest.approx(true, abs=1e-12)


def test_memory_is_bounded_by_chunks_that_change_nothing(monkeypatch):
    published = publish(protocol="OUE", target={"protocol": "GRR"})
    _, guess, records = draw(published, 3000)
    whole = audit(Records(published, records), predictions(guess), outlook=False).to_dict()
    monkeypatch.setattr(fairness, "CELLS", fairness.PRODUCTS * 700)
    parts = audit(Records(published, records), predictions(guess), outlook=False).to_dict()
    assert "of these 19 at 95 %, 1.0 are expected to miss" in whole["intervals"]
    for section in ("metrics", "rates", "shares"):
        for name, one in whole[section].items():
            other = parts[section][name]
            for part in ("value", "standard_error", "lower", "upper"):
                assert other[part] == pytest.approx(one[part], rel=1e-9), (name, part)
            if section == "metrics":
                assert other["poisoning"] == pytest.approx(one["poisoning"])


@pytest.mark.parametrize(
    ("inputs", "shape", "expected"),
    [
        (("job",), 1, IN_CLEAR),
        ((), 1, IN_CLEAR),
        (("job", "age"), 1, AS_DEPLOYED),
        (("gender", "job", "age"), 4, EACH_VALUE),
        (("gender", "job"), 4, IN_CLEAR),
    ],
)
def test_the_setting_says_what_the_model_was_given(inputs, shape, expected):
    published = publish()
    _, guess, records = draw(published, 500)
    wide = guess if shape == 1 else np.repeat(guess[:, None], 4, axis=1)
    found = audit(Records(published, records), predictions(wide, inputs, "cross-fitted"))
    assert (found.setting, found.origin) == (expected, "cross-fitted")


@pytest.mark.parametrize(
    ("made", "field", "word"),
    [
        ({"origin": "fitted to these rows"}, "origin", "cross-fit"),
        ({"origin": "somewhere"}, "origin", "external"),
        ({"inputs": ("gender", "job")}, "inputs", "same record"),
        ({"inputs": ("income",)}, "inputs", "target"),
        ({"inputs": ("height",)}, "attribute", "height"),
        ({"guess": np.zeros(499, dtype=np.int8)}, "predicted", "one per record"),
        ({"guess": np.zeros((500, 3), dtype=np.int8)}, "predicted", "one per record"),
        ({"guess": np.full(500, 0.5)}, "predicted", "score"),
        ({"guess": np.full(500, np.nan)}, "predicted", "score"),
    ],
)
def test_predictions_that_would_bias_an_audit_are_refused(made, field, word):
    published = publish()
    _, guess, records = draw(published, 500)
    given = {"guess": guess, "inputs": ("job",), "origin": "external"} | made
    with pytest.raises(InvalidParameter, match=word) as caught:
        audit(
            Records(published, records),
            predictions(given["guess"], given["inputs"], given["origin"]),
        )
    assert caught.value.field == field


def test_predictions_from_the_groups_own_record_would_be_biased():
    """Why the second condition is one: the noise of the record passes for a difference."""
    published = publish(epsilon="2")
    codes, _, records = draw(published)
    reported = records[:, published.layout.field("gender").offset]
    guess = np.isin(reported, (1, 3)).astype(np.int64)
    found = audit(Records(published, records), predictions(guess, ("job",)))  # a false declaration
    spd = found.metrics["SPD"]
    assert abs(spd.value - truth(codes, guess)["SPD"]) > 10 * spd.standard_error


def test_records_that_cannot_tell_give_sets_without_bounds_and_say_so():
    published = publish(protocol="OUE", epsilon="0.2")
    _, guess, records = draw(published, 300)
    found = audit(Records(published, records), predictions(guess))
    for name in METRICS:
        one = found.metrics[name]
        assert isinstance(one, MetricConclusion)
        assert one.conclusion == "cannot conclude"
        metric = METRICS[name]
        # neither a ratio nor a largest difference can be below 0
        assert one.bound == ("no bound" if metric.range[0] < 0 else "no upper bound")
    assert isinstance(found.shares["unprivileged"], Interval)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    spd = document["metrics"]["SPD"]
    assert spd["value"] is spd["lower"] is spd["upper"] is spd["poisoning"] is None
    assert spd["seldom_concludes"] is True
    assert spd["smallest_detectable"] is None
    assert document["expected"]["basis"] == "estimated from these records"


def test_a_difference_that_the_set_leaves_out_is_a_disparity_and_no_other():
    published = publish(protocol="GRR", epsilon="6")
    codes, guess, records = draw(published)
    found = audit(Records(published, records), predictions(guess))
    assert truth(codes, guess)["SPD"] > 0.2
    assert found.metrics["SPD"].conclusion == found.metrics["DI"].conclusion == "disparity"
    fair = np.random.default_rng(3).integers(0, 2, N)
    found = audit(Records(published, records), predictions(fair))
    assert found.metrics["SPD"].conclusion == "no disparity found"
    for name in METRICS:
        one = found.metrics[name]
        assert not one.outlook.concludes < 0.99
        assert one.poisoning.lowest < one.value < one.poisoning.highest
    assert 0.01 < found.metrics["SPD"].outlook.smallest_detectable < 0.2
    assert 0.7 < found.metrics["DI"].outlook.smallest_detectable < 0.99


def test_the_denominators_of_eod_are_judged_by_themselves():
    published = publish(protocol="GRR", epsilon="3")
    codes, guess, _ = draw(published, 2500)
    rng = np.random.default_rng(2)
    codes["income"] = (rng.random(2500) < 0.01).astype(np.int64)
    records = encode_many(published, codes, rng)
    found = audit(Records(published, records), predictions(guess), outlook=False)
    assert found.metrics["SPD"].bound == found.metrics["OAD"].bound == "bounded"
    assert found.metrics["EOD"].conclusion == "cannot conclude"
    assert found.rates["TPR0"].bound == "no bound"


def test_declared_shares_change_the_outlook_and_nothing_else():
    published = publish(protocol="GRR", epsilon="3")
    _, guess, records = draw(published, 2500)
    ours = audit(Records(published, records), predictions(guess))
    declared = AuditAssumptions(unprivileged=0.01, positive=0.2)
    found = audit(Records(published, records), predictions(guess), expected=declared)
    assert found.expected["basis"] == "declared"
    assert found.expected["unprivileged"] == 0.01
    for name, one in found.metrics.items():
        assert replace(one, outlook=ours.metrics[name].outlook) == ours.metrics[name]
    assert found.metrics["SPD"].outlook.concludes < 0.5 < ours.metrics["SPD"].outlook.concludes


def test_without_a_target_there_are_no_metrics_of_labels():
    published = publish(target={"role": "plain", "positive": None})
    codes, guess, records = draw(published)
    found = audit(Records(published, records), predictions(guess, ("job", "income")))
    expected = truth(codes, guess)
    for name in ("DI", "SPD"):
        one = found.metrics[name]
        assert abs(one.value - expected[name]) < 4 * one.standard_error
    for name in ("EOD", "OAD"):
        assert found.metrics[name].code == "no-labels"
    assert found.rates["FPR1"].to_dict()["withheld"] == "no-labels"


def test_a_survey_without_groups_no_records_and_bad_ones_are_refused():
    published = publish(protected=None)
    _, guess, records = draw(published, 50)
    with pytest.raises(InvalidParameter, match="no protected attribute"):
        audit(Records(published, records), predictions(guess), outlook=False)
    published = publish()
    _, guess, records = draw(published, 50)
    with pytest.raises(InvalidParameter, match="0 records"):
        audit(Records(published, records[:0]), predictions(guess[:0]))
    with pytest.raises(InvalidParameter, match="shape"):
        audit(Records(published, records[:, 1:]), predictions(guess))
    records = records.copy()
    records[7, published.layout.field("gender").offset] = 200
    with pytest.raises(MalformedRecord):
        audit(Records(published, records), predictions(guess), outlook=False)
