"""What fakes can do to an audit: the bound beside an attacker who tries every record."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.moments import RATE_TERMS, row_terms, weights
from hushpoll_analysis.auditing.poisoning import extreme_rows, turning_share, without_fakes
from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.metrics import combined
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.wire.batch import encode_many

SHARES = np.array([0.3, 0.35, 0.25, 0.1])
# by group: negative, positive label; of these predicted positive
MEAN = np.array([0.2, 0.1, 0.05, 0.02, 0.35, 0.25, 0.2, 0.05])


def supports(oracle):
    """Every set of categories that a well-formed record of the protocol can support."""
    sets = np.array(list(itertools.product((0, 1), repeat=oracle.k)), dtype=np.uint8)
    if oracle.support_size is None:
        return sets
    return sets[sets.sum(axis=1) == oracle.support_size]


def every_row(oracle, groups, each_value):
    """The terms of every fake: any record, any label in clear, any predictions."""
    sets = supports(oracle)
    share = WeightLaw.of(oracle).shares_at(SHARES)
    if oracle.support_size is not None:
        share = np.zeros(oracle.k)
    weight = weights(sets, Channel.of(oracle), share)
    answers = list(itertools.product((0, 1), repeat=oracle.k)) if each_value else [(0,), (1,)]
    rows = []
    for label, predicted in itertools.product((0.0, 1.0), answers):
        guess = np.broadcast_to(np.array(predicted, dtype=np.int8), weight.shape).copy()
        y = np.full(len(weight), label)
        rows.append(row_terms(weight, guess, groups, y, 1 - y))
    return np.concatenate(rows)


def value(mean, metric):
    values = []
    for rate in METRICS[metric].rates:
        top, under = RATE_TERMS[rate.name]
        values.append(
            [(mean[..., own] @ top) / (mean[..., own] @ under) for own in (slice(4), slice(4, 8))]
        )
    return combined(METRICS[metric], *zip(*values, strict=True))


@pytest.mark.parametrize(
    ("groups", "each_value", "reached"),
    [
        (([0], [1, 2]), False, 0.999),
        (([0], [1]), True, 0.999),
        # with a prediction for each value the bound takes a set's supported categories together
        (([0], [1, 2]), True, 0.3),
    ],
)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_bound_holds_for_every_mix_of_two_records_and_one_of_them_reaches_it(
    protocol, metric, groups, each_value, reached
):
    oracle = create(protocol, k=4, epsilon="3")
    share = Fraction(1, 200)
    parts = [*groups, [v for v in range(4) if v not in groups[0] + groups[1]]]
    sizes = (oracle, [len(part) for part in parts], np.array([SHARES[p].sum() for p in parts]))
    clear = (None, [1, 1], np.array([0.6, 0.4]))
    rows = extreme_rows(sizes, clear, each_value=each_value)
    bound = without_fakes(MEAN, rows, metric, share=share)
    fakes = every_row(oracle, groups, each_value)
    rng = np.random.default_rng(3)
    mixed = rng.random((20_000, 1))
    pairs = fakes[rng.integers(0, len(fakes), (2, 20_000))]
    tried = np.concatenate([fakes, mixed * pairs[0] + (1 - mixed) * pairs[1]])
    found = value((MEAN - float(share) * tried) / (1 - float(share)), metric)
    assert bound.lowest <= found.min() + 1e-12
    assert found.max() - 1e-12 <= bound.highest
    alone = value(MEAN, metric)
    assert found.max() - alone >= reached * (bound.highest - alone)
    assert alone - found.min() >= reached * (alone - bound.lowest)


def test_fakes_that_can_make_up_a_whole_group_leave_no_bound():
    oracle = create("OUE", k=4, epsilon="0.5")
    rows = extreme_rows((oracle, [1, 2, 1], np.array([0.01, 0.6, 0.39])), None)
    small = MEAN * np.array([0.03] * 4 + [1.0] * 4)
    found = without_fakes(small, rows, "SPD", share=Fraction(1, 20))
    assert (found.lowest, found.highest) == (-np.inf, np.inf)
    assert found.to_dict() == {
        "fake_share": 0.05, "lowest": None, "highest": None, "turning_share": None,
    }  # fmt: skip
    assert without_fakes(small, rows, "DI", share=Fraction(1, 20)).lowest == 0


@pytest.mark.parametrize("metric", ["DI", "SPD", "EOD", "EODDS"])
def test_fewer_fakes_than_the_turning_share_cannot_make_a_conclusion_and_as_many_can(metric):
    """Beside an attacker who tries every record, and mixes of two."""
    oracle, groups, margin = create("OUE", k=4, epsilon="3"), ([0], [1, 2]), 0.03
    parts = [*groups, [3]]
    sizes = (oracle, [1, 2, 1], np.array([SHARES[part].sum() for part in parts]))
    rows = extreme_rows(sizes, (None, [1, 1], np.array([0.6, 0.4])))
    fakes = every_row(oracle, groups, each_value=False)
    rng = np.random.default_rng(3)
    mixed, pairs = rng.random((20_000, 1)), fakes[rng.integers(0, len(fakes), (2, 20_000))]
    tried = np.concatenate([fakes, mixed * pairs[0] + (1 - mixed) * pairs[1]])
    reported, fair = float(value(MEAN, metric)), METRICS[metric].fair
    away = 1 if reported > fair else -1

    def towards_fair(f):
        values = value((MEAN - f * tried) / (1 - f), metric)
        return reported - values.min() if away > 0 else values.max() - reported

    def turning(near, far):
        lower, upper = sorted((near, far))
        return turning_share(MEAN, rows, metric, value=reported, lower=lower, upper=upper)

    share = turning(fair + away * margin, reported + away)  # a disparity
    assert towards_fair(0.99 * share) < margin
    assert towards_fair(1.02 * share) >= 0.97 * margin
    assert turning(fair + away * margin, away * np.inf) is None
    within = turning(fair - away * margin, reported + away)  # none was found
    assert within is None if metric == "EODDS" else 0 < within < 0.5


@pytest.mark.parametrize("protocol", ["GRR", "OUE", "OLH", "SS", "THE"])
@pytest.mark.parametrize("target", [None, "GRR"])
def test_the_range_of_an_attacked_audit_holds_what_the_genuine_reports_alone_give(protocol, target):
    """1 % greedy fakes among real records; the constants of the weights are the audit's own."""
    label = {"name": "label", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
    published = Manifest.from_dict(
        {
            "name": "attacked",
            "version": 1,
            "title": "Attacked",
            "epsilon": "4",
            "protocol": protocol,
            "attributes": [
                {"name": "group", "role": "sensitive", "categories": ["a", "b", "c"]},
                {**label, **({"protocol": target} if target else {})},
            ],
            "protected": {"attribute": "group", "unprivileged": ["a"], "privileged": ["b"]},
        }
    ).resolve()
    rng = np.random.default_rng(9)
    n, fakes = 4_950, 50
    codes = {"group": rng.choice(3, n, p=[0.2, 0.5, 0.3]), "label": rng.integers(0, 2, n)}
    guess = (rng.random(n) < 0.3).astype(np.int8)
    records = encode_many(published, codes, rng)

    def audited(rows, predicted):
        made = AuditPredictions(predicted, (), "external")
        return audit(Records(published, rows), made, outlook=False)

    clean = audited(records, guess)
    # the records of a pool that shift SPD most, each taken for all fakes
    pool = encode_many(
        published, {"group": rng.integers(0, 3, 8), "label": rng.integers(0, 2, 8)}, rng
    )
    worst = clean
    for fake, predicted in itertools.product(pool, (0, 1)):
        rows = np.concatenate([records, np.repeat(fake[None], fakes, axis=0)])
        one = audited(rows, np.concatenate([guess, np.full(fakes, predicted, dtype=np.int8)]))
        if one.metrics["SPD"].value > worst.metrics["SPD"].value:
            worst = one
    assert worst.metrics["SPD"].value - clean.metrics["SPD"].value > 0.01
    for name, one in worst.metrics.items():
        given = one.poisoning
        # fakes move the constants of the weights too, a little
        slack = 0.005 * (given.highest - given.lowest)
        assert given.lowest - slack <= clean.metrics[name].value <= given.highest + slack, name
        assert given.fake_share == Fraction(1, 100)
        assert replace(one, poisoning=None).to_dict()["poisoning"] is None
