"""Rows of the coverage study that are about one rule each, before and now.

The bootstrap of rows in clear where a group may have no positive, the power that a plan predicts
for an audit of a small group with rare positives, and what fake reports do to an audit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import PEOPLE, RATE_TERMS
from hushpoll_analysis.auditing.poisoning import extreme_rows, without_fakes
from hushpoll_analysis.auditing.power import (
    AuditAssumptions,
    audit_powers,
)
from hushpoll_analysis.auditing.sets import disparate, metric_set
from hushpoll_analysis.metrics import GroupCounts
from hushpoll_protocols import create
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared import Manifest
from hushpoll_shared.group_metrics import RATES
from hushpoll_shared.survey.published import Published
from hushpoll_training.evaluation.fairness.bootstrap import bca, resample
from hushpoll_training.evaluation.fairness.estimates import Bounds, GroupEstimate
from hushpoll_training.evaluation.fairness.partition import Partition
from hushpoll_training.evaluation.fairness.report import fairness_report
from studies.earlier_rule import ENOUGH, earlier_metric
from studies.expected_moments import difference_error, expected_moments
from studies.fairness_coverage import Law, truth

RESAMPLES = 500
SURVEYS_AT_A_TIME = 500

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Item:
    """One rule in one setting.

    Attributes
    ----------
    what, setting : str
        In words.
    before, now : float or None
        What the rule of before gives, and that of now; None where it gives none.
    should : str
        What it is to be compared with.
    """

    what: str
    setting: str
    before: float | None
    now: float | None
    should: str

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON."""
        return asdict(self)


def items(populations: Mapping[str, Array], *, surveys: int, seed: int) -> list[Item]:
    """Return all items.

    Parameters
    ----------
    populations : mapping of str to f64[2, 2, 2]
        ``LSAC`` among them.
    surveys, seed : int
        See :func:`studies.audits.run_study`.
    """
    return [
        bootstrap_item(surveys=max(surveys // 5, 2), seed=seed),
        *power_items(surveys=surveys, seed=seed),
        *poisoning_items(populations["LSAC"]),
    ]


def bootstrap_item(*, surveys: int, seed: int) -> Item:
    """Return the coverage of SPD's bootstrap with 40 people in group 0, P0 = .05, P1 = .2.

    Parameters
    ----------
    surveys, seed : int
        Tests of 40 and 400 people, and where their draws start.
    """
    rng = np.random.default_rng([seed, 200])
    sizes, rates = (40, 400), (0.05, 0.2)
    covered = np.zeros(2)
    true = rates[1] - rates[0]
    group = np.repeat([0, 1], sizes)
    for _ in range(surveys):
        predicted = (rng.random(sum(sizes)) < np.repeat(rates, sizes)).astype(np.int64)
        label = np.zeros(sum(sizes), dtype=np.int64)
        counts = GroupCounts.of(label, predicted, group, 2)
        drawn = resample(counts, RESAMPLES, rng)
        lower, upper = bca(counts, drawn, _difference_of_rates, 0.95)
        report = fairness_report(
            label,
            predicted,
            Partition(("group",), ("0", "1"), group, 1, "as declared"),
            resamples=RESAMPLES,
            seed=int(rng.integers(2**31)),
        )
        spd = report.comparisons[0].metrics["SPD"]
        assert isinstance(spd, GroupEstimate)
        shown = spd.bootstrap if isinstance(spd.bootstrap, Bounds) else spd.closed_form
        covered += lower[0] <= true <= upper[0], shown.lower <= true <= shown.upper
    before, now = (covered / surveys).tolist()
    return Item(
        "coverage of the bootstrap of SPD in clear",
        "n0 = 40, P0 = .05, n1 = 400, P1 = .2",
        before,
        now,
        "0.95",
    )


def power_items(*, surveys: int, seed: int) -> list[Item]:
    """Return the powers predicted for small groups with rare positives, and those simulated.

    Parameters
    ----------
    surveys, seed : int
        Simulated, and where their draws start.
    """
    rows = []
    for number, (assumptions, epsilon, n) in enumerate(SMALL_AND_RARE):
        published = audited_survey("GRR", epsilon)
        population = assumptions.population("SPD")
        assert population is not None
        law = Law.of(population, create("GRR", k=2, epsilon=epsilon))
        rng = np.random.default_rng([seed, 300 + number])
        simulated = np.zeros(2)
        for start in range(0, surveys, SURVEYS_AT_A_TIME):
            size = min(SURVEYS_AT_A_TIME, surveys - start)
            counts = rng.multinomial(n, law.probability, size=size).astype(np.float64)
            moments = law.moments(counts, n)
            earlier = earlier_metric(moments, "SPD", confidence=0.95)
            unfair = (earlier.lower > 0) | (earlier.upper < 0)
            simulated += (
                ((earlier.strength >= ENOUGH) & unfair).sum(),
                disparate(metric_set(moments, "SPD", confidence=0.95), "SPD").sum(),
            )
        powers = audit_powers(published, n, assumptions)["SPD"]
        assert powers is not None
        old, new = (simulated / surveys).tolist()
        rows.append(
            Item(
                "predicted power to find SPD",
                f"GRR, ε = {epsilon}, n = {n:,}, {100 * assumptions.unprivileged:g} % in group 0, "
                f"P0 = {assumptions.positive:g}, P1 = {assumptions.positive + assumptions.gap:g}",
                earlier_power(published, n, assumptions, population),
                powers,
                f"simulated: {old:.3f} before, {new:.3f} now",
            )
        )
    return rows


SMALL_AND_RARE: Sequence[tuple[AuditAssumptions, str, int]] = (
    (AuditAssumptions(0.05, 0.01, 0.05, base=0.1), "4", 2_000),
    (AuditAssumptions(0.1, 0.02, 0.05, base=0.1), "2", 4_000),
    (AuditAssumptions(0.1, 0.02, 0.02, base=0.1), "4", 2_000),
)
"""Assumptions, epsilon and respondents."""


def audited_survey(protocol: str, epsilon: str) -> Published:
    """Return a survey of a protected attribute with two categories and a target in clear."""
    return Manifest.from_dict(
        {
            "name": "audited",
            "version": 1,
            "title": "Audited",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "group", "role": "sensitive", "categories": ["0", "1"]},
                {
                    "name": "label",
                    "role": "target",
                    "categories": ["no", "yes"],
                    "positive": "yes",
                },
            ],
            "protected": {"attribute": "group", "unprivileged": ["0"], "privileged": ["1"]},
        }
    ).resolve()


