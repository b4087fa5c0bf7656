"""What was planned and told before, and what is now, by the law and by simulation.

The number of hash values of OLH, the intervals of small groups' shares in an audit, the difference
that a plan says can be found, and the option that it recommends. ``scripts/coverage-study
--planning`` runs it in full.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.estimates.set_shares import group_share
from hushpoll_analysis.metrics import difference_limits
from hushpoll_analysis.planning.planner import POWER, detectable_difference, plan
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import FrequencyOracle, create
from hushpoll_protocols.estimation.frequencies import (
    Estimate,
    estimate_proportion,
    normal_quantile,
    weighted,
)
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_protocols.thresholds import floor_in_exp
from hushpoll_shared import Manifest
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from studies.earlier_rule import earlier_share
from studies.estimates import draw_supports
from studies.fairness_coverage import Law, coverage
from studies.items import Item, audited_survey, markdown

Array = npt.NDArray[np.float64]

SEED = 2023
SURVEYS = 2_000
RECORDS = 200_000
RECORDS_AT_A_TIME = 20_000

BUCKETS = tuple((k, epsilon) for k in (2, 5, 74) for epsilon in ("0.5", "1", "4"))
"""k and epsilon."""

GROUPS = (("OUE", "8", 200, 0.01), ("OUE", "8", 200, 0.005))
"""Protocol, epsilon, respondents and the share of one of two groups."""

DIFFERENCES = (
    ("OUE", 2, "1", 2_000),
    ("SS", 10, "1", 4_000),
    ("OLH", 10, "2", 1_000),
    ("GRR", 74, "4", 1_000),
    ("RAPPOR", 5, "4", 200),
)
"""Protocol, k, epsilon and respondents."""

TOO_FEW = ("GRR", 2, "0.1", 200)
"""A setting where the difference of before is larger than any share."""

ADULT = {"gender": 2, "race": 5, "native-country": 41, "age": 74}
"""Categories of Adult's sensitive attributes."""

DRAFT = {"protocol": "GRR", "split": "uniform"}
"""What the draft with these attributes says."""

RECOMMENDED = (AuditAssumptions(gap=0.1, unprivileged=0.32, positive=0.3), "4", 3_000)
"""Assumptions, epsilon and respondents with which no option has a power of 0.8."""


def bucket_items(*, records: int, seed: int) -> list[Item]:
    """Return n times the variance at frequency 1/k with the g of before and with that of now.

    Parameters
    ----------
    records : int
        Simulated with each g, of equally frequent categories; at least 2.
    seed : int
        Of answers and noise.
    """
    items = []
    for number, (k, epsilon) in enumerate(BUCKETS):
        oracles = (
            create("OLH", k=k, epsilon=epsilon, g=earlier_g(epsilon)),
            create("OLH", k=k, epsilon=epsilon),
        )
        gs = [oracle.parameters["g"] for oracle in oracles]
        simulated = [
            _variances(oracle, records, np.random.default_rng([seed, 0, number, place]))
            for place, oracle in enumerate(oracles)
        ]
        share = Fraction(1, k)
        laws = {
            "raw": [oracle.variance(share) for oracle in oracles],
            "weighted": [oracle.estimate_variance(share) for oracle in oracles],
        }
        for name, (before, now) in laws.items():
            old, new = (run[name] for run in simulated)
            items.append(
                Item(
                    f"n times the variance at frequency 1/k, {name}, by the law",
                    f"OLH, k = {k}, ε = {epsilon}: g = {gs[0]} before, {gs[1]} now",
                    float(before),
                    float(now),
                    f"simulated: {old:.3f} before, {new:.3f} now; "
                    f"change {100 * (float(now / before) - 1):+.1f} %",
                )
            )
    return items


def earlier_g(epsilon: str) -> int:
    """Return g = floor(e^epsilon + 1), as OLH's was before (Wang et al. 2017, section 4.4.2)."""
    return floor_in_exp(lambda e: e + 1, Decimal(epsilon))


