"""What verdicts of plans predict, beside simulated surveys: mean widths and powers.

Small groups (1 % of the respondents) and rare categories and positives (1 %) are among the
settings. ``scripts/coverage-study --goals`` runs it in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.auditing.sets import disparate, metric_set
from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.estimates.joint import Side, debiased_means
from hushpoll_analysis.estimates.score_law import RecordLaw
from hushpoll_analysis.metrics import difference_limits
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.planning.expected_estimates import smallest_difference
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.outcomes import PRECISE, outcome, sizes
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols import PROTOCOLS, FrequencyOracle
from hushpoll_protocols.estimation.frequencies import (
    Estimate,
    estimate_proportion,
    normal_quantile,
    weighted,
)
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared import Manifest
from hushpoll_shared.survey.published import Published
from studies.command import study_command
from studies.estimates import draw_all_supports, draw_supports
from studies.fairness_coverage import Law

SEED = 2024
SURVEYS = 5_000
AT_A_TIME = 500
EPSILONS = ("1", "2", "4")

WIDTHS = (
    ("share of 10 %", 10, 2_000, 0.1),
    ("rare: share of 1 %", 10, 2_000, 0.01),
    ("rare, few respondents", 5, 200, 0.01),
)
"""Title, k, respondents and the category's share."""

DIFFERENCES = (
    ("difference, halves, share of 10 %", "difference", 10, 4_000, 0.5, 0.1),
    ("difference, a group of 1 %", "difference", 2, 40_000, 0.01, 0.1),
    ("difference, a group of 1 %, rare: share of 1 %", "difference", 5, 40_000, 0.01, 0.01),
    ("change between versions, rare: share of 1 %", "change", 5, 2_000, 0.5, 0.01),
)
"""Title, kind, k, respondents, the smaller group's part and the category's share."""

LEADS = (
    ("lead, share of 10 %", 10, 4_000, 0.1),
    ("lead, rare: share of 1 %", 5, 4_000, 0.01),
    ("lead, rare, few respondents", 5, 200, 0.01),
)
"""Title, k, respondents and the share of the category that is behind."""

AUDITS = (
    ("audit, halves", 5_000, AuditAssumptions(0.1, 0.3, 0.5)),
    ("audit, a group of 1 %", 40_000, AuditAssumptions(0.3, 0.3, 0.01)),
    ("audit, rare positives: 1 %", 4_000, AuditAssumptions(0.08, 0.01, 0.3, base=0.1)),
    ("audit, a group of 1 %, rare positives", 40_000, AuditAssumptions(0.3, 0.01, 0.01, base=0.1)),
)
"""Title, respondents, and the population with its gap."""

