"""A report as one HTML file: no script, nothing loaded, charts inside, and made for print."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from typing import Any, Final, cast

from jinja2 import Environment
from markupsafe import Markup

from hushpoll_protocols import format_epsilon
from hushpoll_server.charts.figures import GLOBALS
from hushpoll_server.charts.rows import Share
from hushpoll_server.charts.specifications import (
    MOST_CELLS_A_SIDE,
    NO_WORDS,
    estimates_chart,
)
from hushpoll_server.survey_reports.content.findings import MOST_BARS, headline_row
from hushpoll_server.survey_reports.content.group_shares import is_noisy
from hushpoll_server.survey_reports.content.headlines import TOO_NOISY, headline_of, of_share
from hushpoll_server.survey_reports.content.limits import limits_of
from hushpoll_server.survey_reports.content.naming import as_text, in_texts
from hushpoll_server.survey_reports.content.promise import PROTOCOL_NAMES, guarantees, promise_of
from hushpoll_server.survey_reports.content.summaries import UNKNOWN, beside_shares
from hushpoll_server.survey_reports.content.waves import trends_of
from hushpoll_server.survey_reports.content.wording import SurveyWords
from hushpoll_server.survey_reports.markup.captions import how_to_read_bands
from hushpoll_server.survey_reports.markup.figures import Figure
from hushpoll_server.survey_reports.markup.kept_results import shown_audit, shown_regression
from hushpoll_server.survey_reports.markup.shown import (
    environment,
    hash_of,
    html_of_bands,
    html_of_result,
    style_of,
)
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.translations.speech import ENGLISH, LANGUAGE_NAMES, said, say, speaking
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.qualifying.possible import CUT, cut_words, shown_share
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.shown import cut_notes, shown_sections
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.languages import direction
from hushpoll_shared.survey.option_texts import question_names
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.randomization.budget import Split
from hushpoll_shared.tables.regressions import shown_coefficient
from hushpoll_shared.tables.top_rows import top_rows

Picture = Callable[[str], Markup] | None
"""Of a figure, given the id of what says what it shows; None where there is none."""

COLUMNS: Final = 6
"""Of a cross-table side by side, so that a sheet of paper is wide enough."""

_SPLITS: Final = {
    "uniform": "in equal parts over the perturbed questions",
    "k-based": "in proportion to the numbers of categories",
    "optimal": "so that the errors of the questions are as small as they can be together",
    "weights": "by weights that the manifest gives",
}
_RELEASES: Final = {
    "daily": "once a day",
    "weekly": "once a week",
    "end": "once, when the survey was over",
    "immediate": "soon after they came in, each time as many as the survey says or more",
}

Asked = dict[str, Any]
"""A question, or a part of one, as the template takes it."""


def page_of(
    basis: Basis,
    results: Mapping[str, object],
    figures: Sequence[Figure],
    *,
    for_print: bool = False,
    beside: str | None = None,
    bundle: str = "",
    languages: Sequence[str] = (),
) -> str:
    """Return a report as HTML, from its basis, its numbers and its figures.

    For print, pictures have the colours of the light theme in place of the style sheet's tokens,
    which a printer of PDF does not know, and numbers that are too noisy to tell are left out, which
    paper cannot fold. A page that has the bundle and its files `beside` it, at this relative
    address, names them, and the languages to choose from.
    """
    with speaking(basis.choices.language):
        return _page_of(
            basis,
            results,
            figures,
            for_print=for_print,
            beside=beside,
            bundle=bundle,
            languages=languages,
        )


def _page_of(
    basis: Basis,
    results: Mapping[str, Any],
    figures: Sequence[Figure],
    *,
    for_print: bool,
    beside: str | None,
    bundle: str,
    languages: Sequence[str],
) -> str:
    published = basis.published
    words = SurveyWords(published, basis.choices.language)
    told = words.results(results)
    drawn = [_picture(figure, for_print=for_print) for figure in figures]
    together = list(zip(figures, drawn, strict=True))
    questions_end = len(basis.choices.attributes)
    crosses_end = questions_end + len(basis.choices.cross_tables)
    audits_end = crosses_end + len(results["audits"])
    regressions = results.get("regressions", ())
    regressions_end = audits_end + len(regressions)
    questions = [
        _question(words, told, attribute, *figure, for_print=for_print)
        for attribute, figure in zip(
            told["estimates"]["attributes"], together[:questions_end], strict=True
        )
    ]
    level = basis.choices.confidence
    questions = list(_select_alls(words, questions, figures, level, for_print=for_print))
    shown = [
        (query, query.result_of(found["result"]))
        for query, found in zip(basis.choices.results, results.get("results", ()), strict=True)
    ]
    others_end = regressions_end + len(results.get("results", ()))
    groups = [one for one in results["groups"] if one is not None]
    groups_end = others_end + len(groups)
    followed, not_followed = trends_of(basis, results, ())
    trends = dict(zip((name for name, _ in followed), together[groups_end:], strict=True))
    others = together[questions_end:crosses_end]
    names = words.names
    interval = ESTIMATOR_TERMS[basis.choices.estimator].no_interval is None
    promise = promise_of(published)
    return (
        _templates()
        .get_template("report.html")
        .render(
            survey=published,
            basis=basis,
            facts=basis.facts,
            choices=basis.choices,
            results=results,
            promise=promise,
            guarantees=guarantees(
                published, cast("list[JsonMembers]", promise["attributes"]), words.names
            ),
            epsilon=format_epsilon(published.epsilon),
            protocols=PROTOCOL_NAMES,
            words=words.wording,
            language=basis.choices.language,
            languages=[(one, LANGUAGE_NAMES[one]) for one in languages],
            tag=words.tag,
            direction=direction(words.tag),
            split=say(_SPLITS[Split.parse(published.split).kind]),
            when=say(_RELEASES[basis.facts["release"]]),
            terms=ESTIMATOR_TERMS[basis.choices.estimator],
            questions=questions,
            all_questions=len(question_names(published, (a.name for a in published.attributes))),
            names=names,
            read=how_to_read_bands(basis.choices.confidence, interval=interval),
            cut=_cut(results, questions, [result for _, result in shown], for_print=for_print),
            crosses=[
                {
                    "key": figure.key,
                    "table": table,
                    "noisy": part_is_noisy(table["verdict"], "cells"),
                    "chart": figure.chart,
                    "svg": svg,
                    "blocks": _blocks(table["cells"]),
                }
                for table, (figure, svg) in zip(told["cross_tables"], others, strict=True)
            ],
            audits=[
                {**shown_audit(audit, words), "key": figure.key, "chart": figure.chart, "svg": svg}
                for audit, (figure, svg) in zip(
                    results["audits"], together[crosses_end:audits_end], strict=True
                )
            ],
            regressions=[
                {
                    **shown_regression(document, words),
                    "key": figure.key,
                    "chart": figure.chart,
                    "svg": svg,
                }
                for document, (figure, svg) in zip(
                    regressions, together[audits_end:regressions_end], strict=True
                )
            ],
            others=[
                _other(query, result, figure, names, for_print=for_print)
                for (query, result), figure in zip(
                    shown, figures[regressions_end:others_end], strict=True
                )
            ],
            groups=[
                {**_shown(*figure), "noisy": is_noisy(one)}
                for one, figure in zip(groups, together[others_end:groups_end], strict=True)
            ],
            trends={name: _shown(*figure) for name, figure in trends.items()},
            not_followed=not_followed,
            limits=limits_of(basis, results, words.names),
            most=MOST_CELLS_A_SIDE,
            unknown=say(UNKNOWN),
            for_print=for_print,
            beside=beside,
            bundle=bundle,
            command=_command(basis),
        )
    )


def _picture(figure: Figure, *, for_print: bool) -> Picture:
    """Return what makes the picture of a figure, given the id of what says what it shows."""
    chart = figure.chart
    if chart is None:
        return None
    if chart.panels and not for_print:
        return partial(html_of_bands, chart.panels)
    svg = (figure.light_svg if for_print else figure.svg) or ""

    def drawn(label: str) -> Markup:
        # The drawing process escapes every text of the data.
        opening = f'<svg role="img" aria-labelledby="{label}" '
        return Markup(svg.replace("<svg ", opening, 1))  # noqa: S704

    return drawn


def style_hash() -> str:
    """Return the hash of the page's style sheet, as a content security policy names it."""
    return hash_of(_style())


