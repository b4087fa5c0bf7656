"""Do intervals of means, quantiles and shares among those who answered cover the truth?

Each setting draws surveys anew, respondents and noise together, and asks the functions themselves.
The errors of means are set beside those of means of multi-freq-ldpy's estimates (MI: clipped at 0
and divided by their sum), from the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
import numpy.typing as npt
from multi_freq_ldpy.estimators.Histogram_estimator import MI

from hushpoll_analysis import Interval, answered_shares, count, ordered_summary
from hushpoll_analysis.ordered.summary import GroupSummary
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from ordered_survey import falling, ordered
from relations_survey import draw, survey
from studies.relations import Question, Row, covering, markdown, words

Array = npt.NDArray[np.float64]

SEED = 2026


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
        drawn = [draw(published, shares, n, [seed, number, each])[1] for each in range(surveys)]
        found = [
            ordered_summary(records, "a", threshold=setting.threshold, quantiles=[0.5, 0.9])
            for records in drawn
        ]
        groups = [summary.groups[0] for summary in found]
        title = words([question], n) + (f", {setting.note}" if setting.note else "")
        mean = float(scores @ shares)
        yield _row("mean", title, groups, lambda group: group.mean, mean)
        share = float(shares[scores >= setting.threshold].sum())
        yield _row(
            f"share at or above {setting.threshold:g}",
            title,
            groups,
            lambda group: group.at_least,
            share,
        )
        if len(scores) == 11:
            nps = 100 * float(shares[9:].sum() - shares[:7].sum())
            yield _row("NPS", title, groups, lambda group: group.nps, nps)
        for place, q in enumerate((0.5, 0.9)):
            truth = float(scores[np.argmax(np.cumsum(shares) >= q)])
            yield _row(
                f"quantile {q:g}",
                title,
                groups,
                lambda group, place=place: group.quantiles[place],
                truth,
                "at least 95 %",
            )
        if question[0] is not None:
            ours = np.array([group.mean.value for group in groups])
            oracle = published.attribute("a").oracle
            assert oracle is not None
            p, q = float(oracle.p), float(oracle.q)
            theirs = np.array(
                [scores @ MI(count(one).support["a"].astype(np.float64), n, p, q) for one in drawn]
            )
            ratio = float(np.square(ours - mean).mean() / np.square(theirs - mean).mean())
            answer = "squared error of the mean, of that of MI's mean; no interval of MI"
            yield Row(answer, title, ratio, ratio, "see below")


def study_answered(surveys: int, seed: int) -> Iterator[Row]:
    """Yield coverage of shares and means among those who answered."""
    for number, (question, n, silent) in enumerate(ANSWERED):
        published, k = ordered(*question, missing=True), question[1]
        among = falling(k, 0.4)
        shares = np.append(among * (1 - silent), silent)
        title = words([question], n) + f", {100 * silent:g} % skip it"
        drawn = [
            draw(published, shares, n, [seed, 50 + number, each])[1] for each in range(surveys)
        ]
        limits = _limits([answered_shares(records)[0].shares for records in drawn])
        yield covering("share among those who answered", title, limits, among)
        groups = [ordered_summary(records, "a").groups[0] for records in drawn]
        mean = float(np.arange(k) @ among)
        yield _row("mean of those who answered", title, groups, lambda group: group.mean, mean)


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
            row = covering(name, title, _limits(sets), np.asarray(truth))
            yield Row(row.answer, row.setting, row.covered, row.least, expected, row.unbounded)


def _row(
    answer: str,
    title: str,
    groups: Sequence[GroupSummary],
    part: Callable[[GroupSummary], Interval | None],
    truth: float,
    expected: str = "95 %",
) -> Row:
    row = covering(answer, title, _limits([[part(group)] for group in groups]), np.array([truth]))
    return Row(answer, title, row.covered, row.least, expected, row.unbounded)


def _limits(surveys: Sequence[Sequence[Interval | None]]) -> Iterator[tuple[Array, Array]]:
    """Yield the limits of each survey's intervals."""
    for intervals in surveys:
        ends = [(one.lower, one.upper) for one in intervals if one is not None]
        lower, upper = np.array(ends).T
        yield lower, upper


STUDIES: tuple[Callable[[int, int], Iterator[Row]], ...] = (
    study_scales,
    study_answered,
    study_grouped,
)


@click.command()
@click.option("--surveys", type=click.IntRange(min=2), default=1000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@json_option
@reports_errors
def main(surveys: int, seed: int, as_json: bool) -> None:
    """Measure coverage of ordered answers and of shares among those who answered."""
    rows = [row for study in STUDIES for row in study(surveys, seed)]
    document = {
        "surveys": surveys,
        "seed": seed,
        "rows": [{name: getattr(row, name) for name in Row.__slots__} for row in rows],
    }
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
