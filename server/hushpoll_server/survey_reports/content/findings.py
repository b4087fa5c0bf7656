"""What a survey found, a line for each question: its answer, its interval and a small picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from hushpoll_server.charts.figures import (
    scale_figure,
    scale_limits,
    share_figure,
    share_limits,
)
from hushpoll_server.charts.rows import Share
from hushpoll_server.survey_reports.content.summaries import UNKNOWN
from hushpoll_shared.qualifying.possible import SHARES, Possible, cut_ends
from hushpoll_shared.qualifying.verdict import INFORMATIVE
from hushpoll_shared.queries.answered_shares import SharesOfAnswered
from hushpoll_shared.queries.estimates import AttributeEstimates, EstimatedShares
from hushpoll_shared.queries.ordered_answers import OrderedSummary
from hushpoll_shared.queries.parts import CategoryEstimate, ends_of
from hushpoll_shared.survey.option_texts import asked_text
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.questions.selects import OPTION, Selection

R = TypeVar("R", bound=Share)

MOST_BARS: Final = 5
"""Answers of a question that its picture shows."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An estimate in a picture whose axis goes from 0 to 100."""

    label: str
    figure: str
    """The estimate in words."""
    start: float
    """Where the interval begins, in [0, 100]."""
    width: float
    dot: float
    """Where the estimate stands, in [0, 100]."""
    main: bool = False
    """Whether the headline is about it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a question in one line."""

    name: str
    question: str
    """What was asked; the name where it has no text."""
    noisy: bool = False
    """Whether it is too noisy to tell; then it has no headline and no bars."""
    headline: str = ""
    """What the estimate is of."""
    figure: str = ""
    limits: str = ""
    """Its interval."""
    ends: tuple[str, str] = ("0 %", "100 %")
    """What stands at the ends of the picture's axis."""
    bars: tuple[Bar, ...] = ()
    """The picture, its answers in the order of the question."""
    others: int = 0
    """Answers that the picture leaves out."""


def findings_of(
    published: Published,
    shares: EstimatedShares,
    means: Mapping[str, OrderedSummary],
    answered: SharesOfAnswered | None = None,
) -> tuple[Finding, ...]:
    """Return the finding of each question, in the order of the questionnaire.

    A question with a mean is summed up by it, and a number only so: shares of its anchors are not
    shares of answers. Of another one with two answers the line is about the positive answer of a
    target, and else the first; of one with more about the answer with the largest estimate, and the
    picture shows the largest. The options of a select-all are one line. A follow-up is told of
    those who are asked it, as `answered` has them; without it, of all people.
    """
    return tuple(_findings(published, shares, means, answered))


def _findings(
    published: Published,
    shares: EstimatedShares,
    means: Mapping[str, OrderedSummary],
    answered: SharesOfAnswered | None,
) -> Iterator[Finding]:
    follow_ups = _of_those_asked(answered)
    noisy = set() if shares.verdict is None else set(shares.verdict.too_noisy)
    by_name = {one.name: one for one in shares.attributes}
    selects = {name: one for one in published.selects for name in one.attributes}
    for estimates in shares.attributes:
        attribute = published.attribute(estimates.name)
        select = selects.get(estimates.name)
        if select is not None:
            if estimates.name == select.attributes[0]:
                told_options = [
                    by_name[name]
                    for name in select.attributes
                    if name in by_name and name not in noisy
                ]
                yield _options(published, select, told_options)
            continue
        question = asked_text(published, attribute.name)
        summary = means.get(attribute.name)
        told = summary is not None and (
            summary.verdict is None or summary.verdict.says == INFORMATIVE
        )
        if summary is not None and told:
            yield _mean(attribute.name, question, summary)
        elif estimates.name in follow_ups:
            yield _asked(question, attribute, follow_ups[estimates.name])
        elif estimates.name in noisy or attribute.number is not None:
            yield Finding(attribute.name, question, noisy=True)
        else:
            yield _share(question, attribute, estimates)


def _of_those_asked(
    answered: SharesOfAnswered | None,
) -> Mapping[str, Sequence[CategoryEstimate]]:
    """Return by follow-up the shares among those who were asked; none where they cannot tell."""
    found: dict[str, Sequence[CategoryEstimate]] = {}
    for one in () if answered is None else answered.attributes:
        if one.missing == NOT_ASKED:
            told = () if answered is None or answered.too_noisy(one.name) else one.categories
            found[one.name] = [
                CategoryEstimate(
                    category=row.category,
                    frequency=row.value,
                    standard_error=row.standard_error,
                    lower=row.lower,
                    upper=row.upper,
                )
                for row in told
                if row.value is not None
            ]
    return found


