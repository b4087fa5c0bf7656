"""Estimates: charts with their tables, sentences and downloads; a question over all versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, NotRequired

from flask import Response, request
from markupsafe import Markup

from hushpoll_analysis.ordered.answered import has_shares_among
from hushpoll_analysis.ordered.bins import binned, has_bins
from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_server.charts.rows import BoundedShare, Share
from hushpoll_server.charts.specifications import (
    Chart,
    as_too_noisy,
    estimates_chart,
    told,
)
from hushpoll_server.dashboard.comparing.subgroups import (
    chosen_group,
    shares_among,
    size_of_group,
    table_among,
)
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.frame import (
    choice,
    chosen_confidence,
    page,
)
from hushpoll_server.dashboard.questions import (
    found_by,
    gathered,
    labels_of,
    matrix_tables,
    questions_of,
)
from hushpoll_server.dashboard.surveys import (
    answered,
    asked_of,
    may_export,
    nothing_yet,
    of_survey,
    result_of,
    seen,
)
from hushpoll_server.dashboard.version_pages import shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.results.waves import waves_of
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.findings import headline_row
from hushpoll_server.survey_reports.content.headlines import (
    CANNOT_TELL,
    TOO_NOISY,
    headline_of,
    of_share,
)
from hushpoll_server.survey_reports.content.numbers import bins_chart, chart_of_mean, rows_of_bins
from hushpoll_server.survey_reports.content.summaries import UNKNOWN, beside_shares
from hushpoll_server.survey_reports.content.waves import bounded, mean_of, shares_tell, trend_of
from hushpoll_server.survey_reports.markup.captions import foot_of, how_to_read_bands
from hushpoll_server.survey_reports.markup.shown import html_of_bands
from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.qualifying.possible import CUT, Ends, cut_words
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.parts import ends_of
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.survey.option_texts import options_of
from hushpoll_shared.survey.published import Published

LABEL_ID = "shows-waves"


class OverVersions(NamedTuple):
    """What the page shows: the finding, the picture, and what it shows in a sentence."""

    title: str
    picture: Markup
    sentence: str


def over_versions(
    row: VersionRow,
    name: str,
    own: BoundedShare,
    *,
    n: int,
    confidence: float,
    ends: tuple[float, float] | None = None,
) -> OverVersions | None:
    """Return one number of a question in each version that asks it with the same answers.

    It is None where fewer than two can tell it. `own` is the share or mean of this one, whose `n`
    answered, and `ends` are those of the scale of a mean, the lower first.
    """
    others = [one for one in services().surveys.all() if one.name == row.name and one.id != row.id]
    waves = waves_of(
        row, others, [name], confidence=confidence, seen=seen, over=lambda _: True, ask=answered
    )
    found = trend_of(name, own, waves, version=row.version, n=n, answer=own["category"], ends=ends)
    if found is None:
        return None
    return OverVersions(
        found.title, html_of_bands(found.chart.panels, LABEL_ID), found.chart.sentence
    )


SORTS: Final = {"order": "the questionnaire", "share": "share, largest first", "name": "name"}
DETAILS: Final = {"bins": "put together", "all": "each by itself"}
# Those that the kept counts suffice for.
ESTIMATORS: Final = tuple(
    name for name, terms in ESTIMATOR_TERMS.items() if not terms.needs_records
)
# Of one page; the others have their tables, and a page of their own.
MOST_CHARTS: Final = 8
_CHOICES: Final[dict[str, object]] = {
    "sorts": SORTS,
    "details": DETAILS,
    "estimators": ESTIMATORS,
}


@shows("/estimates", Role.READER)
def estimates(row: VersionRow) -> Response:
    """Show the shares of every question, or of one."""
    published = asked_of(row)
    questions = questions_of(published)
    words = request.args.get("find", "").strip()
    found = found_by(words, questions)
    by_words = words and len(found) == 1 and not request.args.get("attribute")
    chosen, groups = _chosen(published, found[0] if by_words else None)
    frame = of_survey(row, "estimates")
    frame |= {"chosen": chosen, "questions": questions, "groups": groups}
    frame |= {"words": words}
    # Other pages are about attributes, and a select-all is none.
    names = {one.name for one in published.attributes}
    labels = labels_of(published)
    frame |= {
        "labels": labels,
        "others": {one: text for one, text in labels.items() if one != chosen["attribute"]},
        "one_question": chosen["attribute"] if chosen["attribute"] in names else None,
    }
    try:
        answer = _answer(row, published, chosen)[0]
    except Refused as refusal:
        return nothing_yet("estimates.html", frame | _CHOICES, refusal)
    wanted = [
        attribute
        for attribute in gathered(answer["attributes"], published)
        if chosen["attribute"] in ("", attribute["name"]) and attribute["name"] in found
    ]
    figures = [_figure(attribute, answer, chosen, published) for attribute in wanted]
    for figure in figures[:MOST_CHARTS]:
        _show_as_numbers(figure, row, published, answer["n"], chosen)
    for place, figure in enumerate(figures):
        if place < MOST_CHARTS and figure["chart"] is not None:
            figure["svg"] = inline(figure["chart"], f"shows-{place}")
    if _has_means(chosen):
        shown = [figure["attribute"]["name"] for figure in figures[:MOST_CHARTS]]
        more = _of_questions(row, published, shown, float(chosen["confidence"]))
        for figure in figures[:MOST_CHARTS]:
            *beside, headline = more[figure["attribute"]["name"]]
            figure.update(beside_shares(*beside))
            if headline:
                figure["title"] = headline
            elif figure["asked"] and not figure["noisy"]:
                figure["title"] += " of all people"
    waves = None
    if len(figures) == 1 and _has_means(chosen) and not figures[0]["noisy"]:
        (only,) = figures
        name = only["attribute"]["name"]
        if name in names:
            n = only["attribute"].get("n") or answer["n"]
            waves = _over_versions(row, published, only, n, float(chosen["confidence"]))
    terms = ESTIMATOR_TERMS[chosen["estimator"]]
    size = size_of_group(row, chosen) if chosen["among"] else None
    return page(
        "estimates.html",
        **frame,
        answer=answer,
        size=size,
        figures=figures,
        matrices=matrix_tables(figures, published),
        waves=waves,
        cut=_cut(figures, size),
        numbers=[one.name for one in published.perturbed if one.number is not None],
        rounded=[one.name for one in published.perturbed if one.rounded],
        most_charts=MOST_CHARTS,
        unknown=UNKNOWN,
        terms=terms,
        how_to_read=how_to_read_bands(
            float(chosen["confidence"]), interval=terms.no_interval is None
        ),
        **_CHOICES,
    )


@shows("/estimates/<attribute>.<form>", Role.READER)
def estimates_file(row: VersionRow, attribute: str, form: str) -> Response:
    """Return the chart of one question, or the data behind it, as a file."""
    published = asked_of(row)
    asked_of(row, *options_of(published, attribute))
    chosen, _ = _chosen(published, attribute)
    answer, document = _answer(row, published, chosen)
    for entry in gathered(answer["attributes"], published):
        if entry["name"] == attribute:
            figure = _figure(entry, answer, chosen, published)
            what = attribute
            if chosen["among"]:
                if figure["chart"] is None:
                    raise Refused("not-found", "the reports cannot tell any of these shares")
                what = f"{attribute}-among-{chosen['among']}"
                table = table_among(document)
            else:
                _show_as_numbers(figure, row, published, answer["n"], chosen)
                shown = {**answer, "attributes": [{**entry, "categories": figure["rows"]}]}
                table = table_of("estimates", shown)
            return download(row, form, what, figure["chart"], table)
    raise Refused("not-found", "this survey has no such question")


def _chosen(
    published: Published, attribute: str | None = None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what the address chooses, and the groups of people that there are to choose from.

    The question of a file stands in its path.
    """
    names = list(questions_of(published))
    if attribute is None:
        attribute = choice("attribute", ("", *names))
    chosen, groups = chosen_group(published, attribute)
    chosen |= {
        "sort": choice("sort", SORTS),
        # Among a group there is no other estimator.
        "detail": choice("detail", DETAILS),
        "estimator": UNBIASED if chosen["among"] else choice("estimator", ESTIMATORS),
        "confidence": chosen_confidence(),
    }
    return chosen, groups


