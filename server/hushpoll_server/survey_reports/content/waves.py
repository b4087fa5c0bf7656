"""A question over the versions of a survey: what each told, what has changed, and the picture."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypedDict

from hushpoll_server.charts.rows import BoundedShare
from hushpoll_server.charts.specifications import Chart, told, trend_chart
from hushpoll_server.survey_reports.content.findings import headline_row
from hushpoll_server.survey_reports.content.headlines import of_change, of_change_of_mean
from hushpoll_server.survey_reports.content.wording import SurveyWords
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.translations.speech import say, whole
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.ordered_answers import Ordered, OrderedSummary
from hushpoll_shared.queries.parts import ends_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import Column, ResultTable, columns

MOST_WAVES: Final = 12
"""Versions of a picture, the newest ones."""

MOST_TRENDS: Final = 12
"""Questions of a report that are followed over versions: as many as half of its charts at once."""

MEAN: Final = ""
"""Stands for a mean where the category of a share would be."""

COLUMNS: Final[tuple[Column, ...]] = columns(
    version="whole", reports="whole", statistic="text", category="text", value="number",
    lower="number", upper="number",
)  # fmt: skip


class WaveOfQuestion(TypedDict):
    """What a version told of a question.

    ``rows`` has the shares of its answers, and the mean as that of `MEAN`; it is empty where they
    are too noisy to tell. ``changes`` has, of the same, the version that is looked at minus this
    one: only of the nearest earlier version that tells it, and of what is not too noisy.
    """

    n: int
    rows: list[BoundedShare]
    changes: list[BoundedShare]


class Wave(TypedDict):
    """A version of a survey other than the one that is looked at, and its questions by name."""

    version: int
    questions: dict[str, WaveOfQuestion]


@dataclass(frozen=True, kw_only=True)
class Trend:
    """One number of a question over versions."""

    title: str
    """What has changed since the nearest earlier version."""
    chart: Chart
    """A band for each version, from the first."""
    table: ResultTable
    """The same as rows."""
    changed: bool
    """Whether a change since the nearest earlier version is shown."""


def trend_of(
    name: str,
    own: BoundedShare,
    waves: Sequence[Wave],
    *,
    version: int,
    n: int,
    answer: str = "",
    ends: tuple[float, float] | None = None,
) -> Trend | None:
    """Return one number of a question over versions; None where fewer than two can tell it.

    `own` is the share or mean of the version that is looked at, whose `n` answered, and `ends` are
    those of the scale of a mean, the lower first.
    """
    told_by: dict[int, tuple[int, BoundedShare]] = {version: (n, own)}
    change, since, noisy = None, None, []
    for wave in waves:
        question = wave["questions"].get(name)
        if question is None:
            continue
        row = _of_category(question["rows"], own["category"])
        if row is None:
            noisy.append(wave["version"])
            continue
        told_by[wave["version"]] = question["n"], row
        if wave["version"] < version:
            since, change = wave["version"], _of_category(question["changes"], own["category"])
    if len(told_by) < 2:
        return None
    rows = [
        BoundedShare(
            category=say("Version {version}, n = {number}", version=one, number=whole(reports)),
            frequency=row["frequency"], lower=row["lower"], upper=row["upper"],
        )
        for one, (reports, row) in sorted(told_by.items())
    ]  # fmt: skip
    place = sorted(told_by).index(version)
    if ends is None:
        sentence = say(
            "Share of “{answer}” in each version that asks this with the same answers.",
            answer=answer,
        )
        title = of_change(answer, change, since)
    else:
        sentence = say("Mean in each version that asks this with the same answers.")
        title = of_change_of_mean(change, since, ends)
    if change is not None:
        sentence += " " + say(
            "The change takes it that different people answered the two versions."
        )
    if noisy:
        versions = ", ".join(map(str, noisy))
        sentence += " " + say("Too noisy to tell: version {versions}.", versions=versions)
    table = ResultTable.of(
        "over versions",
        COLUMNS,
        [
            {
                "version": one, "reports": reports, "statistic": "mean" if ends else "share",
                "category": None if ends else row["category"], "value": row["frequency"],
                "lower": row["lower"], "upper": row["upper"],
            }
            for one, (reports, row) in sorted(told_by.items())
        ],
        {"attribute": name},
    )  # fmt: skip
    chart = trend_chart(rows, sentence, ends, main=rows[place]["category"])
    changed = change is not None and not change["lower"] <= 0 <= change["upper"]
    return Trend(title=title, chart=chart, table=table, changed=changed)


def trends_of(
    basis: Basis, results: Any, foot: Collection[str]
) -> tuple[list[tuple[str, Trend]], int]:
    """Return the questions of a report that it follows over versions, and how many it leaves out.

    Of more than `MOST_TRENDS` they are those first that have changed, in the order of the report.
    """
    found = list(_trends(basis, results, foot))
    by_change = sorted(found, key=lambda one: not one[1].changed)
    kept = {name for name, _ in by_change[:MOST_TRENDS]}
    return [one for one in found if one[0] in kept], len(found) - len(kept)


def _trends(basis: Basis, results: Any, foot: Collection[str]) -> Iterator[tuple[str, Trend]]:
    """Yield each question of a report that earlier versions tell too, with its trend.

    A question with a mean that can be told is followed by it; of another it is the share that its
    headline is about. Shares of a follow-up are of all people, so it is followed by its mean alone.
    Of a select-all the option is followed that most select.
    """
    waves: list[Wave] = basis.facts.get("waves", [])
    words = SurveyWords(basis.published, basis.choices.language)
    entries = results["estimates"]["attributes"] if waves else ()
    texts = dict(zip(words.answers, words.wording.questions, strict=True))
    options = {name: one.name for one in basis.published.selects for name in one.attributes}
    selected = {one["name"]: one["categories"][1]["frequency"] for one in entries
                if one["name"] in options}  # fmt: skip
    for entry in entries:
        name = entry["name"]
        of_one = [other for other in selected if options[other] == options.get(name)]
        if of_one and name != max(of_one, key=lambda other: selected[other]):
            continue
        asked = basis.shown.attribute(name)
        n = entry.get("n") or basis.n
        ordered = results["ordered"].get(name)
        summary: OrderedSummary | None = None if ordered is None else Ordered.result_of(ordered)
        own = None if summary is None else mean_of(summary)
        found = None
        if summary is not None and own is not None:
            found = trend_of(
                name, own, waves, version=basis.published.version, n=n, ends=ends_of(summary.scale)
            )
        elif shares_tell(basis.shown, name, results["estimates"]["verdict"]):
            row = headline_row(asked, entry["categories"])
            own = bounded(row["category"], row["frequency"], row["lower"], row["upper"])
            if own is not None:
                answer = texts[name] if of_one else words.answer(name, row["category"])
                version = basis.published.version
                found = trend_of(name, own, waves, version=version, n=n, answer=answer)
        if found is not None:
            chart = told(found.chart, found.title, words.questions[name], *foot)
            yield name, replace(found, chart=chart)


def shares_tell(published: Published, name: str, verdict: Any) -> bool:
    """Return whether a question has a share to follow: no number, no follow-up, not noisy."""
    asked = published.attribute(name)
    return asked.number is None and asked.ask_if is None and not part_is_noisy(verdict, name)


def mean_of(summary: OrderedSummary) -> BoundedShare | None:
    """Return the mean of everybody as a row; None where it is not told."""
    mean = summary.groups[0].mean
    if summary.too_noisy("groups") or mean.value is None:
        return None
    return bounded(MEAN, mean.value, mean.lower, mean.upper)


def bounded(
    category: str, value: float, lower: float | None, upper: float | None
) -> BoundedShare | None:
    """Return a row; None where its interval has no end on one side."""
    if lower is None or upper is None:
        return None
    return BoundedShare(category=category, frequency=value, lower=lower, upper=upper)


def _of_category(rows: Sequence[BoundedShare], category: str) -> BoundedShare | None:
    return next((row for row in rows if row["category"] == category), None)
