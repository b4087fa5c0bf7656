"""More than two groups from records alone: each pair is the two-group audit, and nobody is lost."""

from dataclasses import replace

import numpy as np
import pytest

from hushpoll_analysis import AuditPredictions, Records, audit, audit_groups, regrouped
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many

RACES = ("Black", "Asian", "White", "Other")


def survey(protocol="OUE", epsilon="8"):
    return Manifest.from_dict(
        {
            "name": "groups",
            "version": 1,
            "title": "Groups",
            "epsilon": epsilon,
            "split": "uniform",
            "protocol": protocol,
            "attributes": [
                {
                    "name": "race",
                    "role": "sensitive",
                    "categories": list(RACES),
                    "missing": "No answer",
                },
                {"name": "region", "role": "sensitive", "categories": ["N", "E", "S"]},
                {"name": "job", "role": "plain", "categories": ["a", "b"]},
                {
                    "name": "hired",
                    "role": "target",
                    "categories": ["no", "yes"],
                    "positive": "yes",
                },
            ],
            "protected": {"attribute": "race", "privileged": "White", "unprivileged": "Black"},
        }
    ).resolve()


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    race = rng.choice(5, n, p=[0.25, 0.2, 0.45, 0.02, 0.08])
    hired = (rng.random(n) < np.array([0.3, 0.5, 0.6, 0.4, 0.5])[race]).astype(np.int64)
    codes = {
        "race": race,
        "region": rng.integers(0, 3, n),
        "job": (rng.random(n) < 0.2 + 0.5 * hired).astype(np.int64),
        "hired": hired,
    }
    return codes, AuditPredictions(codes["job"], ("job",), "external")


@pytest.fixture(scope="module")
def collected():
    published = survey()
    codes, predictions = drawn(20_000, 1)
    return published, encode_many(published, codes, np.random.default_rng(2)), codes, predictions


def test_every_category_is_compared_with_the_privileged_ones(collected):
    published, records, codes, predictions = collected
    found = audit_groups(Records(published, records), predictions, outlook=False)
    assert (found.attribute, found.reference) == ("race", ("White",))
    assert tuple(found.audits) == ("Black", "Asian", "Other")
    ours = audit(Records(published, records), predictions, outlook=False)
    assert found.audits["Black"] == ours
    for at, name in ((0, "Black"), (1, "Asian")):
        truth = [codes["job"][codes["race"] == group].mean() for group in (2, at)]
        spd = found.audits[name].metrics["SPD"]
        assert spd.lower < truth[0] - truth[1] < spd.upper
        assert found.audits[name].digest == published.digest
        # the reference is the same people in every pair
        assert found.audits[name].rates["P1"] == ours.rates["P1"]


def test_shares_of_all_groups_and_of_no_answer_sum_to_one(collected):
    published, records, _, predictions = collected
    found = audit_groups(Records(published, records), predictions, outlook=False)
    shares = [one.shares["unprivileged"].value for one in found.audits.values()]
    reference = found.audits["Black"].shares["privileged"].value
    missing = audit(
        Records(
            replace(published, protected=replace(published.protected, unprivileged=("No answer",))),
            records,
        ),
        predictions,
        outlook=False,
    )
    total = sum(shares) + reference + missing.shares["unprivileged"].value
    assert total == pytest.approx(1.0, abs=1e-9)


def test_a_group_of_few_cannot_be_concluded_on_and_the_others_can(collected):
    published = survey(epsilon="0.8")
    codes, predictions = drawn(4000, 5)
    records = encode_many(published, codes, np.random.default_rng(2))
    found = audit_groups(Records(published, records), predictions)
    assert found.audits["Other"].metrics["SPD"].conclusion == "cannot conclude"
    assert found.audits["Other"].metrics["SPD"].bound == "no bound"
    assert found.audits["Black"].metrics["SPD"].bound == "bounded"
    document = found.to_dict()
    assert [one["group"] for one in document["groups"]] == ["Black", "Asian", "Other"]
    assert document["groups"][2]["metrics"]["SPD"]["upper"] is None
    assert document["groups"][2]["expected"]["power"] == 0.8
    assert document["protected"]["reference"] == ["White"]


def test_another_attribute_and_reference(collected):
    published, records, _, predictions = collected
    found = audit_groups(
        Records(published, records), predictions, attribute="region", reference="S", outlook=False
    )
    assert tuple(found.audits) == ("N", "E")
    for one in found.audits.values():
        assert one.attribute == "region"
        assert one.metrics["SPD"].lower < 0.02
        assert one.metrics["SPD"].upper > -0.02
    found = audit_groups(Records(published, records), predictions, reference="Black", outlook=False)
    assert tuple(found.audits) == ("Asian", "White", "Other")
    two = audit(Records(published, records), predictions, outlook=False)
    assert found.audits["White"].metrics["SPD"].value == pytest.approx(-two.metrics["SPD"].value)