def _answer(
    row: VersionRow, published: Published, chosen: dict[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the estimates that were chosen, in their form, and the API's answer."""
    if chosen["among"]:
        options = options_of(published, chosen["attribute"])
        several = [shares_among(row, published, chosen | {"attribute": one}) for one in options]
        first, document = several[0]
        entries = [entry for answer, _ in several for entry in answer["attributes"]]
        return {**first, "attributes": entries}, document
    query = Estimates.read(
        {"confidence": float(chosen["confidence"]), "estimator": chosen["estimator"]}
    )
    answer = answered(row, query).to_dict()
    return answer, answer


def _of_questions(
    row: VersionRow, published: Published, names: Sequence[str], confidence: float
) -> dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None, str]]:
    """Return for each question its summary, the shares of those who answered it, and a headline.

    The summary is None where labels give no scale, the shares where everybody answers. The headline
    is that of a mean that can be told; it is empty without one.
    """
    found: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None, str]] = {}
    for name in names:
        if options_of(published, name) != (name,):
            found[name] = None, None, ""
            continue
        asked = published.attribute(name)
        summary = shares = None
        headline = ""
        if is_ordered(asked):
            ordered = result_of(row, Ordered(attribute=name, confidence=confidence))
            summary, headline = ordered.to_dict(), headline_of(ordered)
        if has_shares_among(asked):
            result = result_of(row, Answered(attribute=name, confidence=confidence))
            shares = result.to_dict()
            if asked.ask_if is not None and not headline and not result.too_noisy(name):
                headline = headline_of(result)
                headline += "" if headline == CANNOT_TELL else " of those who were asked"
        found[name] = summary, shares, "" if headline == TOO_NOISY else headline
    return found


