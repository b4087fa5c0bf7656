"""Do intervals of means, quantiles, their differences and shares of those who answered cover?

Each setting draws surveys anew, respondents and noise together, and asks the functions themselves.
The errors of means are set beside those of means of multi-freq-ldpy's estimates (MI: clipped at 0
and divided by their sum), from the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from multi_freq_ldpy.estimators.Histogram_estimator import MI

from hushpoll_analysis import (
    Interval,
    answered_shares,
    count,
    ordered_summary,
    simultaneous_means,
)
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.quantiles import Distribution
from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.ordered.statistics import Statistics, difference_of
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from ordered_survey import falling, ordered
from relations_survey import draw, survey
from studies.relations import Question, Row, covering, markdown, words

Array = npt.NDArray[np.float64]

SEED = 2026
QUANTILE = normal_quantile(0.95)


@dataclass(frozen=True, slots=True)
class Setting:
    """One ordered question.

    Attributes
    ----------
    question : (str or None, int, str)
        Protocol, categories without the missing one, and epsilon.
    n : int
        Respondents.
    shares : f64[k]
        The truth.
    threshold : float
        Of the share at or above it; scores are 0, 1, 2 ...
    note : str
        What is rare, in words.
    """

    question: Question
    n: int
    shares: Array
    threshold: float
    note: str = ""


def with_rare_top(k: int, share: float) -> Array:
    """Return shares of which the largest score has a small one."""
    return np.append(falling(k - 1) * (1 - share), share)


SCALES: tuple[Setting, ...] = (
    Setting(("OUE", 5, "1"), 2000, falling(5), 3),
    Setting(("GRR", 11, "2"), 1000, falling(11)[::-1], 8),
    Setting(("SS", 20, "2"), 500, falling(20), 10),
    Setting(("OLH", 74, "1"), 5000, falling(74, 0.03), 30),
    Setting(("BLH", 11, "1"), 2000, falling(11), 5),
    Setting((None, 11, ""), 100, falling(11), 5),
    Setting(("RAPPOR", 5, "8"), 200, with_rare_top(5, 0.01), 4, "the top score has 1 %"),
    Setting(("GRR", 6, "6"), 300, with_rare_top(6, 0.01), 5, "the top score has 1 %"),
    Setting((None, 5, ""), 200, with_rare_top(5, 0.01), 4, "the top score has 1 %"),
    Setting((None, 5, ""), 50, with_rare_top(5, 0.04), 4, "the top score has 4 %"),
)
"""Questions that everybody answers."""

ANSWERED: tuple[tuple[Question, int, float], ...] = (
    (("OUE", 4, "2"), 1000, 0.2),
    (("GRR", 3, "1"), 3000, 0.3),
    (("OLH", 8, "2"), 2000, 0.4),
    ((None, 4, ""), 100, 0.5),
    (("SS", 5, "4"), 500, 0.9),
    (("GRR", 3, "4"), 150, 0.95),
)
"""Attribute, respondents, and the share of those who skip it."""

GROUPED: tuple[tuple[Question, Question, int, tuple[float, ...]], ...] = (
    (("GRR", 5, "2"), ("GRR", 3, "3"), 3000, (0.3, 0.3, 0.4)),
    (("OUE", 5, "2"), (None, 3, ""), 1000, (0.3, 0.3, 0.4)),
    ((None, 5, ""), ("SS", 4, "3"), 1000, (0.05, 0.25, 0.3, 0.4)),
)
"""Attribute, the groups', respondents and shares of the groups."""


def study_scales(surveys: int, seed: int) -> Iterator[Row]:
    """Yield coverage of means, NPS, shares at a threshold and medians, and the error of means."""
    for number, setting in enumerate(SCALES):
        question, n, shares = setting.question, setting.n, setting.shares
        published, scores = ordered(*question), np.arange(len(shares), dtype=np.float64)
        attribute, each_survey, theirs = published.attribute("a"), [], []
        for each in range(surveys):
            records = draw(published, shares, n, [seed, number, each])[1]
            support = count(records, only=["a"]).support["a"]
            each_survey.append(Answers.alone(attribute, support, n))
            if attribute.oracle is not None:
                p, q = float(attribute.oracle.p), float(attribute.oracle.q)
                theirs.append(scores @ MI(support.astype(np.float64), n, p, q))
        answers, scale = columns_of(each_survey), scale_of(attribute)
        found = Statistics.of(answers, scale, setting.threshold).estimates(QUANTILE)[0]
        title = words([question], n) + (f", {setting.note}" if setting.note else "")
        truths = {
            "mean": float(scores @ shares),
            "at_least": float(shares[scores >= setting.threshold].sum()),
            "nps": 100 * float(shares[9:].sum() - shares[:7].sum()),
        }
        for name, intervals in found.items():
            answer = {"at_least": f"share at or above {setting.threshold:g}", "nps": "NPS"}
            yield _row(answer.get(name, name), title, intervals, truths[name])
        for level in (0.5, 0.9):
            truth = float(scores[np.argmax(np.cumsum(shares) >= level)])
            quantiles = Distribution(answers, scale, QUANTILE).quantiles(level, "none")
            yield _row(f"quantile {level:g}", title, quantiles, truth, "at least 95 %")
        if theirs:
            mean = truths["mean"]
            ours = np.array([one.value for one in found["mean"]])
            ratio = float(np.square(ours - mean).mean() / np.square(np.array(theirs) - mean).mean())
            answer_of_error = "squared error of the mean, of that of MI's mean; no interval of MI"
            yield Row(answer_of_error, title, ratio, ratio, "see below")