def test_predictions_from_the_records_of_the_attribute_are_refused(collected):
    published, records, _, predictions = collected
    used = replace(predictions, inputs=("region",))
    audit_groups(Records(published, records), used, outlook=False)
    with pytest.raises(InvalidParameter, match="inputs name region, the protected attribute"):
        audit_groups(Records(published, records), used, attribute="region", reference="S")


def test_the_regrouped_survey_drops_and_names_what_is_compared(collected):
    published = collected[0]
    found = regrouped(published, "region", "N")
    assert found.protected.to_dict() == {
        "attribute": "region",
        "privileged": ["N"],
        "unprivileged": ["E", "S"],
    }
    assert regrouped(published).protected.unprivileged == ("Black", "Asian", "Other")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attribute": "region"}, "region is not the manifest's protected attribute"),
        ({"reference": "Red"}, "reference is 'Red', no category of race; give one of Black"),
        ({"attribute": "age"}, "age"),
        ({"attribute": "hired", "reference": "no"}, "hired, the target"),
    ],
)
def test_groups_that_are_not_there_are_refused(collected, options, words):
    with pytest.raises(InvalidParameter, match=words):
        regrouped(collected[0], **options)


@pytest.mark.slow  # its small twin: each pair is audit's, whose coverage is tested on its own
@pytest.mark.parametrize("protocol", ["GRR", "OUE"])
def test_every_pairs_intervals_cover(protocol):
    published = survey(protocol, "3")
    surveys, n = 150, 3000
    rates = np.array([0.3, 0.5, 0.6])
    positive = 0.2 + 0.5 * rates
    hits = dict.fromkeys(("Black", "Asian"), 0)
    for seed in range(surveys):
        codes, predictions = drawn(n, [seed, 1])
        records = encode_many(published, codes, np.random.default_rng([seed, 2]))
        found = audit_groups(Records(published, records), predictions, outlook=False)
        for at, name in enumerate(hits):
            spd = found.audits[name].metrics["SPD"]
            hits[name] += spd.lower <= positive[2] - positive[at] <= spd.upper
    for number in hits.values():
        # three standard errors of 95 % in 150 surveys
        assert number / surveys == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / surveys) ** 0.5)


def test_sets_that_hold_together_are_those_of_a_higher_confidence(collected):
    published, records, _, predictions = collected
    found = audit_groups(
        Records(published, records), predictions, outlook=False, together="simultaneous"
    )
    level = 1 - 0.05 / 3
    ours = audit(Records(published, records), predictions, outlook=False, confidence=level)
    assert found.audits["Black"].metrics == ours.metrics
    document = found.to_dict()
    assert (document["confidence"], document["together"]) == (0.95, "simultaneous")
    assert document["intervals"].startswith("For each metric, rate and share")
    sets = [pair.metrics["SPD"] for pair in found.audits.values()]
    largest = found.largest["SPD"]
    assert largest.value == max(abs(one.value) for one in sets)
    assert largest.upper == max(max(abs(one.lower), abs(one.upper)) for one in sets)
    assert 0 <= largest.lower <= largest.value
    ratios = [pair.metrics["DI"] for pair in found.audits.values()]
    assert found.largest["DI"].lower == min(one.lower for one in ratios)


def test_discoveries_are_adjusted_over_the_groups(collected):
    published, records, _, predictions = collected
    found = audit_groups(
        Records(published, records), predictions, outlook=False, together="discoveries"
    )
    values = {group: pair.metrics["SPD"].p_value for group, pair in found.audits.items()}
    assert values["Black"] == pytest.approx(0.001)
    # the harmonic sum of three tests
    assert found.adjusted["Black", "SPD"] <= 3 * 0.001 * (1 + 1 / 2 + 1 / 3) + 1e-12
    document = found.to_dict()
    assert {"group": "Black", "metric": "SPD"}.items() <= document["discoveries"][0].items() or any(
        one["group"] == "Black" and one["metric"] == "SPD" for one in document["discoveries"]
    )
    assert all(one["adjusted_p_value"] <= 0.05 for one in document["discoveries"])
    assert found.largest == {}


@pytest.mark.parametrize("name", ["SPD", "DI", "OAD", "EODDS"])
def test_p_value_is_the_level_at_which_the_set_reaches_the_fair_value(collected, name):
    published, records, _, predictions = collected
    few = Records(published, records[:600])
    some = AuditPredictions(predictions.predicted[:600], predictions.inputs, predictions.origin)
    value = audit(few, some, outlook=False, p_values=True).metrics[name].p_value
    assert 0.001 <= value <= 1
    if 0.002 < value < 0.9:
        for factor, disparate in ((0.95, False), (1.05, True)):
            level = 1 - value * factor
            found = audit(few, some, outlook=False, confidence=level).metrics[name]
            assert (found.conclusion == "disparity") is disparate


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"together": "x"}, "together"),
        ({"together": "simultaneous", "confidence": 0.999}, "confidence"),
    ],
)
def test_groups_that_cannot_be_taken_together_are_refused(collected, options, field):
    published, records, _, predictions = collected
    with pytest.raises(InvalidParameter) as refused:
        audit_groups(Records(published, records), predictions, outlook=False, **options)
    assert refused.value.field == field