def earlier_power(
    published: Published, n: int, assumptions: AuditAssumptions, population: Array
) -> float:
    """Return the power of SPD as plans gave it before: normal, at the delta method's variance."""
    mean, second = expected_moments(published, population)
    under = PEOPLE
    strengths = []
    for own in (slice(0, 4), slice(4, 8)):
        weight = float(mean[own] @ under)
        square = float(under @ second[own, own] @ under)
        strengths.append(weight / float(np.sqrt((square - weight**2) / n)))
    distance = assumptions.gap / difference_error(published, n, population, "SPD")
    z, normal = normal_quantile(0.95), NormalDist()
    answered = normal.cdf(min(strengths) - ENOUGH)
    return answered * (normal.cdf(distance - z) + normal.cdf(-distance - z))


def poisoning_items(people: Array) -> list[Item]:
    """Return SPD without and with 1 % fakes, and what the audit says of it, for LSAC with OUE.

    Parameters
    ----------
    people : f64[2, 2, 2]
        Of LSAC, by group, label and prediction.
    """
    oracle = create("OUE", k=2, epsilon="1")
    law = Law.of(people, oracle)
    genuine = law.moments(law.probability, 20_000).mean
    shares = people.sum(axis=(1, 2)) / people.sum()
    rows = extreme_rows((oracle, [1, 1], shares), (None, [1, 1], shares))
    attacked = 0.99 * genuine + 0.01 * rows
    worst = attacked[int(np.argmax([_spd(mean) for mean in attacked]))]
    metric = without_fakes(worst, rows, "SPD")
    return [
        Item(
            "SPD with 1 % fakes, and the least that the audit says it is without them",
            "LSAC, OUE, ε = 1",
            _spd(worst),
            metric.lowest,
            f"without fakes {truth(people)['SPD']:.3f}",
        )
    ]


def markdown(rows: Sequence[Item]) -> str:
    """Return items as a table in Markdown."""
    lines = ["| what | setting | before | now | should be |", "|---|---|---|---|---|"]
    lines += [
        f"| {item.what} | {item.setting} | {_shown(item.before)} | {_shown(item.now)} "
        f"| {item.should} |"
        for item in rows
    ]
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _spd(mean: Array) -> float:
    top, under = RATE_TERMS["P"]
    r0, r1 = ((mean[own] @ top) / (mean[own] @ under) for own in (slice(4), slice(4, 8)))
    return float(r1 - r0)


def _difference_of_rates(counts: GroupCounts) -> Array:
    rate = counts.rate(RATES["P"])
    return rate[..., 1:] - rate[..., :1]