def _asked(question: str, attribute: Attribute, rows: Sequence[CategoryEstimate]) -> Finding:
    if not rows:
        return Finding(attribute.name, question, noisy=True)
    shown = _order(attribute, rows)
    others = len(rows) - len(shown[:MOST_BARS])
    found = _of_rows(attribute.name, question, shown, others, attribute.categories)
    return replace(found, headline=f"{found.headline}, of those who were asked")


def _mean(name: str, question: str, summary: OrderedSummary) -> Finding:
    mean, ends = summary.groups[0].mean, ends_of(summary.scale)
    if mean.value is None or mean.lower is None or mean.upper is None:
        return Finding(name, question, headline="Mean", figure="–", limits=UNKNOWN)
    low, high = ends
    lower, upper = cut_ends(mean.lower, mean.upper, ends)
    figure = scale_figure(mean.value, lower, upper, ends)
    return Finding(
        name,
        question,
        headline=f"Mean, on a scale from {end_words(low)} to {end_words(high)}",
        figure=figure,
        limits=scale_limits(lower, upper, ends),
        ends=(end_words(low), end_words(high)),
        bars=(replace(_bar("Mean", figure, mean.value, (lower, upper), ends), main=True),),
    )


def end_words(value: float) -> str:
    """Return an end of a scale, with its thousands apart."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,g}"


def _options(
    published: Published, select: Selection, told: Sequence[AttributeEstimates]
) -> Finding:
    question = select.question or select.name
    if not told:
        return Finding(select.name, question, noisy=True)
    rows = []
    for estimates in told:
        (row,) = (one for one in estimates.categories if one.category == OPTION[True])
        text = published.attribute(estimates.name).question or estimates.name
        rows.append(replace(row, category=text))
    rows.sort(key=lambda row: -row.frequency)
    return _of_rows(select.name, question, rows, len(select.attributes) - len(rows[:MOST_BARS]))


def headline_row(attribute: Attribute | None, rows: Sequence[R]) -> R:
    """Return the row, of at least one, that a question's headline is about; see `findings_of`.

    The attribute is None of a select-all, whose rows are its options; of one of them it is the row
    of who select it.
    """
    if attribute is not None and len(attribute.categories) == 2:
        wanted = attribute.positive or attribute.categories[attribute.categories == OPTION]
        return next((row for row in rows if row["category"] == wanted), rows[0])
    return max(rows, key=lambda row: row["frequency"])


def _share(question: str, attribute: Attribute, estimates: AttributeEstimates) -> Finding:
    rows = estimates.categories
    if attribute.ask_if is not None:
        rows = rows[:-1]
    shown = _order(attribute, rows)
    others = len(rows) - len(shown[:MOST_BARS])
    return _of_rows(attribute.name, question, shown, others, attribute.categories)


def _of_rows(
    name: str,
    question: str,
    rows: Sequence[CategoryEstimate],
    others: int,
    order: Sequence[str] = (),
) -> Finding:
    """Return the finding of rows, of which the first is that of the headline.

    The picture has them in the order of the question's categories; one that is none of them, such
    as that of a missing answer, stands last.
    """
    first = rows[0]
    places = {category: place for place, category in enumerate(order)}
    shown = sorted(rows[:MOST_BARS], key=lambda row: places.get(row.category, len(places)))
    return Finding(
        name,
        question,
        headline=first.category,
        figure=share_words(first),
        limits=limits_words(first),
        bars=tuple(
            replace(
                _bar(row.category, share_words(row), row.frequency, _limits(row), SHARES),
                main=row is first,
            )
            for row in shown
        ),
        others=others,
    )


def _order(attribute: Attribute, rows: Sequence[CategoryEstimate]) -> list[CategoryEstimate]:
    """Return the rows, first that of the headline."""
    if len(attribute.categories) == 2:
        wanted = attribute.positive or attribute.categories[0]
        return sorted(rows, key=lambda row: row.category != wanted)
    return sorted(rows, key=lambda row: -row.frequency)


def _limits(row: CategoryEstimate) -> tuple[float, float]:
    lower = row.frequency if row.lower is None else row.lower
    upper = row.frequency if row.upper is None else row.upper
    return cut_ends(lower, upper, SHARES)


def share_words(row: CategoryEstimate) -> str:
    """Return an estimate of a share as a percentage with the digits that its interval supports."""
    return share_figure(row.frequency, row.lower, row.upper)


def limits_words(row: CategoryEstimate) -> str:
    """Return the interval of a share in percent, cut to what is possible."""
    return share_limits(row.lower, row.upper)


def _bar(label: str, figure: str, value: float, limits: tuple[float, float], ends: Possible) -> Bar:
    low, high = ends

    def place(number: float) -> float:
        return round(min(max(100 * (number - low) / (high - low), 0.0), 100.0), 2)

    start = place(limits[0])
    return Bar(label, figure, start, round(place(limits[1]) - start, 2), place(value))