def columns_of(each_survey: Sequence[Answers]) -> Answers:
    """Return the answers of many surveys as columns, as if they were groups.

    The functions then compute all surveys at once, which takes a hundredth of the time. Columns of
    answers without groups do not depend on each other; a test compares them with
    `ordered_summary`.
    """
    first = each_survey[0]
    one = np.ones(len(each_survey))
    scales: Any = np.array([each.scale for each in each_survey])
    return replace(
        first,
        shares=np.hstack([each.shares for each in each_survey]),
        scale=scales,
        mass=one,
    )


def study_answered(surveys: int, seed: int) -> Iterator[Row]:
    """Yield coverage of shares and means among those who answered."""
    for number, (question, n, silent) in enumerate(ANSWERED):
        published, k = ordered(*question, missing=True), question[1]
        among = falling(k, 0.4)
        shares = np.append(among * (1 - silent), silent)
        title = words([question], n) + f", {100 * silent:g} % skip it"
        answers, groups = [], []
        for each in range(surveys):
            records = draw(published, shares, n, [seed, 50 + number, each])[1]
            answers.append(answered_shares(records)[0].shares)
            groups.append(ordered_summary(records, "a").groups[0])
        yield covering("share among those who answered", title, _limits(answers), among)
        mean = float(np.arange(k) @ among)
        yield _row("mean of those who answered", title, [group.mean for group in groups], mean)


def study_grouped(surveys: int, seed: int) -> Iterator[Row]:
    """Yield coverage of means and medians within groups."""
    for number, (first, second, n, groups) in enumerate(GROUPED):
        published, k = survey(first, second), first[1]
        joint = np.stack([share * falling(k, 0.1 * place) for place, share in enumerate(groups)], 1)
        scores = np.arange(1.0, k + 1)
        within = joint / joint.sum(axis=0)
        title = words((first, second), n) + (", a group of 5 %" if min(groups) < 0.1 else "")
        found = [
            ordered_summary(
                draw(published, joint, n, [seed, 80 + number, each])[1],
                "a",
                given="b",
                quantiles=[0.5],
            ).groups
            for each in range(surveys)
        ]
        for name, truth, expected in (
            ("mean in a group", scores @ within, "95 %"),
            (
                "median in a group",
                scores[np.argmax(np.cumsum(within, axis=0) >= 0.5, axis=0)],
                "at least 95 %",
            ),
        ):
            sets: list[list[Interval]] = [
                [group.mean if name.startswith("mean") else group.quantiles[0] for group in each]
                for each in found
            ]
            yield covering(name, title, _limits(sets), np.asarray(truth), expected)


def study_differences(surveys: int, seed: int) -> Iterator[Row]:
    """Yield coverage of differences between groups: of means, and of shares at a threshold."""
    for number, (first, second, n, groups) in enumerate(GROUPED):
        published, k = survey(first, second), first[1]
        joint = np.stack([share * falling(k, 0.1 * place) for place, share in enumerate(groups)], 1)
        within, reference = joint / joint.sum(axis=0), len(groups) - 1
        title = words((first, second), n) + (", a group of 5 %" if min(groups) < 0.1 else "")
        found = [
            ordered_summary(
                draw(published, joint, n, [seed, 110 + number, each])[1],
                "a",
                given="b",
                reference=str(reference + 1),
                threshold=k - 1,
                quantiles=[],
            )
            for each in range(surveys)
        ]
        for name, part, of_group in (
            ("mean", "mean", np.arange(1.0, k + 1) @ within),
            (f"share at or above {k - 1}", "at_least", within[-2:].sum(axis=0)),
        ):
            limits = _limits(
                [[getattr(one, part) for one in each.differences or ()] for each in found]
            )
            truth = (of_group - of_group[reference])[:reference]
            yield covering(f"difference of two groups: {name}", title, limits, truth)


CHANGES: tuple[tuple[Question, int, float], ...] = (
    (("GRR", 11, "2"), 1000, 0.0),
    (("OLH", 8, "1"), 2000, 0.3),
    ((None, 5, ""), 150, 0.0),
)
"""Attribute, respondents of each wave, and the share of those who skip it."""