def _question(
    words: SurveyWords,
    results: Mapping[str, Any],
    attribute: Mapping[str, Any],
    figure: Figure,
    svg: Picture,
    *,
    for_print: bool,
) -> Asked:
    name = attribute["name"]
    bins, ordered = results["bins"].get(name), results["ordered"].get(name)
    noisy = part_is_noisy(results["estimates"]["verdict"], name)
    by_mean = ordered is not None and words.published.attribute(name).number is not None
    numbers = by_mean or bins is not None
    mean_noisy = ordered is None or part_is_noisy(ordered["verdict"], "groups")
    chart_noisy = noisy
    if by_mean:
        chart_noisy = mean_noisy
    elif bins is not None:
        chart_noisy = bins["noisy"] and mean_noisy
    return {
        "key": figure.key,
        "files": [(figure.key, name)],
        "attribute": attribute,
        "question": words.questions[name],
        "followed": name,
        "chart": figure.chart,
        "svg": svg,
        "noisy": chart_noisy,
        "untold": [],
        "table_noisy": noisy,
        "numbers": numbers,
        "in_bins": bins is not None and not by_mean and (not bins["noisy"] or mean_noisy),
        "anchors": by_mean and words.published.attribute(name).rounded,
        "title": "" if figure.chart is None else figure.chart.words.title,
        **_finding(
            attribute,
            results["ordered"].get(name),
            results["answered"].get(name),
            figure,
            numbers=numbers,
            for_print=for_print,
        ),
        **beside_shares(results["ordered"].get(name), results["answered"].get(name)),
    }


