"""What a question whose answers are numbers is shown by: its bins, or its mean on the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from hushpoll_server.charts.rows import Share
from hushpoll_server.charts.specifications import (
    Chart,
    as_too_noisy,
    estimates_chart,
    mean_chart,
    told,
)
from hushpoll_server.survey_reports.content.findings import headline_row
from hushpoll_server.survey_reports.content.headlines import headline_of, of_share
from hushpoll_server.translations.speech import in_marks, say
from hushpoll_shared.queries.ordered_answers import Ordered, OrderedSummary
from hushpoll_shared.queries.parts import ends_of
from hushpoll_shared.survey.published import Published


class Bin(TypedDict):
    """Numbers from `low` to `high`, and the share of those who answered one of them."""

    low: int
    high: int
    frequency: float
    lower: float
    upper: float


def rows_of_bins(bins: Sequence[Bin]) -> list[Share]:
    """Return the rows of a chart of bins."""
    return [
        Share(
            category=_range(one["low"], one["high"]),
            frequency=one["frequency"],
            lower=one["lower"],
            upper=one["upper"],
        )
        for one in bins
    ]


def _range(low: int, high: int) -> str:
    first, last = (in_marks(f"{one}") for one in (low, high))
    return first if low == high else say("{low} to {high}", low=first, high=last)


def bins_chart(
    question: str, rows: Sequence[Share], *, noisy: bool, confidence: float, foot: Sequence[str]
) -> Chart:
    """Return the chart of a question's bins (`rows_of_bins`), with the largest in its title."""
    first = headline_row(None, rows)
    chart = estimates_chart(
        question, rows, confidence=confidence, total=len(rows), main=first["category"]
    )
    title = of_share(first["category"], first["frequency"], first["lower"], first["upper"])
    return told(as_too_noisy(chart) if noisy else chart, title, question, *foot)


def chart_of_mean(
    question: str, result: OrderedSummary, *, confidence: float, foot: Sequence[str]
) -> Chart | None:
    """Return the chart of the mean of ordered answers; None where it has no interval."""
    mean = result.groups[0].mean
    if mean.value is None or mean.lower is None or mean.upper is None:
        return None
    ends = ends_of(result.scale)
    chart = mean_chart(mean.value, mean.lower, mean.upper, ends, confidence)
    noisy = result.too_noisy("groups")
    return told(as_too_noisy(chart) if noisy else chart, headline_of(result), question, *foot)


def numbers_chart(
    published: Published,
    name: str,
    question: str,
    results: Mapping[str, Any],
    *,
    confidence: float,
    foot: Sequence[str],
) -> Chart | None:
    """Return the chart of a question whose answers are many numbers; None of another one.

    Of a number of which devices send anchors beside it, shares are not of answers: it is shown by
    its mean, and so is a question whose bins are too noisy to tell while its mean is not.
    """
    given, bins = results["ordered"].get(name), results["bins"].get(name)
    summary: OrderedSummary | None = None if given is None else Ordered.result_of(given)
    if published.attribute(name).number is not None and summary is not None:
        return chart_of_mean(question, summary, confidence=confidence, foot=foot)
    if bins is None:
        return None
    if bins["noisy"] and summary is not None and not summary.too_noisy("groups"):
        chart = chart_of_mean(question, summary, confidence=confidence, foot=foot)
        if chart is not None:
            return chart
    rows = rows_of_bins(bins["bins"])
    return bins_chart(question, rows, noisy=bins["noisy"], confidence=confidence, foot=foot)