def _over_versions(
    row: VersionRow, published: Published, figure: Any, n: int, confidence: float
) -> OverVersions | None:
    """Return a question over all versions: its mean where that is told, else a share."""
    name = figure["attribute"]["name"]
    if is_ordered(published.attribute(name)):
        summary = result_of(row, Ordered(attribute=name, confidence=confidence))
        own, ends = mean_of(summary), ends_of(summary.scale)
        if own is not None:
            return over_versions(row, name, own, n=n, confidence=confidence, ends=ends)
    if not shares_tell(published, name, None) or figure["bins"]:
        return None
    (share,) = (one for one in figure["rows"] if one["category"] == figure["about"])
    own = bounded(share["category"], share["frequency"], share["lower"], share["upper"])
    return None if own is None else over_versions(row, name, own, n=n, confidence=confidence)


def _has_means(chosen: Mapping[str, str]) -> bool:
    """Return whether means stand beside the shares: of everybody, with intervals."""
    return ESTIMATOR_TERMS[chosen["estimator"]].no_interval is None and not chosen["among"]


class _Row(Ends):
    """The share of a category in the page's table; None where the reports cannot tell it."""

    category: str
    frequency: float | None
    standard_error: float | None
    option: NotRequired[str]


def _figure(
    attribute: Mapping[str, Any],
    answer: Mapping[str, Any],
    chosen: Mapping[str, str],
    published: Published,
) -> dict[str, Any]:
    sort = chosen["sort"]
    rows: Sequence[_Row] = attribute["categories"]
    if sort == "share":  # those that are not known come last
        rows = sorted(rows, key=lambda row: (row["frequency"] is None, -(row["frequency"] or 0.0)))
    elif sort == "name":
        rows = sorted(rows, key=lambda row: row["category"].casefold())
    name = attribute["name"]
    parts = ("shares",) if chosen["among"] else options_of(published, attribute["name"])
    untold = {part for part in parts if part_is_noisy(answer["verdict"], part)}
    noisy = len(untold) == len(parts)
    # Where some options cannot be told, the others are.
    hidden = set() if noisy else untold
    known = [
        Share(
            category=row["category"],
            frequency=row["frequency"],
            lower=row["lower"],
            upper=row["upper"],
        )
        for row in rows
        if row["frequency"] is not None and row.get("option") not in hidden
    ]
    chart: Chart | None = None
    title = about = ""
    if known:
        one = {asked.name: asked for asked in published.attributes}.get(name)
        first = headline_row(one, known)
        about = first["category"]
        title = of_share(first["category"], first["frequency"], first["lower"], first["upper"])
        question = questions_of(published)[name]
        chart = estimates_chart(
            question,
            known,
            confidence=answer["confidence"],
            total=len(known),
            main=first["category"],
        )
        chart = as_too_noisy(chart) if noisy else chart
        if chosen["among"]:
            group = labels_of(published)[chosen["among"]]
            question = f"{question} Among: {group} {chosen['group']}"
        foot = foot_of(
            published, answer["n"], answer["confidence"], interval=known[0]["lower"] is not None
        )
        chart = told(chart, title, question, *foot)
        title = chart.words.title
    found = {
        "about": about,
        "bins": None,
        "attribute": attribute,
        "rows": rows,
        "shown": [
            {**row, "frequency": None, "bound": TOO_NOISY.lower()}
            if row.get("option") in hidden
            else row
            for row in rows
        ],
        "chart": chart,
        "noisy": noisy,
        "svg": None,
    }
    return {**found, "title": title or CANNOT_TELL, **beside_shares(None, None)}