def _variances(
    oracle: FrequencyOracle, records: int, rng: np.random.Generator
) -> Mapping[str, float]:
    """Return the mean square error of a record's D and of its weight, over all categories."""
    channel, k = Channel.of(oracle), oracle.k
    raw = weighted_sum = 0.0
    for start in range(0, records, RECORDS_AT_A_TIME):
        values = rng.integers(0, k, min(RECORDS_AT_A_TIME, records - start))
        debiased = channel.debias(indicators(oracle, perturb(oracle, values, rng)))
        # where all categories are equally frequent each takes 1/k of the excess
        weight = debiased - (debiased.sum(axis=1, keepdims=True) - 1) / k
        raw += float(((debiased - 1 / k) ** 2).mean(axis=1).sum())
        weighted_sum += float(((weight - 1 / k) ** 2).mean(axis=1).sum())
    return {"raw": raw / records, "weighted": weighted_sum / records}


def share_items(*, surveys: int, seed: int) -> list[Item]:
    """Return how often the interval of a small group's share in an audit covers it.

    Parameters
    ----------
    surveys, seed : int
        Simulated, and where their draws start.
    """
    items = []
    for number, (protocol, epsilon, n, share) in enumerate(GROUPS):
        attribute = audited_survey(protocol, epsilon).attribute("group")
        oracle = create(protocol, k=2, epsilon=epsilon)
        people = np.array([share, 1 - share])[:, None, None] * np.full((2, 2), 0.25)
        law = Law.of(people, oracle)
        rng = np.random.default_rng([seed, 1, number])
        counts = rng.multinomial(n, law.probability, size=surveys)
        earlier = earlier_share(law.moments(counts.astype(np.float64), n), 0, confidence=0.95)
        before = (earlier.lower <= share) & (share <= earlier.upper)
        now = 0
        for support in counts @ law.indicators.astype(np.int64):
            told = group_share(attribute, support, n, [0], confidence=0.95)
            now += told.lower <= share <= told.upper
        items.append(
            Item(
                "coverage of the share of a group in an audit",
                f"{protocol}, ε = {epsilon}, n = {n:,}, {100 * share:g} % in the group",
                float(before.mean()),
                now / surveys,
                "0.95",
            )
        )
    return items


def difference_items(*, surveys: int, seed: int) -> list[Item]:
    """Return how often the difference that a plan gives is found, by the estimates of its time.

    Parameters
    ----------
    surveys, seed : int
        Simulated, each of two halves, and where their draws start.
    """
    items = []
    for number, (protocol, k, epsilon, n) in enumerate(DIFFERENCES):
        oracle = create(protocol, k=k, epsilon=epsilon)
        before, now = earlier_difference(oracle, n), detectable_difference(oracle, k, n)
        assert now is not None
        old, new = (
            _power(oracle, n, difference, surveys, rng=rng, raw=raw)
            for difference, raw, rng in (
                (before, True, np.random.default_rng([seed, 2, number, 0])),
                (now, False, np.random.default_rng([seed, 2, number, 1])),
            )
        )
        items.append(
            Item(
                "power to find the smallest difference that is planned",
                f"{protocol}, k = {k}, ε = {epsilon}, n = {n:,}: "
                f"{before:.3f} before, {now:.3f} now",
                old,
                new,
                f"{POWER:g}",
            )
        )
    protocol, k, epsilon, n = TOO_FEW
    oracle = create(protocol, k=k, epsilon=epsilon)
    items.append(
        Item(
            "smallest difference that is planned",
            f"{protocol}, k = {k}, ε = {epsilon}, n = {n:,}",
            earlier_difference(oracle, n),
            detectable_difference(oracle, k, n),
            f"at most {1 - 1 / k:g}, or none",
        )
    )
    return items


def earlier_difference(oracle: FrequencyOracle, n: int) -> float:
    """Return the difference of before: both halves with raw's variance at frequency 1/k."""
    variance = float(oracle.variance(Fraction(1, oracle.k)))
    return (normal_quantile(0.95) + NormalDist().inv_cdf(POWER)) * math.sqrt(4 * variance / n)


