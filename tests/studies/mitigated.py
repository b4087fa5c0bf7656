"""Are the shares, rates and accuracies that mitigation works with right on average, and covered?

Each setting draws surveys anew, respondents and noise together. The truth is that of the people who
answered the target; beside each number stands the error of what the reports of answers alone say.
``scripts/coverage-study --mitigation`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle, create
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training.audits.records_accuracy import JudgedPredictions
from hushpoll_training.data.target import Target
from hushpoll_training.learners.evidence import SKIPPED, GroupEvidence, Reports
from hushpoll_training.learners.grouping import crossed
from hushpoll_training.mitigation.reweighing import Reweighing
from hushpoll_training.mitigation.thresholds import ThresholdRule, disparities
from studies.command import study_command

Array = npt.NDArray[np.float64]

SEED = 2026
RULE = ThresholdRule(np.array([0.5]), np.array([[0.0, 1.0], [0.0, 1.0]]))
"""The model's own predictions."""


@dataclass(frozen=True, slots=True)
class Row:
    """One number in one setting.

    Attributes
    ----------
    what, setting : str
        In words.
    error, spread : float
        Mean error of the estimates, and their standard deviation.
    covered : float or None
        Share of the intervals of 95 % that held the truth; None for a number without interval.
    alone : float or None
        Mean error of the same number from the reports of answers alone; None where all answer.
    """

    what: str
    setting: str
    error: float
    spread: float
    covered: float | None
    alone: float | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A perturbed target that may be skipped.

    Attributes
    ----------
    answers : int
        Categories; the first is positive, and the others are equally frequent.
    epsilon : str
        Of the target, by GRR.
    group : (str, str)
        Protocol and epsilon of the group.
    n : int
        Respondents.
    silent : f64[2, 2]
        Share that skips, by group and whether the label is positive.
    """

    answers: int
    epsilon: str
    group: tuple[str, str]
    n: int
    silent: tuple[tuple[float, float], tuple[float, float]]

    @property
    def words(self) -> str:
        """The setting in words."""
        protocol, epsilon = self.group
        among = [share for group in self.silent for share in group]
        return (
            f"{self.answers} answers, ε = {self.epsilon}; group by {protocol}, ε = {epsilon}; "
            f"n = {self.n:,}; {100 * min(among):.0f} to {100 * max(among):.0f} % skip"
        )


SKIPPED_SETTINGS: tuple[Skipped, ...] = (
    Skipped(2, "1", ("GRR", "1"), 20_000, ((0.1, 0.1), (0.1, 0.4))),
    Skipped(2, "2", ("OUE", "2"), 5_000, ((0.1, 0.1), (0.1, 0.4))),
    Skipped(2, "2", ("GRR", "2"), 2_000, ((0.05, 0.05), (0.05, 0.05))),
    Skipped(4, "2", ("OLH", "2"), 5_000, ((0.1, 0.3), (0.1, 0.3))),
    Skipped(3, "4", ("GRR", "4"), 1_000, ((0.6, 0.3), (0.6, 0.8))),
)
GROUP = 0.4
POSITIVE = np.array([0.3, 0.5])
RIGHT = np.array([[0.8, 0.7], [0.75, 0.9]])
"""Share of group 1, of positive labels by group, and of right predictions by group and label."""


def study_skipped(surveys: int, seed: int) -> Iterator[Row]:
    """Yield the rows of targets that may be skipped."""
    for number, setting in enumerate(SKIPPED_SETTINGS):
        share = np.array([1 - GROUP, GROUP])[:, None] * np.stack([1 - POSITIVE, POSITIVE], axis=1)
        answering = share * (1 - np.array(setting.silent))
        answering /= answering.sum()
        positive = np.stack([1 - RIGHT[:, 0], RIGHT[:, 1]], axis=1)
        rates = (answering * positive).sum(axis=1) / answering.sum(axis=1)
        truth = {
            "accuracy": float((answering * RIGHT).sum()),
            "accuracy less that of a constant": float((answering * RIGHT).sum())
            - float(answering[:, 0].sum()),
            "share of group 1 with a positive label": float(answering[1, 1]),
            "difference of positive rates": float(rates[1] - rates[0]),
        }
        draws = (
            _skipped(setting, np.random.default_rng([seed, number, i])) for i in range(surveys)
        )
        yield from measured(setting.words, truth, draws)


Draw = tuple[Mapping[str, tuple[float, float | None, float | None]], Mapping[str, float]]
"""Per number, the estimate and its limits; and what the reports of answers alone say."""


def _skipped(setting: Skipped, rng: np.random.Generator) -> Draw:
    n = setting.n
    group = (rng.random(n) < GROUP).astype(np.int64)
    label = (rng.random(n) < POSITIVE[group]).astype(np.int64)
    predicted = np.where(rng.random(n) < RIGHT[group, label], label, 1 - label)
    silent = rng.random(n) < np.array(setting.silent)[group, label]
    codes = np.where(label == 1, 0, rng.integers(1, setting.answers, n))
    codes[silent] = setting.answers
    told = create(setting.group[0], k=2, epsilon=setting.group[1])
    asked = create("GRR", k=setting.answers + 1, epsilon=setting.epsilon)
    reported = _reported(asked, codes, rng)
    p, q = (float(part / (1 - asked.q)) for part in (asked.p, asked.q))
    target = Target("label", "positive", "other", 0, setting.answers, p, q)
    evidence = GroupEvidence(
        indicators(told, perturb(told, group, rng)), told, ((0,), (1,)), p, q, True
    )
    seen = np.where(reported == setting.answers, SKIPPED, (reported == 0).astype(np.int64))
    scores = predicted.astype(np.float64)
    judged = JudgedPredictions(target, predicted == 1, *target.answered_weights(reported))
    accuracy = judged.accuracy(0.95)
    gap = disparities(evidence, seen, [{0: scores}, {1: scores}], RULE)[0]
    kept = seen != SKIPPED
    alone = replace(evidence.take(kept), skippable=False)
    answers = JudgedPredictions(
        replace(target, missing_code=None),
        judged.predicted[kept],
        *replace(target, missing_code=None).answered_weights(reported[kept]),
    )
    naive = disparities(alone, seen[kept], [{0: scores[kept]}, {1: scores[kept]}], RULE)[0]
    gain = judged.gain(False, 0.95)
    names = (
        "accuracy",
        "accuracy less that of a constant",
        "share of group 1 with a positive label",
        "difference of positive rates",
    )
    joint = Reweighing.of(evidence, seen).joint[1, 1]
    values = (
        (accuracy.value, accuracy.lower, accuracy.upper),
        (gain.value, gain.lower, gain.upper),
        (float(joint), None, None),
        (gap.value, gap.lower, gap.upper),
    )
    without = (
        answers.accuracy(0.95).value,
        answers.gain(False, 0.95).value,
        float(Reweighing.of(alone, seen[kept]).joint[1, 1]),
        naive.value,
    )
    return dict(zip(names, values, strict=True)), dict(zip(names, without, strict=True))


def _reported(
    oracle: FrequencyOracle, codes: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    return np.asarray(indicators(oracle, perturb(oracle, codes, rng)).argmax(axis=1), np.int64)


def measured(setting: str, truth: Mapping[str, float], draws: Iterator[Draw]) -> Iterator[Row]:
    """Yield a row for each number, over all draws of a setting."""
    drawn = list(draws)
    for name, right in truth.items():
        values = np.array([each[0][name][0] for each in drawn])
        limits = [each[0][name][1:] for each in drawn]
        covered = None
        if limits[0][0] is not None:
            covered = float(np.mean([low <= right <= high for low, high in limits]))  # type: ignore[operator]
        alone = None
        if drawn[0][1]:
            alone = float(np.mean([each[1][name] for each in drawn])) - right
        yield Row(name, setting, float(values.mean()) - right, float(values.std()), covered, alone)


@dataclass(frozen=True, slots=True)
class Intersections:
    """Two protected attributes of 2 and 3 categories, the last of which may be rare.

    Attributes
    ----------
    first, second : (str or None, str)
        Protocol and epsilon; None for answers in clear.
    n : int
        Respondents.
    last : float
        Share of the second attribute's last category, such as that of those who gave no answer.
    """

    first: tuple[str | None, str]
    second: tuple[str | None, str]
    n: int
    last: float

    @property
    def words(self) -> str:
        """The setting in words."""
        each = [
            f"{name}, ε = {eps}" if name else "in clear" for name, eps in (self.first, self.second)
        ]
        smallest = 100 * GROUP * self.last
        return (
            f"2 x 3 groups, {each[0]}; {each[1]}; n = {self.n:,}; {smallest:.0f} % in the smallest"
        )


INTERSECTIONS: tuple[Intersections, ...] = (
    Intersections(("GRR", "2"), ("GRR", "2"), 10_000, 0.3),
    Intersections(("OUE", "2"), ("OLH", "2"), 20_000, 0.3),
    Intersections(("GRR", "1"), (None, ""), 5_000, 0.2),
    Intersections(("SS", "4"), ("RAPPOR", "4"), 5_000, 0.1),
)


def study_intersections(surveys: int, seed: int) -> Iterator[Row]:
    """Yield the rows of intersections of two attributes."""
    for number, setting in enumerate(INTERSECTIONS):
        smallest = GROUP * setting.last
        truth = {
            "share of the smallest group with a positive label": smallest * _base(1, 2),
            "difference of positive rates": _positive(1, 2) - _positive(0, 0),
        }
        draws = (
            _crossed(setting, np.random.default_rng([seed, 100 + number, i]))
            for i in range(surveys)
        )
        yield from measured(setting.words, truth, draws)


def _base(first: int, second: int) -> float:
    """Return the share of positive labels in an intersection."""
    return 0.25 + 0.2 * first + 0.1 * second


def _positive(first: int, second: int) -> float:
    """Return the share of an intersection that is predicted positive."""
    base = _base(first, second)
    return base * float(RIGHT[first, 1]) + (1 - base) * (1 - float(RIGHT[first, 0]))


def _crossed(setting: Intersections, rng: np.random.Generator) -> Draw:
    n = setting.n
    first = (rng.random(n) < GROUP).astype(np.int64)
    others = (1 - setting.last) / 2
    second = rng.choice(3, n, p=[others, others, setting.last])
    label = (rng.random(n) < 0.25 + 0.2 * first + 0.1 * second).astype(np.int64)
    predicted = np.where(rng.random(n) < RIGHT[first, label], label, 1 - label)
    reports = []
    for codes, k, (name, epsilon) in ((first, 2, setting.first), (second, 3, setting.second)):
        oracle = None if name is None else create(name, k=k, epsilon=epsilon)
        own = np.eye(k, dtype=np.uint8)[codes]
        if oracle is not None:
            own = indicators(oracle, perturb(oracle, codes, rng))
        reports.append(Reports(own, oracle))
    groups = crossed([((0,), (1,)), ((0,), (1,), (2,))], [2, 3])
    evidence = GroupEvidence(
        reports[0].indicators, reports[0].oracle, groups, further=(reports[1],)
    )
    scores = predicted.astype(np.float64)
    rule = ThresholdRule(RULE.thresholds, np.tile(RULE.chances[:1], (6, 1)))
    found = disparities(evidence, label, [{code: scores} for code in range(6)], rule)
    gap = next(one for one in found if one.rate == "positive" and one.groups == (0, 5))
    weights = evidence.category_weights()[:, 5] * label
    error = 1.96 * float(weights.std()) / np.sqrt(n)
    share = float(weights.mean())
    return {
        "share of the smallest group with a positive label": (share, share - error, share + error),
        "difference of positive rates": (gap.value, gap.lower, gap.upper),
    }, {}


@dataclass(frozen=True, slots=True)
class SmallGroup:
    """A group of a few people beside a large one.

    Attributes
    ----------
    people : int
        In the small group.
    share : float
        Of them that is predicted positive; half of the others is.
    report : (str, str) or None
        Protocol and epsilon of the group; None in clear.
    """

    people: int
    share: float
    report: tuple[str, str] | None = None

    @property
    def words(self) -> str:
        """The setting in words."""
        how = "in clear" if self.report is None else "{}, ε = {}".format(*self.report)
        return (
            f"a group of {self.people} in {SMALL_SURVEY}, {how}; {100 * self.share:.0f} % of it "
            "positive"
        )


SMALL_SURVEY = 400
"""Respondents where a group is small."""

SMALL_GROUPS: tuple[SmallGroup, ...] = (
    SmallGroup(5, 0.1),
    SmallGroup(10, 0.1),
    SmallGroup(10, 0.5),
    SmallGroup(20, 0.1),
    SmallGroup(20, 0.5),
    SmallGroup(20, 0.1, ("GRR", "6")),
)


def study_small_groups(surveys: int, seed: int) -> Iterator[Row]:
    """Yield the rows of small groups."""
    for number, setting in enumerate(SMALL_GROUPS):
        truth = {"difference of positive rates": 0.5 - setting.share}
        draws = (
            _small(setting, np.random.default_rng([seed, 200 + number, i])) for i in range(surveys)
        )
        yield from measured(setting.words, truth, draws)


def _small(setting: SmallGroup, rng: np.random.Generator) -> Draw:
    n = SMALL_SURVEY
    group = (np.arange(n) >= setting.people).astype(np.int64)
    label = rng.integers(0, 2, n)
    scores = (rng.random(n) < np.where(group == 0, setting.share, 0.5)).astype(np.float64)
    own, oracle = np.eye(2, dtype=np.uint8)[group], None
    if setting.report is not None:
        oracle = create(setting.report[0], k=2, epsilon=setting.report[1])
        own = indicators(oracle, perturb(oracle, group, rng))
    evidence = GroupEvidence(own, oracle, ((0,), (1,)))
    gap = disparities(evidence, label, [{0: scores}, {1: scores}], RULE)[0]
    return {"difference of positive rates": (gap.value, gap.lower, gap.upper)}, {}


STUDIES: tuple[Callable[[int, int], Iterator[Row]], ...] = (
    study_skipped,
    study_intersections,
    study_small_groups,
)


def run_study(*, surveys: int, seed: int) -> list[Row]:
    """Return all rows."""
    return [row for study in STUDIES for row in study(surveys, seed)]


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a table in Markdown."""
    lines = [
        "| number | setting | mean error | spread | covered | mean error, answers alone |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        covered = "no interval" if row.covered is None else f"{100 * row.covered:.1f} %"
        alone = "" if row.alone is None else f"{row.alone:+.4f}"
        lines.append(
            f"| {row.what} | {row.setting} | {row.error:+.4f} | {row.spread:.4f} "
            f"| {covered} | {alone} |"
        )
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Measure errors and coverage of the numbers that mitigation works with.",
    seed=SEED,
    surveys=1000,
)

if __name__ == "__main__":
    main()