def _show_as_numbers(
    figure: dict[str, Any],
    row: VersionRow,
    published: Published,
    n: int,
    chosen: Mapping[str, str],
) -> None:
    """Show many numbers in a few bins of those who answered, and an amount by its mean.

    Shares of an amount are of the anchors that devices send, and not of answers.
    """
    name = figure["attribute"]["name"]
    asked = {one.name: one for one in published.attributes}.get(name)
    confidence = float(chosen["confidence"])
    if asked is None or chosen["detail"] != "bins" or not _has_means(chosen):
        return
    foot = foot_of(published, n, confidence)
    question = questions_of(published)[name]
    if asked.number is not None:
        summary = result_of(row, Ordered(attribute=name, confidence=confidence))
        chart = chart_of_mean(question, summary, confidence=confidence, foot=foot)
        if chart is not None:
            noisy = summary.too_noisy("groups")
            figure |= {"chart": chart, "title": chart.words.title, "noisy": noisy}
    elif has_bins(asked):
        source = services().analysis.source(row, may_export=may_export(row))
        found = binned(source, name, confidence=confidence)
        if all(one.known for one in found.bins):
            rows = rows_of_bins(
                [
                    {"low": one.low, "high": one.high, "frequency": one.share.value,
                     "lower": one.share.lower, "upper": one.share.upper}
                    for one in found.bins
                ]
            )  # fmt: skip
            chart = bins_chart(question, rows, noisy=found.noisy, confidence=confidence, foot=foot)
            noisy = found.noisy
            if noisy:  # a mean may be told all the same
                summary = result_of(row, Ordered(attribute=name, confidence=confidence))
                of_mean = chart_of_mean(question, summary, confidence=confidence, foot=foot)
                if of_mean is not None and not summary.too_noisy("groups"):
                    chart, rows, noisy = of_mean, [], False
            figure |= {"chart": chart, "title": chart.words.title, "noisy": noisy, "bins": rows}


def _cut(figures: Sequence[Mapping[str, Any]], size: Ends | None) -> str:
    """Return the sentence about intervals that the page shows cut; empty if none is."""
    if any(figure["summary_cut"] for figure in figures):
        return CUT
    rows: list[Ends] = [
        row for one in figures for row in one["rows"] if row["frequency"] is not None
    ]
    beside = (figure[part] for figure in figures for part in ("asked", "answered"))
    for one in filter(None, beside):
        rows += [row for row in (one["answered"], *one["categories"]) if row["value"] is not None]
    return cut_words(rows if size is None else [*rows, size])
