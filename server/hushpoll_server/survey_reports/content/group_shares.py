"""A question among the groups of another: the shares of each group, as small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypedDict

from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.source import Source
from hushpoll_server.charts.figures import level
from hushpoll_server.charts.rows import Cell
from hushpoll_server.charts.specifications import (
    MOST_BANDS,
    MOST_PANELS,
    Chart,
    as_too_noisy,
    cross_table_chart,
    told,
)
from hushpoll_server.survey_reports.content.headlines import of_differences, of_groups
from hushpoll_server.survey_reports.content.wording import SurveyWords
from hushpoll_server.translations.speech import say
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.registry import query_that_serves
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import isolated

SHARES_IN_GROUPS: Final = "shares in groups"


class GroupShares(TypedDict):
    """The shares of one question among the groups of another, and the differences of the groups.

    ``shares`` is the JSON of the query that serves `SHARES_IN_GROUPS`, and ``differences`` that of
    the same with a reference, the largest group; its intervals hold together, so that the largest
    difference may be named.
    """

    shares: JsonObject
    differences: JsonObject


def shares_in_groups(
    *,
    of: str,
    given: str,
    confidence: float,
    reference: str | None = None,
    simultaneous: bool = False,
) -> Query[Any]:
    """Return the query for the shares of one question within each category of another."""
    kind: Any = query_that_serves(SHARES_IN_GROUPS)
    query: Query[Any] = kind(
        of=of, given=given, confidence=confidence, reference=reference, simultaneous=simultaneous
    )
    return query


def group_shares_of(
    source: Source, cells: Sequence[Cell], a: str, b: str, confidence: float
) -> GroupShares | None:
    """Return the shares of `a` among the groups of `b`; None where these are too many to be drawn.

    Of the columns of `cells`, the cross-table of the two, the largest is the reference.
    """
    sizes: dict[str, float] = {}
    for cell in cells:
        sizes[cell["b"]] = sizes.get(cell["b"], 0.0) + (cell["frequency"] or 0.0)
    answers = {cell["a"] for cell in cells}
    if len(sizes) > MOST_PANELS or len(answers) > MOST_BANDS:
        return None
    largest = max(sizes, key=lambda group: sizes[group])
    # Two groups with two answers have differences that are equal but for their sign.
    several = (len(sizes), len(answers)) != (2, 2)
    about: Any = {"of": a, "given": b, "confidence": confidence}
    compared = shares_in_groups(**about, reference=largest, simultaneous=several)
    return {
        "shares": result_of(shares_in_groups(**about), source).to_dict(),
        "differences": result_of(compared, source).to_dict(),
    }


def is_noisy(found: GroupShares) -> bool:
    """Return whether no share within a group can be told."""
    return bool(_result(found["shares"]).too_noisy("shares"))


def chart_of_groups(found: GroupShares, words: SurveyWords, foot: Sequence[str]) -> Chart:
    """Return small multiples: a panel for each group, with the largest difference in the title."""
    result = _result(found["shares"])
    of, given = result.of, result.given
    cells = [
        Cell(
            a=words.answer(given, one.group),
            b=words.answer(of, one.category),
            frequency=one.value if one.lower is not None and one.upper is not None else None,
            lower=one.lower,
            upper=one.upper,
        )
        for one in result.shares
    ]
    question, by = words.questions[of], words.questions[given]
    chart = cross_table_chart(by, question, cells, confidence=result.confidence, within=by)
    chart = as_too_noisy(chart) if result.too_noisy("shares") else chart
    compared = _result(found["differences"])
    title = _title(compared, words)
    if compared.simultaneous and not compared.too_noisy("differences"):
        held = say(
            "The title is about all differences of the groups, whose intervals hold together at "
            "{level}.",
            level=level(compared.confidence),
        )
        chart = replace(chart, sentence=f"{chart.sentence} {held}")
    return told(chart, title, say("{rows} By: {columns}", rows=question, columns=by), *foot)


def _title(result: Any, words: SurveyWords) -> str:
    groups = [words.answer(result.given, one) for one in _groups(result)]
    reference = words.answer(result.given, result.reference)
    if result.too_noisy("differences"):
        if len(groups) != 2:
            return say("Differences of the groups: too noisy to tell")
        first, second = map(isolated, groups)
        return say("{first} and {second}: too noisy to tell", first=first, second=second)
    rows = [
        replace(
            one,
            group=words.answer(result.given, one.group),
            category=words.answer(result.of, one.category),
        )
        for one in result.differences
    ]
    if len(groups) == 2:
        (other,) = (one for one in groups if one != reference)
        return of_groups(rows, other, reference)
    return of_differences(rows, reference)


def _groups(result: Any) -> list[str]:
    return list(dict.fromkeys(one.group for one in result.shares))


def _result(document: Mapping[str, object]) -> Any:
    return query_that_serves(SHARES_IN_GROUPS).result_of(document)