def _select_alls(
    words: SurveyWords,
    questions: Sequence[Asked],
    figures: Sequence[Figure],
    confidence: float,
    *,
    for_print: bool,
) -> Iterator[Asked]:
    """Yield the questions, the options of a select-all as one, with the share who select each."""
    texts = dict(zip(words.answers, words.wording.questions, strict=True))
    selects = zip(words.published.selects, words.wording.selects, strict=True)
    asked = {one.name: text for one, text in selects}
    by_key = {figure.key: figure for figure in figures}

    def select_of(one: Asked) -> str | None:
        option = one["attribute"].get("option")
        return None if option is None else str(option["question"])

    for name, run in groupby(questions, key=select_of):
        options = list(run)
        if name is None:
            yield from options
            continue
        first = options[0]
        attribute = first["attribute"]
        noisy = all(one["noisy"] for one in options)
        # Where some options cannot be told, the others are.
        told = [one for one in options if noisy or not one["noisy"]]
        rows: list[Asked] = [
            {**row, "category": texts[one["attribute"]["name"]]}
            for one in told
            for row in one["attribute"]["categories"][1:2]
        ]
        top = sorted(rows, key=lambda row: -row["frequency"])[:MOST_BARS]
        kept = [row for row in rows if row in top]
        best = top[0]
        followed = told[rows.index(best)]["attribute"]["name"]
        figure, total = by_key[first["key"]], len(rows)
        title = of_share(best["category"], best["frequency"], best["lower"], best["upper"])
        drawn = [
            [
                Share(category=row["category"], frequency=row["frequency"],
                      lower=row["lower"], upper=row["upper"])
                for row in some
            ]
            for some in (rows, kept)
        ]  # fmt: skip
        charts = [
            estimates_chart(
                asked[name], some, confidence=confidence, total=total, main=best["category"]
            )
            for some in drawn
        ]
        whole, shown = (
            _picture(replace(figure, chart=chart), for_print=for_print) for chart in charts
        )
        epsilon = attribute["option"]["epsilon"]
        yield {
            **first,
            "files": [file for one in options for file in one["files"]],
            "attribute": {**attribute, "name": name, "epsilon": epsilon, "n": None}
            | {"categories": rows},
            "question": asked[name],
            "followed": followed,
            "chart": charts[0],
            "svg": whole,
            "noisy": noisy,
            "table_noisy": noisy,
            "title": title,
            "top": shown,
            "others": total - len(kept),
            "untold": [
                texts[one["attribute"]["name"]] for one in options if one["noisy"] and not noisy
            ],
        }


def _finding(
    attribute: Mapping[str, Any],
    ordered: Mapping[str, Any] | None,
    answered: Mapping[str, Any] | None,
    figure: Figure,
    *,
    numbers: bool,
    for_print: bool,
) -> Asked:
    """Return the headline of a question, and its picture on the first page, of `MOST_BARS` rows.

    Of an option it is the share of those who select it, and of a follow-up the shares of those who
    were asked. Numbers are shown by their bins or their mean, as their own figure is.
    """
    title = "" if figure.chart is None else figure.chart.words.title
    if ordered is not None:
        mean = headline_of(Ordered.result_of(ordered))
        title = title if mean in ("", say(TOO_NOISY)) else mean
    if numbers:
        picture = _picture(figure, for_print=for_print)
        return {"title": title, "top": picture, "others": 0, "of_asked": False}
    rows = attribute["categories"]
    asked = _rows_of_asked(rows, answered)
    if attribute.get("option"):
        rows = rows[1:]
    rows = asked or rows
    top = sorted(rows, key=lambda row: -row["frequency"])[:MOST_BARS]
    kept = [row for row in rows if row in top]
    main = headline_row(None, kept)["category"]
    drawn = estimates_chart("", kept, confidence=0.95, total=len(kept), main=main)
    if asked and ordered is None:
        (first,) = (row for row in kept if row["category"] == main)
        title = of_share(main, first["frequency"], first["lower"], first["upper"])
    picture = _picture(replace(figure, chart=drawn), for_print=for_print)
    return {
        "title": title,
        "top": picture,
        "others": len(rows) - len(kept),
        "of_asked": bool(asked),
    }