def _power(
    oracle: FrequencyOracle,
    n: int,
    difference: float,
    surveys: int,
    *,
    rng: np.random.Generator,
    raw: bool,
) -> float:
    halves = [
        _estimates(oracle, n // 2, share, surveys, rng=rng, raw=raw)
        for share in (1 / oracle.k, 1 / oracle.k + difference)
    ]
    low, high = (half.frequency[:, 0] for half in halves)
    if not raw:
        limits = [(half.lower[:, 0], half.upper[:, 0]) for half in halves]
        lower, upper = difference_limits(high, limits[1], low, limits[0])
        return float(((lower > 0) | (upper < 0)).mean())
    error = np.hypot(*(half.standard_error[:, 0] for half in halves))
    return float((np.abs(high - low) > normal_quantile(0.95) * error).mean())


def _estimates(
    oracle: FrequencyOracle,
    n: int,
    share: float,
    surveys: int,
    *,
    rng: np.random.Generator,
    raw: bool,
) -> Estimate:
    counts = draw_supports(oracle, n, share, surveys, rng)
    raw_estimate = estimate_proportion(counts, n, p=oracle.p, q=oracle.q)
    law = WeightLaw.of(oracle)
    return raw_estimate if raw or not law.varies else weighted(law, raw_estimate)


def recommendation_items(*, surveys: int, seed: int) -> list[Item]:
    """Return the power of an audit in the option recommended, where none has a power of 0.8.

    Parameters
    ----------
    surveys, seed : int
        Simulated, and where their draws start.
    """
    expected, epsilon, n = RECOMMENDED
    planned = plan(adult_draft(epsilon), n, expected)
    # a draft's own split and protocol are options twice, once by their names
    options = {
        (option["protocol"], option["split"]): option
        for option in planned["options"]
        if "own" not in (option["protocol"], option["split"])
    }
    recommended = planned["recommended"]
    protocol, split = (
        DRAFT[name] if recommended[name] == "own" else recommended[name] for name in DRAFT
    )
    chosen = protocol, split
    least = min(options, key=lambda key: _raw_variance(options[key]))
    people = expected.population("SPD")
    assert people is not None
    powers = []
    for place, key in enumerate((least, chosen)):
        gender = options[key]["attributes"][0]
        by_metric = coverage(
            people,
            create(gender["protocol"], k=2, epsilon=gender["epsilon"]),
            respondents=n,
            surveys=surveys,
            rng=np.random.default_rng([seed, 3, place]),
        )
        powers.append(by_metric["SPD"].disparate)
    old, new = (options[key]["audit_power"]["SPD"] for key in (least, chosen))
    return [
        Item(
            "power to find SPD in the option that is recommended",
            f"Adult, ε = {epsilon}, n = {n:,}: {' / '.join(least)} before, "
            f"{' / '.join(chosen)} now",
            powers[0],
            powers[1],
            f"predicted: {old:.3f} before, {new:.3f} now",
        )
    ]


def adult_draft(epsilon: str) -> Manifest:
    """Return a draft with Adult's sensitive attributes, gender the protected one."""
    return Manifest.from_dict(
        {
            "name": "adult",
            "version": 1,
            "title": "Adult",
            "epsilon": epsilon,
            **DRAFT,
            "attributes": [
                {"name": name, "role": "sensitive", "range": [1, k]} for name, k in ADULT.items()
            ],
            "protected": {"attribute": "gender", "unprivileged": ["1"], "privileged": ["2"]},
        }
    )


def _raw_variance(option: Mapping[str, Any]) -> Fraction:
    """Return the total variance of raw estimates, by which options were ranked before."""
    return sum(
        (
            create(row["protocol"], k=row["k"], epsilon=row["epsilon"]).variance(
                Fraction(1, row["k"])
            )
            for row in option["attributes"]
        ),
        Fraction(0),
    )


@click.command()
@click.option("--surveys", type=click.IntRange(min=2), default=SURVEYS, show_default=True)
@click.option("--records", type=click.IntRange(min=2), default=RECORDS, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@json_option
@reports_errors
def main(surveys: int, records: int, seed: int, as_json: bool) -> None:
    """Measure OLH's variances, the shares of small groups and what plans say, before and now."""
    items = [
        *bucket_items(records=records, seed=seed),
        *share_items(surveys=surveys, seed=seed),
        *difference_items(surveys=surveys, seed=seed),
        *recommendation_items(surveys=surveys, seed=seed),
    ]
    document = {
        "surveys": surveys,
        "records": records,
        "seed": seed,
        "items": [item.to_dict() for item in items],
    }
    emit(document, lambda: markdown(items), as_json=as_json)


if __name__ == "__main__":
    main()
