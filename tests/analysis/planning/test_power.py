"""The power that is planned is what simulated audits then have."""

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.power import (
    AuditAssumptions,
    audit_powers,
)
from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.auditing.sets import disparate, metric_set
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.wire.batch import encode_many
from studies.expected_moments import difference_error, expected_moments
from studies.fairness_coverage import Law

CASES = {
    "even groups": (AuditAssumptions(0.1, 0.3, 0.4), "2", 4000),
    "a small group, often without a conclusion": (AuditAssumptions(0.1, 0.3, 0.15), "1", 8000),
    "rare positives": (AuditAssumptions(0.05, 0.05, 0.3, base=0.2), "2", 2000),
    "a small group with rare positives": (AuditAssumptions(0.1, 0.02, 0.05, base=0.1), "2", 4000),
}


def survey(protocol="GRR", epsilon="2", target=None, groups=(("F",), ("M",)), plain=(), **changes):
    unprivileged, privileged = groups
    return Manifest.from_dict(
        {
            "name": "audited",
            "version": 1,
            "title": "Audited",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {
                    "name": "group",
                    "role": "sensitive",
                    "categories": [*unprivileged, *privileged, *plain],
                },
                {"name": "area", "role": "plain", "categories": ["a", "b"]},
                {
                    "name": "label",
                    "role": "target",
                    "categories": ["no", "yes"],
                    "positive": "yes",
                    **(target or {}),
                },
            ],
            "protected": {
                "attribute": "group",
                "unprivileged": list(unprivileged),
                "privileged": list(privileged),
            },
        }
        | changes
    ).resolve()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", METRICS)
def test_moments_are_those_of_the_law_of_an_audited_row(protocol, name):
    published, given = survey(protocol), AuditAssumptions(0.1, 0.3, 0.4)
    population = given.population(name)
    law = Law.of(population, published.attribute("group").oracle)
    expected = law.moments(law.probability, 5000)
    mean, second = expected_moments(published, population)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-12)
    np.testing.assert_allclose(second, expected.second, rtol=1e-9, atol=1e-12)
    if METRICS[name].combination == "difference":
        error = float(metric_set(expected, name, confidence=0.95).standard_error)
        assert difference_error(published, 5000, population, name) == pytest.approx(error)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("protocol", ["GRR", "BLH", "OLH", "OUE"])
def test_the_power_is_that_of_simulated_audits(protocol, case):
    """Within .03 and 3 standard errors of 2,000 simulated surveys, drawn by another program."""
    given, epsilon, n = CASES[case]
    published = survey(protocol, epsilon)
    powers = audit_powers(published, n, given)
    rng = np.random.default_rng(5)
    for name, power in powers.items():
        population = given.population(name)
        law = Law.of(population, published.attribute("group").oracle)
        counts = rng.multinomial(n, law.probability, size=2000).astype(float)
        found = metric_set(law.moments(counts, n), name, confidence=0.95)
        told = disparate(found, name)
        allowed = 0.03 + 3 * np.sqrt(power * (1 - power) / 2000)
        assert abs(told.mean() - power) < allowed, name


@pytest.mark.parametrize("protocol", ["SS", "OLH"])
def test_the_error_is_that_of_audits_of_records(protocol):
    """Two categories a group, a perturbed target, real records: 60 surveys, 4 sd of a deviation.

    A clear attribute decides who is predicted positive, as for a model that does without the group.
    """
    n, surveys, given = 2000, 60, AuditAssumptions(0.1, 0.3, 0.4)
    published = survey(
        protocol, "4", {"protocol": "GRR"}, (("F", "G"), ("M", "N")), split={"weights": {
            "group": 1, "label": 1}}
    )  # fmt: skip
    population = given.population("SPD")
    rng = np.random.default_rng(8)
    values = {"SPD": [], "EOD": []}
    for _ in range(surveys):
        kind = rng.choice(8, n, p=population.ravel())
        group, label, predicted = np.unravel_index(kind, (2, 2, 2))
        codes = {
            "group": 2 * group + rng.integers(0, 2, n),
            "area": predicted,
            "label": label,
        }
        records = encode_many(published, codes, rng)
        predictions = AuditPredictions(predicted.astype(np.int8), ("area",), "external")
        found = audit(Records(published, records), predictions, outlook=False)
        for name, drawn in values.items():
            one = found.metrics[name]
            assert isinstance(one, Interval)
            drawn.append(one.value)
    for name, drawn in values.items():
        error = difference_error(published, n, population, name)
        assert np.std(drawn, ddof=1) == pytest.approx(error, rel=4 / np.sqrt(2 * surveys)), name
        assert abs(np.mean(drawn) - 0.1) < 4 * error / np.sqrt(surveys), name


def test_what_there_is_none_of_has_no_power():
    published = survey()
    # nobody is predicted positive: nothing is left that could be right less often
    none = audit_powers(published, 1000, AuditAssumptions(0.1, 0.0, 0.5))
    assert none["OAD"] is None
    assert none["SPD"] is not None
    unlabelled = survey(target={"role": "plain", "positive": None})
    found = audit_powers(unlabelled, 20_000, AuditAssumptions())
    assert found["EOD"] is found["OAD"] is None
    assert found["SPD"] == audit_powers(published, 20_000, AuditAssumptions())["SPD"]


def test_more_people_and_fewer_secrets_find_more():
    given = AuditAssumptions()
    powers = [audit_powers(survey(epsilon="1"), n, given) for n in (2000, 8000)]
    clearer = audit_powers(survey(epsilon="4"), 2000, given)
    hidden = audit_powers(survey(epsilon="2", target={"protocol": "GRR"}), 2000, given)
    for name in METRICS:
        assert powers[0][name] < powers[1][name]
        assert powers[0][name] < clearer[name]
    # of the same epsilon for the group, but the label is perturbed too
    assert hidden["EOD"] < powers[0]["EOD"]
    # the same power, from other surveys: 1,500 of each
    assert hidden["SPD"] == pytest.approx(powers[0]["SPD"], abs=0.06)


def test_what_is_assumed_is_what_the_population_has():
    given = AuditAssumptions(0.1, 0.3, 0.4, base=0.25, recall=0.6)
    population = given.population("EOD")
    assert population.sum() == pytest.approx(1)
    assert population[0].sum() == pytest.approx(0.4)
    for group, more in ((0, 0.0), (1, 0.1)):
        people = population[group] / population[group].sum()
        assert people[:, 1].sum() == pytest.approx(0.3 + more)
        assert people[1].sum() == pytest.approx(0.25)
        assert people[1, 1] / people[1].sum() == pytest.approx(0.6 + more)
    worse = given.population("OAD")
    right = [(worse[g, 0, 0] + worse[g, 1, 1]) / worse[g].sum() for g in (0, 1)]
    assert right[0] - right[1] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: AuditAssumptions(gap=0), "gap"),
        (lambda: AuditAssumptions(gap=0.5, positive=0.6), "gap"),
        (lambda: AuditAssumptions(unprivileged=1), "unprivileged"),
        (lambda: AuditAssumptions(base=0), "base"),
        (lambda: AuditAssumptions(recall=0.95), "recall"),
        (lambda: AuditAssumptions(positive=0.1, base=0.3, recall=0.6), "recall"),
        (lambda: audit_powers(survey(), 0, AuditAssumptions()), "n"),
        (lambda: audit_powers(survey(protected=None), 9, AuditAssumptions()), "protected"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.field == field