def _rows_of_asked(rows: Sequence[Share], answered: Mapping[str, Any] | None) -> list[Share]:
    """Return the shares of those who were asked, in words; nothing where they are not told."""
    if answered is None:
        return []
    (shares,) = answered["attributes"]
    told = shares["categories"]
    noisy = part_is_noisy(answered["verdict"], shares["name"])
    if noisy or shares["missing"] != NOT_ASKED or any(one["lower"] is None for one in told):
        return []
    return [
        Share(
            category=row["category"],
            frequency=one["value"],
            lower=one["lower"],
            upper=one["upper"],
        )
        for row, one in zip(rows, told, strict=False)
    ]


def _shown(figure: Figure, svg: Picture) -> dict[str, object]:
    """Return a figure whose title is its finding, as the first page has it."""
    chart = figure.chart
    words = NO_WORDS if chart is None else chart.words
    return {
        "key": figure.key,
        "title": words.title,
        "question": words.question,
        "sentence": "" if chart is None else chart.sentence,
        "svg": svg,
    }


def _other(
    query: Query[Any],
    result: Result,
    figure: Figure,
    names: Mapping[str, str],
    *,
    for_print: bool,
) -> dict[str, str | Markup]:
    asked = "; ".join(
        f"{name.replace('_', ' ')} {in_texts(text, names)}"
        for name, text in query.spelled().items()
    )
    return {
        "key": figure.key,
        "finding": headline_of(result),
        "title": f"{result.title[0].upper()}{result.title[1:]}",
        "asked": asked or "with its defaults",
        "html": html_of_result(
            result, level=4, key=figure.key, for_print=for_print, tell_cut=False, names=names
        ),
    }


def _cut(
    results: Mapping[str, Any],
    questions: Sequence[Mapping[str, Any]],
    others: Sequence[Result],
    *,
    for_print: bool,
) -> str:
    """Return the sentence about intervals that a report shows cut; empty if none is."""
    by_section = (cut_notes(shown_sections(one), folded=not for_print) for one in others)
    if any(by_section) or any(one["summary_cut"] for one in questions):
        return said(CUT)
    rows = [row for one in results["estimates"]["attributes"] for row in one["categories"]]
    rows += [cell for table in results["cross_tables"] for cell in table["cells"]]
    beside = (question[part] for question in questions for part in ("asked", "answered"))
    for one in filter(None, beside):
        rows += [row for row in (one["answered"], *one["categories"]) if row["value"] is not None]
    return said(cut_words(rows))


def _blocks(cells: Sequence[Mapping[str, Any]]) -> list[list[tuple[str, list[Mapping[str, Any]]]]]:
    """Return the drawn part of a cross-table, some columns at a time, each block row by row."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        rows.setdefault(cell["a"], []).append(cell)
    drawn = [
        (name, row[:MOST_CELLS_A_SIDE]) for name, row in list(rows.items())[:MOST_CELLS_A_SIDE]
    ]
    return [
        [(name, row[start : start + COLUMNS]) for name, row in drawn]
        for start in range(0, len(drawn[0][1]), COLUMNS)
    ]


def _command(basis: Basis) -> str:
    """Return the command that makes the same report from the server."""
    published, choices = basis.published, basis.choices
    words = ["hushpoll", "report", published.name, "--version", str(published.version)]
    if len(choices.attributes) < len(published.attributes):
        for name in choices.attributes:
            words += ["--attribute", name]
    for a, b in choices.cross_tables:
        words += ["--cross", f"{a},{b}"]
    for query in choices.results:
        words += ["--result", shlex.quote(query.address())]
    for one in choices.regressions:
        words += ["--regression", one]
    if choices.language != ENGLISH:
        words += ["--language", choices.language]
    words += ["--estimator", choices.estimator, "--confidence", f"{choices.confidence:g}"]
    words += [] if choices.fairness else ["--no-fairness"]
    words += ["--trend"] if choices.trend else []
    return " ".join([*words, "--out", f"{published.name}.html"])


def _style() -> str:
    return style_of("report.css")


@cache
def _templates() -> Environment:
    templates = environment()
    templates.globals["style"] = Markup(_style())  # noqa: S704  # our own files
    templates.globals["style_hash"] = style_hash()
    templates.filters |= {"in_texts": in_texts, "as_text": as_text}
    templates.globals |= GLOBALS
    templates.filters["top_rows"] = top_rows
    templates.filters["shown_share"] = shown_share
    templates.filters["shown_coefficient"] = shown_coefficient
    return templates