METRICS = ("SPD", "EOD")

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One number that is predicted.

    Attributes
    ----------
    setting, protocol, epsilon : str
        Where.
    predicted, simulated : float
        Mean width, or power.
    is_width : bool
        Which of the two.
    """

    setting: str
    protocol: str
    epsilon: str
    predicted: float
    simulated: float
    is_width: bool

    @property
    def off(self) -> float:
        """By how much the prediction is off: relative for a width, absolute for a power."""
        return abs(
            self.predicted / self.simulated - 1
            if self.is_width
            else self.predicted - self.simulated
        )


def survey(protocol: str, k: int, epsilon: str) -> Published:
    """Return a survey of one attribute, the protected one, and a label in clear."""
    document = {
        "name": "planned",
        "version": 1,
        "title": "Planned",
        "epsilon": epsilon,
        "protocol": protocol,
        "attributes": [
            {"name": "group", "role": "sensitive", "range": [1, k]},
            {"name": "label", "role": "target", "categories": ["no", "yes"], "positive": "yes"},
        ],
        "protected": {"attribute": "group", "unprivileged": ["1"], "privileged": ["2"]},
    }
    return Manifest.from_dict(document).resolve()


def compare_widths(protocol: str, epsilon: str, surveys: int, seed: int) -> Iterator[Row]:
    """Yield the mean widths of one protocol at one epsilon."""
    for number, (title, k, n, share) in enumerate(WIDTHS):
        published, rng = survey(protocol, k, epsilon), np.random.default_rng([seed, 0, number])
        goal = Goal("width", "group", share=share)
        told = outcome(goal, published, n, AuditAssumptions()).value
        estimate = _estimates(_oracle(published), n, share, surveys, rng)
        width = float((estimate.upper - estimate.lower)[:, 0].mean())
        assert told is not None
        yield Row(title, protocol, epsilon, told, width, is_width=True)


def compare_differences(protocol: str, epsilon: str, surveys: int, seed: int) -> Iterator[Row]:
    """Yield the power of the smallest difference that is planned, and of two thirds of it."""
    for number, (title, kind, k, n, group, share) in enumerate(DIFFERENCES):
        published, rng = survey(protocol, k, epsilon), np.random.default_rng([seed, 1, number])
        oracle = _oracle(published)
        asked = Goal(kind, "group", share=share, group=group)  # type: ignore[arg-type]
        both = sizes(asked, n)
        smallest = smallest_difference(oracle, share, both, 0.95, POWER) or 1 - share
        for part in (1.0, 2 / 3):
            goal = Goal(kind, "group", part * smallest, share=share, group=group)  # type: ignore[arg-type]
            told = outcome(goal, published, n, AuditAssumptions()).value
            assert told is not None
            sides = [
                _estimates(oracle, size, f, surveys, rng)
                for size, f in zip(both, (share + part * smallest, share), strict=True)
            ]
            ends = [(side.frequency[:, 0], (side.lower[:, 0], side.upper[:, 0])) for side in sides]
            lower, upper = difference_limits(*ends[0], *ends[1])
            power = float(((lower > 0) | (upper < 0)).mean())
            yield Row(title, protocol, epsilon, told, power, is_width=False)


def compare_leads(protocol: str, epsilon: str, surveys: int, seed: int) -> Iterator[Row]:
    """Yield mean widths of leads, and the power of the smallest one and of two thirds of it.

    Surveys are drawn here record by record: from the law of all supports that a record can be.
    """
    for number, (title, k, n, share) in enumerate(LEADS):
        published, rng = survey(protocol, k, epsilon), np.random.default_rng([seed, 3, number])
        goal = Goal("lead-width", "group", share=share)
        told = outcome(goal, published, n, AuditAssumptions(), surveys=PRECISE).value
        sets = _leads(published, n, share, 0.0, surveys, rng)
        width = float((sets.upper - sets.lower).mean())
        assert told is not None
        yield Row(f"{title}, width", protocol, epsilon, told, width, is_width=True)
        asked = Goal("lead", "group", share=share)
        smallest = outcome(asked, published, n, AuditAssumptions()).value or 0.999 - 2 * share
        for part in (1.0, 2 / 3):
            goal = Goal("lead", "group", part * smallest, share=share)
            told = outcome(goal, published, n, AuditAssumptions(), surveys=PRECISE).value
            sets = _leads(published, n, share, part * smallest, surveys, rng)
            power = float(((sets.lower > 0) | (sets.upper < 0)).mean())
            assert told is not None
            yield Row(title, protocol, epsilon, told, power, is_width=False)


def _leads(
    published: Published, n: int, share: float, lead: float, surveys: int, rng: np.random.Generator
) -> Sets:
    """Return the lead of the first category over the second one, f64[1, surveys]."""
    oracle, attribute = _oracle(published), published.attribute("group")
    people = np.full(oracle.k, (1 - 2 * share - lead) / (oracle.k - 2))
    people[:2] = share + lead, share
    counts = draw_all_supports(oracle, n, people, surveys, rng)
    side = Side.of(oracle)
    debiased = debiased_means(counts, n, side)
    shares = side.law.frequencies(debiased).T
    scale = 1.0 + side.law.slope * side.law.mean_excess(debiased)[:, 0]
    law = RecordLaw.of(oracle, oracle.k)
    answers = Answers(attribute, n, law, scale, shares, shares[:, 0])
    scores = np.zeros((1, oracle.k))
    scores[0, :2] = 1.0, -1.0
    return Ratios.of_scores(answers, scores).sets(normal_quantile(0.95))


def compare_audits(protocol: str, epsilon: str, surveys: int, seed: int) -> Iterator[Row]:
    """Yield the powers of audits, whose surveys another program draws."""
    published = survey(protocol, 2, epsilon)
    for number, (title, n, given) in enumerate(AUDITS):
        rng = np.random.default_rng([seed, 2, number])
        for name in METRICS:
            goal = Goal("audit", name, given.gap)
            told = outcome(goal, published, n, given, surveys=PRECISE).value
            population = given.population(name)
            assert told is not None
            assert population is not None
            law, found = Law.of(population, _oracle(published)), 0
            for start in range(0, surveys, AT_A_TIME):
                some = min(AT_A_TIME, surveys - start)
                counts = rng.multinomial(n, law.probability, size=some).astype(np.float64)
                sets = metric_set(law.moments(counts, n), name, confidence=0.95)
                found += int(disparate(sets, name).sum())
            title_of = f"{title}, {name}"
            yield Row(title_of, protocol, epsilon, told, found / surveys, is_width=False)


def _oracle(published: Published) -> FrequencyOracle:
    oracle = published.attribute("group").oracle
    assert oracle is not None
    return oracle


def _estimates(
    oracle: FrequencyOracle, n: int, share: float, surveys: int, rng: np.random.Generator
) -> Estimate:
    counts = draw_supports(oracle, n, share, surveys, rng)
    raw, law = estimate_proportion(counts, n, p=oracle.p, q=oracle.q), WeightLaw.of(oracle)
    return weighted(law, raw) if law.varies else raw


def run_study(*, surveys: int, seed: int, protocols: Sequence[str] = tuple(PROTOCOLS)) -> list[Row]:
    """Return all rows."""
    return [
        row
        for protocol in protocols
        for epsilon in EPSILONS
        for compare in (compare_widths, compare_differences, compare_leads, compare_audits)
        for row in compare(protocol, epsilon, surveys, seed)
    ]


def markdown(rows: Sequence[Row]) -> str:
    """Return a table: by setting, the row that is the furthest off."""
    lines = [
        "| setting | rows | mean width or power at the worst | predicted | simulated | off by |",
        "|---|---|---|---|---|---|",
    ]
    for setting in dict.fromkeys(row.setting for row in rows):
        some = [row for row in rows if row.setting == setting]
        worst = max(some, key=lambda row: row.off)
        off = f"{100 * worst.off:.1f} %" if worst.is_width else f"{worst.off:.3f}"
        lines.append(
            f"| {setting} | {len(some)} | {worst.protocol}, ε = {worst.epsilon} "
            f"| {worst.predicted:.3f} | {worst.simulated:.3f} | {off} |"
        )
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Compare what plans predict with simulated surveys.",
    seed=SEED,
    surveys=SURVEYS,
)

if __name__ == "__main__":
    main()