def study_changes(surveys: int, seed: int) -> Iterator[Row]:
    """Yield coverage of changes between two waves: of means, shares at a threshold, NPS."""
    for number, (question, n, silent) in enumerate(CHANGES):
        published, k = ordered(*question, missing=silent > 0), question[1]
        truths = [falling(k, rate) for rate in (0.3, 0.1)]
        title = words([question], n) + (f", {100 * silent:g} % skip it" if silent else "")
        attribute, drawn = published.attribute("a"), []
        for wave, shares in enumerate(truths):
            among = np.append(shares * (1 - silent), silent) if silent else shares
            each_survey = []
            for each in range(surveys):
                records = draw(published, among, n, [seed, 130 + number, each, wave])[1]
                support = count(records, only=["a"]).support["a"]
                each_survey.append(Answers.alone(attribute, support, n))
            answers = columns_of(each_survey)
            drawn.append(Statistics.of(answers, scale_of(attribute), 2).estimates(QUANTILE)[0])
        scores = np.arange(k)
        of_scores = {"mean": scores * 1.0, "at_least": scores >= 2}
        if k == 11:
            of_scores["nps"] = 100.0 * (scores >= 9) - 100.0 * (scores <= 6)
        for name, values in of_scores.items():
            truth = float(values @ (truths[1] - truths[0]))
            before, after = (wave[name] for wave in drawn)
            limits = _limits([[difference_of(*pair)] for pair in zip(after, before, strict=True)])
            what = {"at_least": "share at or above 2", "nps": "NPS"}.get(name, name)
            yield covering(f"change of two waves: {what}", title, limits, np.array([truth]))


def study_together(surveys: int, seed: int) -> Iterator[Row]:
    """Yield how often all means of three attributes, and of all groups, hold together."""
    questions: tuple[Question, ...] = (("GRR", 5, "2"), ("OUE", 4, "1"), (None, 3, ""))
    published, n = survey(*questions), 1000
    # the answers to the questions depend on each other
    joint = np.exp(
        -0.05 * np.add.outer(np.add.outer(np.arange(5), np.arange(4)), np.arange(3)) ** 2
    )
    joint /= joint.sum()
    axes = {"a": (1, 2), "b": (0, 2), "c": (0, 1)}
    means = {
        name: float(joint.sum(axis=rest) @ np.arange(1, k + 1))
        for (name, rest), (_, k, _) in zip(axes.items(), questions, strict=True)
    }
    within = joint.sum(axis=1)
    groups = np.arange(1.0, 6) @ (within / within.sum(axis=0))
    held = np.zeros(2)
    for each in range(surveys):
        records = draw(published, joint, n, [seed, 150, each])[1]
        of_attributes = simultaneous_means(records).means
        of_groups = simultaneous_means(records, attributes=["a"], given="c").means
        held += (
            all(one.mean.lower <= means[one.attribute] <= one.mean.upper for one in of_attributes),
            all(
                one.mean.lower <= mean <= one.mean.upper
                for one, mean in zip(of_groups, groups.tolist(), strict=True)
            ),
        )
    title = words(questions, n)
    for what, share in zip(("attributes", "groups"), held / surveys, strict=True):
        answer = f"means of three {what} together"
        yield Row.of_chance(answer, title, float(share), surveys, "at least 95 %")


def _row(
    answer: str, title: str, intervals: Sequence[Interval], truth: float, expected: str = "95 %"
) -> Row:
    limits = _limits([[interval] for interval in intervals])
    return covering(answer, title, limits, np.array([truth]), expected)


def _limits(surveys: Sequence[Sequence[Interval | None]]) -> Iterator[tuple[Array, Array]]:
    """Yield the limits of each survey's intervals."""
    for intervals in surveys:
        ends = [(one.lower, one.upper) for one in intervals if one is not None]
        lower, upper = np.array(ends).T
        yield lower, upper


STUDIES: Mapping[str, Callable[[int, int], Iterator[Row]]] = {
    "scales": study_scales,
    "answered": study_answered,
    "grouped": study_grouped,
    "differences": study_differences,
    "changes": study_changes,
    "together": study_together,
}


@click.command()
@click.option("--surveys", type=click.IntRange(min=2), default=1000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@click.option("--part", type=click.Choice(list(STUDIES)), help="Only this one.")
@json_option
@reports_errors
def main(surveys: int, seed: int, part: str | None, as_json: bool) -> None:
    """Measure coverage of ordered answers and of shares among those who answered."""
    studies = STUDIES.values() if part is None else [STUDIES[part]]
    rows = [row for study in studies for row in study(surveys, seed)]
    document = {
        "surveys": surveys,
        "seed": seed,
        "rows": [{name: getattr(row, name) for name in Row.__slots__} for row in rows],
    }
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
